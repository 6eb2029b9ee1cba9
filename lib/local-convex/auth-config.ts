/**
 * Reads `auth.config` (facts §3.7): who may issue tokens for this deployment. It is evaluated on its own, with
 * an environment in which reading a variable that is not set is an error, as at a real push.
 */
import type { Bundle } from "./bundle.ts";
import { evaluateBundle } from "./modules.ts";

export type AuthProvider =
  | { readonly kind: "oidc"; readonly issuer: string; readonly applicationId: string }
  | {
      readonly kind: "customJwt";
      readonly issuer: string;
      /** Where the keys are: http(s), or a `data:` URI that holds them. */
      readonly jwks: string;
      readonly algorithm: "RS256" | "ES256";
      /** Null accepts any audience. */
      readonly applicationId: string | null;
    };

/** `auth.config` cannot be used; the engine does not start with it. */
export class AuthConfigError extends Error {
  override readonly name = "AuthConfigError";
  constructor(
    readonly code: "AuthConfigMissingEnvironmentVariable" | "InvalidAuthConfig",
    message: string,
  ) {
    super(message);
  }
}

/** `process.env` for the evaluation of `auth.config`. */
export function strictEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return new Proxy(env, {
    get(target, name) {
      if (typeof name === "string" && !Object.hasOwn(target, name)) {
        throw new AuthConfigError(
          "AuthConfigMissingEnvironmentVariable",
          `Environment variable ${name} is used in auth config file but its value was not set`,
        );
      }
      return Reflect.get(target, name) as string;
    },
  });
}

/** The providers in the order in which they are tried. @throws AuthConfigError */
export function readAuthConfig(
  bundle: Bundle,
  globals: Record<string, unknown>,
  functionsDir: string,
): AuthProvider[] {
  const exports = Object.values(evaluateBundle(bundle, globals, functionsDir))[0];
  const providers = (exports?.["default"] as { providers?: unknown } | undefined)?.providers;
  if (!Array.isArray(providers)) {
    throw invalid("auth.config must have a default export with an array `providers`.");
  }
  return providers.map((provider: unknown, index) => readProvider(provider, `providers[${index}]`));
}

function readProvider(provider: unknown, at: string): AuthProvider {
  if (provider === null || typeof provider !== "object") throw invalid(`${at} must be an object.`);
  const fields = provider as Record<string, unknown>;
  if (fields["type"] === undefined || fields["type"] === "oidc") {
    return {
      kind: "oidc",
      issuer: withScheme(readUrl(fields["domain"], `${at}.domain`)),
      applicationId: readText(fields["applicationID"], `${at}.applicationID`),
    };
  }
  if (fields["type"] !== "customJwt") throw invalid(`${at}.type must be "customJwt" or left out.`);
  const { algorithm } = fields;
  if (algorithm !== "RS256" && algorithm !== "ES256") {
    throw invalid(`${at}.algorithm must be "RS256" or "ES256".`);
  }
  const applicationId = fields["applicationID"];
  return {
    kind: "customJwt",
    issuer: readText(fields["issuer"], `${at}.issuer`),
    jwks: readJwksUrl(fields["jwks"], `${at}.jwks`),
    algorithm,
    applicationId: applicationId === undefined ? null : readText(applicationId, `${at}.applicationID`),
  };
}

/** Issuers may be written without a scheme. */
export function withScheme(issuer: string): string {
  return /^\w+:\/\//.test(issuer) ? issuer : `https://${issuer}`;
}

function readText(value: unknown, at: string): string {
  if (typeof value !== "string" || value === "") throw invalid(`${at} must be a text.`);
  return value;
}

function readUrl(value: unknown, at: string): string {
  const text = readText(value, at);
  if (!isHttp(withScheme(text))) throw invalid(`${at} must be an http or https URL.`);
  return text;
}

function readJwksUrl(value: unknown, at: string): string {
  const text = readText(value, at);
  const isData = text.startsWith("data:") && URL.canParse(text);
  if (!isData && !isHttp(withScheme(text))) {
    throw invalid(`${at} must be an http or https URL or a data: URI.`);
  }
  return isData ? text : withScheme(text);
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function invalid(message: string): AuthConfigError {
  return new AuthConfigError("InvalidAuthConfig", message);
}
