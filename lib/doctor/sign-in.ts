import { CONVEX_AUDIENCE } from "../kinde/environment.ts";
import { readErrorCode } from "../kinde/schemas.ts";
import { type Answered, hostOf, type Probe, unreachable } from "./probe.ts";
import { failed, type Finding, ok, skipped } from "./report.ts";

/** The web application: whether the provider knows it, and lets people in and back to the site. */
export interface WebApplication {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly siteUrl: string;
}

export const callbackOf = (siteUrl: string): string => `${siteUrl}/api/auth/kinde_callback`;

/** Asks for tokens with a code that is none: a provider says first whether it knows the client, then that the code is wrong. */
export async function checkWebClient(probe: Probe, app: WebApplication): Promise<Finding> {
  const url = `${app.issuerUrl}/oauth2/token`;
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: app.clientId,
    client_secret: app.clientSecret,
    redirect_uri: callbackOf(app.siteUrl),
    code: "a-code-that-nobody-was-given",
  }).toString();
  const headers = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };
  const answer = await probe({ method: "POST", url, headers, body });
  return answer.kind === "no_answer"
    ? unreachable("the token endpoint of", url, answer)
    : judgeWebClient(answer);
}

export function judgeWebClient({ status, json }: Answered): Finding {
  const code = readErrorCode(json);
  if (status === 401 || code === "invalid_client") {
    return failed(
      "client_refused",
      "the provider refuses KINDE_CLIENT_ID with KINDE_CLIENT_SECRET",
      "copy both again from one and the same web application; a secret that was rotated has to be replaced here",
    );
  }
  if (code === "unauthorized_client") {
    return failed(
      "client_refused",
      "the application of KINDE_CLIENT_ID may not sign people in",
      "it has to be a back-end web application, not a machine-to-machine one",
    );
  }
  if (code === "invalid_grant") return ok("the provider knows it and its secret");
  return skipped(`the provider did not say (it answered ${status}); a sign-in will tell`);
}

/** The first step of a sign-in, as a browser would take it. */
export async function checkSignIn(probe: Probe, app: WebApplication): Promise<Finding> {
  const query = new URLSearchParams({
    client_id: app.clientId,
    redirect_uri: callbackOf(app.siteUrl),
    response_type: "code",
    scope: "openid profile email offline",
    state: "doctor",
    audience: CONVEX_AUDIENCE,
  }).toString();
  const url = `${app.issuerUrl}/oauth2/auth?${query}`;
  const answer = await probe({ url });
  return answer.kind === "no_answer"
    ? unreachable("the sign-in of", url, answer)
    : judgeSignIn(app.siteUrl, answer);
}

export function judgeSignIn(siteUrl: string, { status, location }: Answered): Finding {
  const target = location !== null && URL.canParse(location) ? new URL(location) : null;
  const isRefused = status >= 400 || target?.searchParams.has("error") === true;
  if (!isRefused) return ok(`${hostOf(siteUrl)} is a place it sends people back to`);
  const next =
    `at Kinde, in the web application: allow the callback URL ${callbackOf(siteUrl)}, ` +
    `and authorize it under APIs for the API whose audience is "${CONVEX_AUDIENCE}"`;
  return failed("sign_in_refused", `the provider refuses to start a sign-in (it answered ${status})`, next);
}
