/** What anyone may read: where the endpoints are, and the keys. Never cached, so that a rotation is seen at once. */
import { json, type Answer } from "./answers.ts";
import { profileClaims } from "./claims.ts";
import { requireUser } from "./bearer.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { SIGN_IN_SCOPES } from "./scopes.ts";

export const discoveryRoutes: readonly Route[] = [
  { method: "GET", path: "/.well-known/openid-configuration", handler: configuration },
  // Documentation and discovery name the first, every Kinde package asks for the second (facts §0.5).
  { method: "GET", path: "/.well-known/jwks", handler: jwks },
  { method: "GET", path: "/.well-known/jwks.json", handler: jwks },
  { method: "GET", path: "/oauth2/v2/user_profile", handler: userProfile },
];

function configuration({ issuer }: Emulator): Answer {
  return json(200, {
    issuer,
    authorization_endpoint: `${issuer}/oauth2/auth`,
    token_endpoint: `${issuer}/oauth2/token`,
    userinfo_endpoint: `${issuer}/oauth2/v2/user_profile`,
    revocation_endpoint: `${issuer}/oauth2/revoke`,
    introspection_endpoint: `${issuer}/oauth2/introspect`,
    end_session_endpoint: `${issuer}/logout`,
    jwks_uri: `${issuer}/.well-known/jwks`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    scopes_supported: SIGN_IN_SCOPES,
  });
}

function jwks({ keys }: Emulator): Answer {
  return json(200, keys.jwks());
}

function userProfile(emulator: Emulator, call: Call): Answer {
  const { user, scope } = requireUser(emulator, call);
  return json(200, { sub: user.id, id: user.id, ...profileClaims(user, scope) });
}
