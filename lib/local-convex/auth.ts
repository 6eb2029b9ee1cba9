/**
 * Verifies the tokens of users (facts §3.7): which provider issued it, whether its key signed it, whether it is
 * still valid, and who it names. Token times are wall-clock times: a test clock moves business time only.
 */
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from "jose";
import { withScheme, type AuthProvider } from "./auth-config.ts";
import { customJwtIdentity, oidcIdentity } from "./identity.ts";
import { IssuerError, IssuerKeys, type IssuerKeySet } from "./issuer-keys.ts";
import type { JsonObject } from "./values/json.ts";

export type TokenCheck =
  | { kind: "ok"; identity: JsonObject; expiresAtMs: number }
  | { kind: "refused"; code: RefusalCode; message: string };

type RefusalCode = "InvalidAuthHeader" | "NoAuthProvider" | "AuthProviderDiscoveryFailed" | "Unauthenticated";

interface Clocks {
  /** Wall clock. */
  nowMs: () => number;
  /** A time that never goes back, for the age of cached keys. */
  elapsedMs: () => number;
}

interface KnownProvider {
  readonly provider: AuthProvider;
  readonly keys: IssuerKeys;
}

/** Custom JWT providers may be this far off, as in real Convex; OpenID Connect ones may not. */
const CUSTOM_JWT_LEEWAY_SECONDS = 5;

const SYSTEM_CLOCKS: Clocks = { nowMs: () => Date.now(), elapsedMs: () => performance.now() };

export class Authenticator {
  private providers: KnownProvider[] = [];

  constructor(private readonly clocks: Clocks = SYSTEM_CLOCKS) {}

  /** Takes the providers of a new `auth.config`; those that stay keep their keys. */
  use(providers: readonly AuthProvider[]): void {
    const before = new Map(this.providers.map((known) => [JSON.stringify(known.provider), known]));
    this.providers = providers.map(
      (provider) =>
        before.get(JSON.stringify(provider)) ?? {
          provider,
          keys: new IssuerKeys(provider, this.clocks.elapsedMs),
        },
    );
  }

  /** Who the token names and until when, or why it is refused. Never rejects because of a token or an issuer. */
  async verifyToken(token: string): Promise<TokenCheck> {
    const claims = decode(token);
    if (claims === null) return refused("InvalidAuthHeader", "Could not parse as id token");
    const known = this.providers.find(({ provider }) => issued(provider, claims));
    if (known === undefined) return refused("NoAuthProvider", this.noProvider());
    const { provider, keys } = known;
    try {
      const set = await keys.current();
      const verified = await verifyWith(provider, keys, set, token, this.clocks.nowMs());
      const identity = provider.kind === "oidc" ? oidcIdentity(verified) : customJwtIdentity(verified);
      return { kind: "ok", identity, expiresAtMs: verified.exp! * 1_000 };
    } catch (error) {
      if (error instanceof IssuerError) {
        const what = provider.kind === "oidc" ? "Auth provider discovery" : "Fetching the keys";
        return refused(
          "AuthProviderDiscoveryFailed",
          `${what} of ${provider.issuer} failed. ${error.message}`,
        );
      }
      const what = provider.kind === "oidc" ? "OIDC token" : "token";
      return refused("Unauthenticated", `Could not verify ${what} claim. ${reasonOf(error)}`);
    }
  }

  private noProvider(): string {
    const text = "No auth provider found matching the given token";
    if (this.providers.length === 0) {
      return `${text} (no providers configured). Check convex/auth.config.ts.`;
    }
    const shown = this.providers.map(({ provider }) => describe(provider)).join(", ");
    return `${text}. Check that your JWT's issuer and audience match one of your configured providers: [${shown}]`;
  }
}

function refused(code: RefusalCode, message: string): TokenCheck {
  return { kind: "refused", code, message };
}

function decode(token: string): JWTPayload | null {
  try {
    decodeProtectedHeader(token);
    return decodeJwt(token);
  } catch {
    return null;
  }
}

function describe(provider: AuthProvider): string {
  return provider.kind === "oidc"
    ? `OIDC(domain=${provider.issuer}, app_id=${provider.applicationId})`
    : `CustomJWT(issuer=${provider.issuer}, app_id=${provider.applicationId ?? "none"})`;
}

function issued(provider: AuthProvider, claims: JWTPayload): boolean {
  if (typeof claims.iss !== "string" || trimmed(claims.iss) !== trimmed(provider.issuer)) return false;
  return provider.applicationId === null || audiencesOf(claims).includes(provider.applicationId);
}

/** Issuers are compared without trailing slashes; some write theirs without a scheme. */
function trimmed(issuer: string): string {
  return withScheme(issuer).replace(/\/+$/, "");
}

function audiencesOf({ aud }: JWTPayload): unknown[] {
  return Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
}

/** The claims of a token whose signature and times hold. A key that is not known is looked for once more. */
async function verifyWith(
  provider: AuthProvider,
  keys: IssuerKeys,
  set: IssuerKeySet,
  token: string,
  nowMs: number,
): Promise<JWTPayload> {
  try {
    return await verifyOnce(provider, set, token, nowMs);
  } catch (error) {
    const mayBeNewKey =
      error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
    const newer = mayBeNewKey ? await keys.newerThan(set) : null;
    if (newer === null) throw error;
    return verifyOnce(provider, newer, token, nowMs);
  }
}

async function verifyOnce(
  provider: AuthProvider,
  set: IssuerKeySet,
  token: string,
  nowMs: number,
): Promise<JWTPayload> {
  const isOidc = provider.kind === "oidc";
  const { payload, protectedHeader } = await jwtVerify(token, set.lookUp, {
    algorithms: isOidc ? ["RS256", "EdDSA"] : [provider.algorithm],
    requiredClaims: isOidc ? ["iss", "sub", "aud", "exp", "iat"] : ["iss", "sub", "exp"],
    currentDate: new Date(nowMs),
    clockTolerance: isOidc ? 0 : CUSTOM_JWT_LEEWAY_SECONDS,
  });
  if (typeof payload.sub !== "string") throw new TokenError("The token's subject is not a text.");
  if (isOidc) checkOidc(payload, protectedHeader, set.issuer);
  else if (protectedHeader.kid === undefined) throw new TokenError("The token names no key (kid).");
  return payload;
}

/** What the OpenID Connect library of real Convex asks for beyond the signature. */
function checkOidc(
  payload: JWTPayload,
  header: { typ?: unknown; cty?: unknown },
  issuer: string | null,
): void {
  const { typ, cty } = header;
  const isJwt = typeof typ === "string" && typ.toLowerCase().replace(/^application\//, "") === "jwt";
  if (typ !== undefined && !isJwt) throw new TokenError(`The token's type is not JWT.`);
  if (cty !== undefined) throw new TokenError("The token has a content type.");
  if (audiencesOf(payload).length !== 1) throw new TokenError("The token has more than one audience.");
  if (payload.iss !== issuer) {
    throw new TokenError(`The token's issuer is ${payload.iss}, but the provider calls itself ${issuer}.`);
  }
}

/** A rule of a provider that the token breaks; the message is for its owner. */
class TokenError extends Error {
  override readonly name = "TokenError";
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "The token has expired.";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature is not valid.";
  if (error instanceof errors.JWKSNoMatchingKey) return "The provider has no key that fits the token.";
  return error instanceof Error ? error.message : String(error);
}
