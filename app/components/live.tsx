"use client";

import { ConvexProviderWithAuth, ConvexReactClient } from "convex/react";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { fetchToken, onSignOut } from "./session-token.ts";

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
  // The page was rendered for a session, so there is one until the server, or another tab, says otherwise.
  const [isAuthenticated, setIsAuthenticated] = useState(true);
  useEffect(() => onSignOut(() => setIsAuthenticated(false)), []);
  return useMemo(
    () => ({ isLoading: false, isAuthenticated, fetchAccessToken }),
    [isAuthenticated, fetchAccessToken],
  );
}
