/** Who may call an API: machines the management API by scope, users the account API by being signed in. */
import { apiRefusal } from "./answers.ts";
import type { Call, Emulator } from "./context.ts";
import { verifyJwt, type VerifiedClaims } from "./jwt.ts";
import { managementAudiences, type MachineScope } from "./scopes.ts";
import { isRevoked } from "./token-endpoint.ts";
import { findUser, type User } from "./users.ts";

/** Throws Refusal 401 without a valid token for the management API, 403 without the scope. */
export function requireMachine(emulator: Emulator, call: Call, scope: MachineScope | null): void {
  const claims = verifiedToken(emulator, call);
  const audience = listOf(claims["aud"]);
  if (!audience.some((name) => managementAudiences(emulator.issuer).includes(name))) {
    throw apiRefusal(401, "TOKEN_AUDIENCE_INVALID", "The token is not for this API.");
  }
  if (!listOf(claims["gty"]).includes("client_credentials")) {
    throw apiRefusal(403, "TOKEN_TYPE_INVALID", "The token is not one of a machine-to-machine application.");
  }
  const granted = listOf(claims["scp"]);
  // No scopes in the token stand for all that the application has.
  const allowed = granted.length > 0 ? granted : emulator.config.machineScopes;
  if (scope !== null && !allowed.includes(scope)) {
    throw apiRefusal(403, "SCOPE_MISSING", `The token lacks the scope ${scope}.`);
  }
}

export interface SignedInUser {
  readonly user: User;
  readonly scope: readonly string[];
}

/** Throws Refusal 401 without a valid access token of a user. ID tokens have no `scp` and are refused. */
export function requireUser(emulator: Emulator, call: Call): SignedInUser {
  const claims = verifiedToken(emulator, call);
  const user = typeof claims["sub"] === "string" ? findUser(emulator, claims["sub"]) : null;
  if (user === null || !Array.isArray(claims["scp"])) {
    throw apiRefusal(401, "TOKEN_INVALID", "The token is not the access token of a user.");
  }
  return { user, scope: listOf(claims["scp"]) };
}

function verifiedToken(emulator: Emulator, { headers }: Call): VerifiedClaims {
  const match = /^Bearer ([^\s]+)$/i.exec(headers["authorization"] ?? "");
  const expected = { issuer: emulator.issuer, nowMs: emulator.wallNowMs() };
  const claims = match === null ? null : verifyJwt(emulator.keys, match[1]!, expected);
  if (claims === null || isRevoked(emulator, claims.jti)) {
    throw apiRefusal(401, "TOKEN_INVALID", "The token is missing, invalid or has expired.");
  }
  return claims;
}

function listOf(claim: unknown): string[] {
  return Array.isArray(claim) ? claim.filter((item): item is string => typeof item === "string") : [];
}
