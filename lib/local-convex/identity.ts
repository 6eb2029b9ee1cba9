/** What `ctx.auth.getUserIdentity()` answers, made from the claims of a verified token (facts §3.7). */
import type { JWTPayload } from "jose";
import type { JsonObject, JsonValue } from "./values/json.ts";

/** Claims of OpenID Connect that get a name of their own, with the type they must have. */
const STANDARD_CLAIMS: Record<string, [name: string, type: "string" | "boolean"]> = {
  name: ["name", "string"],
  given_name: ["givenName", "string"],
  family_name: ["familyName", "string"],
  nickname: ["nickname", "string"],
  preferred_username: ["preferredUsername", "string"],
  profile: ["profileUrl", "string"],
  picture: ["pictureUrl", "string"],
  website: ["websiteUrl", "string"],
  email: ["email", "string"],
  email_verified: ["emailVerified", "boolean"],
  gender: ["gender", "string"],
  birthdate: ["birthday", "string"],
  zoneinfo: ["timezone", "string"],
  locale: ["language", "string"],
  phone_number: ["phoneNumber", "string"],
  phone_number_verified: ["phoneNumberVerified", "boolean"],
};

const REGISTERED_CLAIMS = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "fva"];

/** Claims the OpenID Connect library keeps to itself: they are about the token or the sign-in, not the person. */
const OIDC_CLAIMS_LEFT_OUT = new Set([
  ...REGISTERED_CLAIMS,
  "nonce",
  "auth_time",
  "acr",
  "amr",
  "azp",
  "at_hash",
  "c_hash",
  "middle_name",
]);

const CUSTOM_JWT_CLAIMS_LEFT_OUT = new Set(REGISTERED_CLAIMS);

/** Standard claims under Convex's names, all others under their own. */
export function oidcIdentity(claims: JWTPayload): JsonObject {
  const entries: [string, JsonValue][] = [];
  const mapped: [string, JsonValue][] = [];
  for (const [claim, value] of Object.entries(claims)) {
    const standard = Object.hasOwn(STANDARD_CLAIMS, claim) ? STANDARD_CLAIMS[claim] : undefined;
    if (standard !== undefined) {
      if (typeof value === standard[1]) mapped.push([standard[0], value as JsonValue]);
    } else if (claim === "address") {
      const formatted = (value as { formatted?: unknown } | null)?.formatted;
      if (typeof formatted === "string") mapped.push(["address", formatted]);
    } else if (claim === "updated_at") {
      const time = rfc3339(value);
      if (time !== null) mapped.push(["updatedAt", time]);
    } else if (!OIDC_CLAIMS_LEFT_OUT.has(claim)) {
      entries.push([claim, value as JsonValue]);
    }
  }
  return withOwner([...entries, ...mapped], claims);
}

/** Every claim under its own name; fields of nested objects as `a.b`. */
export function customJwtIdentity(claims: JWTPayload): JsonObject {
  const entries = Object.entries(claims)
    .filter(([claim]) => !CUSTOM_JWT_CLAIMS_LEFT_OUT.has(claim))
    .flatMap(([claim, value]) => flattened(claim, value as JsonValue));
  return withOwner(entries, claims);
}

/**
 * The identity an administrator acts as: attributes as the clients send them, `tokenIdentifier` derived.
 * @returns null when the attributes name nobody
 */
export function actingIdentity(attributes: unknown): JsonObject | null {
  if (attributes === null || typeof attributes !== "object" || Array.isArray(attributes)) return null;
  const { issuer, subject } = attributes as Record<string, unknown>;
  if (typeof issuer !== "string" || typeof subject !== "string") return null;
  return { ...(attributes as JsonObject), tokenIdentifier: `${issuer}|${subject}` };
}

function flattened(path: string, value: JsonValue): [string, JsonValue][] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, field]) => flattened(`${path}.${key}`, field));
}

/** Comes last, so that no claim can pass for the issuer or the subject. */
function withOwner(entries: [string, JsonValue][], { iss, sub }: JWTPayload): JsonObject {
  // fromEntries defines fields, so a claim named __proto__ is a field like any other.
  return Object.fromEntries<JsonValue>([
    ...entries,
    ["tokenIdentifier", `${iss}|${sub}`],
    ["issuer", iss!],
    ["subject", sub!],
  ]);
}

function rfc3339(value: unknown): string | null {
  const time = new Date(typeof value === "number" ? value * 1_000 : typeof value === "string" ? value : NaN);
  return Number.isNaN(time.getTime()) ? null : time.toISOString().replace(/(\.000)?Z$/, "+00:00");
}
