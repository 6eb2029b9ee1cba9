"use client";

import { useConvexConnectionState } from "convex/react";

/** Says that what the screen shows may be old, while the connection is away. */
export function ConnectionState() {
  const { isWebSocketConnected, hasEverConnected, connectionRetries } = useConvexConnectionState();
  const isAway = !isWebSocketConnected && (hasEverConnected || connectionRetries > 1);
  return (
    <p role="status" className="text-sm text-warn">
      {isAway ? "Offline: reconnecting…" : ""}
    </p>
  );
}
