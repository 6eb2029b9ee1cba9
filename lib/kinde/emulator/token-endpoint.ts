/** POST /oauth2/token, /oauth2/revoke and /oauth2/introspect: for clients, always JSON. */
import { equalInConstantTime } from "../../shared/secrets.ts";
import { json, oauthRefusal, type Answer } from "./answers.ts";
import { machineClaims } from "./claims.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { signJwt, verifyJwt } from "./jwt.ts";
import { managementAudiences, wordsOf } from "./scopes.ts";
import {
  frameOf,
  isLiveRefreshToken,
  refreshSession,
  revokeRefreshToken,
  startSession,
  takeCode,
} from "./sessions.ts";

export const tokenRoutes: readonly Route[] = [
  { method: "POST", path: "/oauth2/token", handler: issueTokens },
  { method: "POST", path: "/oauth2/revoke", handler: revoke },
  { method: "POST", path: "/oauth2/introspect", handler: introspect },
];

type Client = "app" | "machine";

function issueTokens(emulator: Emulator, call: Call): Answer {
  const form = readForm(call);
  const client = authenticate(emulator, call, form);
  const grantType = required(form, "grant_type");
  switch (grantType) {
    case "authorization_code":
      allowOnly(client, "app");
      return exchangeCode(emulator, form);
    case "refresh_token":
      allowOnly(client, "app");
      return refresh(emulator, form);
    case "client_credentials":
      allowOnly(client, "machine");
      return issueMachineToken(emulator, form);
    default:
      throw oauthRefusal(400, "unsupported_grant_type", `The grant type ${grantType} is not supported.`);
  }
}

function exchangeCode(emulator: Emulator, form: URLSearchParams): Answer {
  const taken = takeCode(emulator, required(form, "code"), {
    clientId: emulator.config.clientId,
    redirectUri: required(form, "redirect_uri"),
    codeVerifier: form.get("code_verifier"),
  });
  if (taken.kind === "refused") throw oauthRefusal(400, "invalid_grant", taken.reason);
  return json(200, startSession(emulator, taken.grant));
}

function refresh(emulator: Emulator, form: URLSearchParams): Answer {
  const outcome = refreshSession(emulator, required(form, "refresh_token"), emulator.config.clientId);
  if (outcome.kind === "refused") throw oauthRefusal(400, "invalid_grant", outcome.reason);
  return json(200, outcome.tokens);
}

function issueMachineToken(emulator: Emulator, form: URLSearchParams): Answer {
  const { config, issuer, keys } = emulator;
  const audience = form.getAll("audience").flatMap(wordsOf);
  if (audience.length === 0) throw oauthRefusal(400, "invalid_request", "audience is missing.");
  const unknown = audience.find((name) => !managementAudiences(issuer).includes(name));
  if (config.strict && unknown !== undefined) {
    throw oauthRefusal(
      400,
      "unauthorized_client",
      `The application is not authorised for the API ${unknown}.`,
    );
  }
  const scope = [...new Set(wordsOf(form.get("scope")))];
  const known: readonly string[] = config.machineScopes;
  const foreign = scope.find((name) => !known.includes(name));
  if (foreign !== undefined) throw oauthRefusal(400, "invalid_scope", `The scope ${foreign} is not granted.`);
  const frame = frameOf(emulator, config.m2mClientId);
  return json(200, {
    access_token: signJwt(keys, machineClaims(frame, { audience, scope })),
    expires_in: frame.lifeSeconds,
    scope: scope.join(" "),
    token_type: "Bearer",
  });
}

/** RFC 7009: a token that is not known is as good as revoked. */
function revoke(emulator: Emulator, call: Call): Answer {
  const form = readForm(call);
  authenticate(emulator, call, form);
  const token = required(form, "token");
  if (!revokeRefreshToken(emulator, token)) {
    const claims = verifyJwt(emulator.keys, token, { issuer: emulator.issuer, nowMs: emulator.wallNowMs() });
    if (claims !== null) {
      emulator.storage.run("INSERT OR IGNORE INTO revoked_tokens (jti) VALUES (?)", claims.jti);
    }
  }
  return json(200, {});
}

/** RFC 7662. */
function introspect(emulator: Emulator, call: Call): Answer {
  const form = readForm(call);
  authenticate(emulator, call, form);
  const token = required(form, "token");
  const claims = verifyJwt(emulator.keys, token, { issuer: emulator.issuer, nowMs: emulator.wallNowMs() });
  if (claims !== null && !isRevoked(emulator, claims.jti)) {
    return json(200, { active: true, token_type: "access_token", ...claims });
  }
  const isRefresh = isLiveRefreshToken(emulator, token);
  return json(200, isRefresh ? { active: true, token_type: "refresh_token" } : { active: false });
}

export function isRevoked({ storage }: Emulator, jti: string): boolean {
  return storage.get("SELECT 1 FROM revoked_tokens WHERE jti = ?", jti) !== null;
}

function readForm({ headers, body }: Call): URLSearchParams {
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers["content-type"] ?? "")) {
    throw oauthRefusal(400, "invalid_request", "The body must be application/x-www-form-urlencoded.");
  }
  return new URLSearchParams(body);
}

/** Discovery names `client_secret_post` only, so an Authorization header authenticates nobody. */
function authenticate({ config }: Emulator, { headers }: Call, form: URLSearchParams): Client {
  const refused = oauthRefusal(401, "invalid_client", "The client or its secret is wrong.");
  if (headers["authorization"] !== undefined && !form.has("client_secret")) throw refused;
  const id = form.get("client_id");
  const secret = form.get("client_secret") ?? "";
  const isClient = (clientId: string, clientSecret: string): boolean =>
    id === clientId && equalInConstantTime(clientSecret, secret);
  if (isClient(config.clientId, config.clientSecret)) return "app";
  if (isClient(config.m2mClientId, config.m2mClientSecret)) return "machine";
  throw refused;
}

function allowOnly(client: Client, wanted: Client): void {
  if (client === wanted) return;
  throw oauthRefusal(400, "unauthorized_client", "This application may not use this grant type.");
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === "") throw oauthRefusal(400, "invalid_request", `${name} is missing.`);
  return value;
}
