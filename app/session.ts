import { getKindeServerSession } from "@kinde-oss/kinde-auth-nextjs/server";
import { decodeJwt } from "jose";
import { grantsOperator } from "../lib/kinde/permissions.ts";

/** Who is signed in, for pages behind proxy.ts, which has renewed and checked the tokens of this request. */
export interface Session {
  readonly name: string;
  readonly email: string | null;
  readonly isOperator: boolean;
  readonly accessToken: string;
}

/** Null when the request carries no valid tokens, which behind proxy.ts means that it was asked for by a mistake. */
export async function readSession(): Promise<Session | null> {
  const kinde = getKindeServerSession();
  const [user, accessToken, claims] = await Promise.all([
    kinde.getUser(),
    kinde.getAccessTokenRaw(),
    kinde.getAccessToken(),
  ]);
  if (user === null || accessToken === null || claims === null) return null;
  const name = [user.given_name, user.family_name].filter((part) => part !== null && part !== "").join(" ");
  return {
    name: name === "" ? (user.email ?? "Customer") : name,
    email: user.email,
    isOperator: grantsOperator(claims.permissions),
    accessToken,
  };
}

/** Tokens with less left than this are renewed rather than handed out: a call that is on its way must not be late. */
const RENEW_BELOW_MS = 20_000;

export interface BrowserToken {
  readonly accessToken: string;
  readonly expiresAtMs: number;
}

/**
 * The access token for the browser's Convex client; null when the session is over. Only for route handlers, which can
 * write the renewed tokens into cookies.
 */
export async function readBrowserToken(force: boolean, nowMs: number): Promise<BrowserToken | null> {
  const kinde = getKindeServerSession();
  if (!force) {
    const kept = withExpiry(await kinde.getAccessTokenRaw());
    if (kept !== null && kept.expiresAtMs - nowMs > RENEW_BELOW_MS) return kept;
  }
  const renewed = (await kinde.refreshTokens()) as { readonly access_token?: unknown } | null;
  return withExpiry(renewed?.access_token);
}

function withExpiry(accessToken: unknown): BrowserToken | null {
  if (typeof accessToken !== "string") return null;
  try {
    const { exp } = decodeJwt(accessToken);
    return exp === undefined ? null : { accessToken, expiresAtMs: exp * 1000 };
  } catch {
    // A cookie that holds no token is no session.
    return null;
  }
}
