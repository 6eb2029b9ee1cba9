"use client";

import { ConvexProviderWithAuth, ConvexReactClient } from "convex/react";
import { type ReactNode, useCallback, useMemo, useState } from "react";

/** The live connection of the screens: Convex's own client, signed in with the token of the session. */
export function Live({ convexUrl, children }: { convexUrl: string; children: ReactNode }) {
  const [client] = useState(
    () => new ConvexReactClient(convexUrl, { skipConvexDeploymentUrlCheck: true, expectAuth: true }),
  );
  return (
    // oxlint-disable-next-line react/hooks -- the provider calls it as a hook
    <ConvexProviderWithAuth client={client} useAuth={useSessionToken}>
      {children}
    </ConvexProviderWithAuth>
  );
}

function useSessionToken() {
  const fetchAccessToken = useCallback(
    ({ forceRefreshToken }: { forceRefreshToken: boolean }) => fetchToken(forceRefreshToken),
    [],
  );
  // The page was rendered for a session, so there is one until the server says otherwise.
  return useMemo(() => ({ isLoading: false, isAuthenticated: true, fetchAccessToken }), [fetchAccessToken]);
}

const ATTEMPTS_MAX = 4;
const WAIT_FIRST_MS = 500;

/** Null only when the server says that the session is over; a server that cannot be reached is asked again. */
async function fetchToken(force: boolean): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch("/api/session", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ force }),
        cache: "no-store",
      });
      if (response.ok) return ((await response.json()) as { accessToken: string }).accessToken;
      if (response.status === 401) return null;
    } catch {
      // Offline, or the server restarts.
    }
    if (attempt === ATTEMPTS_MAX) return null;
    await new Promise((resolve) => setTimeout(resolve, WAIT_FIRST_MS * 2 ** (attempt - 1)));
  }
}
