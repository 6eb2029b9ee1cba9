/** The claims of each kind of token (facts §1, facts-sdk "Tokens"). Pure: times in seconds and ids are arguments. */
import { createHash } from "node:crypto";
import type { Claims } from "./jwt.ts";
import { OPERATOR_PERMISSION, type User } from "./users.ts";

/** Customers are users, so all of them are in the one organization that every Kinde tenant has from the start. */
export const ORGANIZATION = { code: "org_0000000000a", name: "Holdfast (emulated)" } as const;

export interface TokenFrame {
  readonly issuer: string;
  readonly clientId: string;
  readonly nowSeconds: number;
  readonly lifeSeconds: number;
  readonly jti: string;
}

export interface Role {
  readonly id: string;
  readonly key: string;
  readonly name: string;
}

export function rolesOf(user: User): Role[] {
  const isOperator = user.permissions.includes(OPERATOR_PERMISSION);
  return isOperator ? [{ id: "role_operator", key: "operator", name: "Operator" }] : [];
}

export function accessClaims(
  frame: TokenFrame,
  user: User,
  grant: { readonly audience: readonly string[]; readonly scope: readonly string[] },
): Claims {
  return {
    ...frameClaims(frame),
    aud: grant.audience,
    sub: user.id,
    org_code: ORGANIZATION.code,
    org_name: ORGANIZATION.name,
    permissions: user.permissions,
    roles: rolesOf(user),
    feature_flags: {},
    scp: grant.scope,
    v: "2",
  };
}

/** `aud` is the tenant, as in Kinde's documentation of ID tokens; so no Convex provider takes one for an access token. */
export function idClaims(
  frame: TokenFrame,
  user: User,
  sign: {
    readonly scope: readonly string[];
    readonly accessToken: string;
    readonly authTimeSeconds: number;
    readonly nonce: string | null;
  },
): Claims {
  const digest = createHash("sha256").update(sign.accessToken).digest();
  return {
    ...frameClaims(frame),
    aud: [frame.issuer],
    sub: user.id,
    at_hash: digest.subarray(0, 16).toString("base64url"),
    auth_time: sign.authTimeSeconds,
    rat: sign.authTimeSeconds,
    org_codes: [ORGANIZATION.code],
    ...(sign.nonce === null ? {} : { nonce: sign.nonce }),
    ...profileClaims(user, sign.scope),
  };
}

/** What the scopes `profile` and `email` open. */
export function profileClaims(user: User, scope: readonly string[]): Claims {
  return {
    ...(scope.includes("profile")
      ? {
          given_name: user.givenName,
          family_name: user.familyName,
          name: `${user.givenName} ${user.familyName}`,
          picture: null,
          updated_at: Math.floor(user.signedUpAtMs / 1000),
        }
      : {}),
    ...(scope.includes("email") ? { email: user.email, email_verified: true } : {}),
  };
}

/** A token of a machine. No scope asked for means all that the application has, and then `scp` is empty. */
export function machineClaims(
  frame: TokenFrame,
  grant: { readonly audience: readonly string[]; readonly scope: readonly string[] },
): Claims {
  return {
    ...frameClaims(frame),
    aud: grant.audience,
    gty: ["client_credentials"],
    scope: grant.scope.join(" "),
    scp: grant.scope,
    v: "2",
  };
}

function frameClaims({ issuer, clientId, nowSeconds, lifeSeconds, jti }: TokenFrame): Claims {
  return { iss: issuer, azp: clientId, iat: nowSeconds, exp: nowSeconds + lifeSeconds, jti };
}
