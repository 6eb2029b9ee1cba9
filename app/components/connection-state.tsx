"use client";

import { useConvexConnectionState } from "convex/react";
import { CloudOff } from "lucide-react";

/** Says that what the screen shows may be old, while the connection is away. */
export function ConnectionState() {
  const { isWebSocketConnected, hasEverConnected, connectionRetries } = useConvexConnectionState();
  const isAway = !isWebSocketConnected && (hasEverConnected || connectionRetries > 1);
  return (
    <div role="status">
      {isAway && (
        <p className="flex items-center justify-center gap-2 border-b border-warn/30 bg-warn-soft px-4 py-2 text-sm text-warn">
          <CloudOff aria-hidden className="size-4 shrink-0" />
          Offline: reconnecting. What you see may be old; what you do is sent when the connection is back.
        </p>
      )}
    </div>
  );
}
