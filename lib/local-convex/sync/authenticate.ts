/** Turns the token of an Authenticate message into who is calling. */
import type { TokenCheck } from "../auth.ts";
import { isAdminKey } from "../caller.ts";
import { actingIdentity } from "../identity.ts";
import type { JsonObject } from "../values/json.ts";

export type Authentication =
  | { kind: "ok"; admin: boolean; identity: JsonObject | null; expiresAtMs: number | null }
  | { kind: "refused"; message: string }
  /** Nothing is known about the token, because whoever issued it does not answer. */
  | { kind: "unavailable"; message: string };

export type Authenticate = (
  tokenType: "User" | "Admin",
  value: string,
  impersonating: JsonObject | null,
) => Promise<Authentication>;

/** Checks a JWT. `expiresAtMs` is wall clock time. */
export type VerifyToken = (token: string) => Promise<TokenCheck>;

/** @param adminKey absent, nobody is admin */
export function authenticateWith(adminKey: string | undefined, verifyToken: VerifyToken): Authenticate {
  return async (tokenType, value, impersonating) => {
    if (tokenType === "Admin") {
      if (!isAdminKey(value, adminKey)) return { kind: "refused", message: "The admin key is not accepted." };
      const identity = impersonating === null ? null : actingIdentity(impersonating);
      if (identity === null && impersonating !== null)
        return { kind: "refused", message: "The identity to act as must have `issuer` and `subject`." };
      return { kind: "ok", admin: true, identity, expiresAtMs: null };
    }
    const verified = await verifyToken(value);
    if (verified.kind === "ok") return { ...verified, admin: false };
    const { code, message } = verified;
    return { kind: code === "AuthProviderDiscoveryFailed" ? "unavailable" : "refused", message };
  };
}
