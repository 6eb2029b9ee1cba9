/** The query of /oauth2/auth, judged before anything is shown: an error never travels back to the app. */
import type { Emulator } from "./context.ts";
import { pageRefusal } from "./html.ts";
import { knownAudiences, SIGN_IN_SCOPES, wordsOf } from "./scopes.ts";

export interface AuthRequest {
  readonly redirectUri: string;
  readonly state: string | null;
  readonly scope: readonly string[];
  readonly audience: readonly string[];
  readonly nonce: string | null;
  /** PKCE with S256. The Next.js SDK does without. */
  readonly codeChallenge: string | null;
  readonly startsWithRegistration: boolean;
  readonly planInterest: string | null;
  readonly loginHint: string;
}

/** Throws Refusal with an HTML page. Parameters that mean nothing here are let through: the SDK hands on any. */
export function readAuthRequest(emulator: Emulator, query: URLSearchParams): AuthRequest {
  const { config, issuer } = emulator;
  const refuse = (detail: string) => pageRefusal(400, "This sign-in link does not work", detail);
  if (query.get("client_id") !== config.clientId) {
    throw refuse("client_id is not the application of this emulator (KINDE_CLIENT_ID).");
  }
  const redirectUri = query.get("redirect_uri") ?? "";
  if (!isAllowedRedirect(redirectUri, config.siteOrigin)) {
    throw refuse(`redirect_uri must lead to ${config.siteOrigin} (KINDE_SITE_URL).`);
  }
  if (query.get("response_type") !== "code") throw refuse("response_type must be code.");
  const audience = query.getAll("audience").flatMap(wordsOf);
  const unknown = audience.find((name) => !knownAudiences(issuer).includes(name));
  if (config.strict && unknown !== undefined) {
    throw refuse(`The audience ${unknown} is not known. Known are: ${knownAudiences(issuer).join(", ")}.`);
  }
  const codeChallenge = query.get("code_challenge");
  if (codeChallenge !== null && query.get("code_challenge_method") !== "S256") {
    throw refuse("code_challenge_method must be S256.");
  }
  const known: readonly string[] = SIGN_IN_SCOPES;
  return {
    redirectUri,
    state: query.get("state"),
    scope: [...new Set(wordsOf(query.get("scope")))].filter((scope) => known.includes(scope)),
    audience: [...new Set(audience)],
    nonce: query.get("nonce"),
    codeChallenge,
    startsWithRegistration: query.get("start_page") === "registration",
    planInterest: query.get("plan_interest"),
    loginHint: query.get("login_hint") ?? "",
  };
}

/** Compared as parsed, so that no spelling of another host gets by. */
export function isAllowedRedirect(text: string, siteOrigin: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null && url.origin === siteOrigin && url.username === "" && url.password === "" && url.hash === ""
  );
}

/** Where the browser goes with its code. */
export function callbackUrl({ redirectUri, state }: AuthRequest, code: string): string {
  const url = new URL(redirectUri);
  url.searchParams.set("code", code);
  if (state !== null) url.searchParams.set("state", state);
  return url.href;
}
