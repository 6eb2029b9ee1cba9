import { readCredential } from "../api-keys.ts";
import { BackendError, type Caller } from "../convex.ts";
import type { ServerDeps } from "../deps.ts";
import type { PlainRequest } from "../http.ts";
import { isOwnRequest } from "../session-token.ts";
import { ApiProblem } from "./answers.ts";
import type { Route } from "./route.ts";

export const UNAUTHORIZED_HEADERS = { "www-authenticate": 'Bearer realm="holdfast"' };

/**
 * In whose name a request is answered. An Authorization header always decides, a wrong one too; only without one may
 * a route that takes them be asked by the signed-in session. Throws `ApiProblem` (`unauthorized`, `forbidden`).
 */
export function readCaller(route: Route, request: PlainRequest, deps: ServerDeps): Caller {
  if (route.auth === "none") return { kind: "server" };
  const mayBeSession = route.acceptsSession && readCredential(request.headers).kind === "missing";
  const accessToken = mayBeSession ? deps.readSessionToken(request) : null;
  if (accessToken === null) return readKeyCaller(request.headers, mayBeSession ? ", or sign in" : "");
  if (!isOwnRequest(request)) {
    throw new ApiProblem("forbidden", "The session answers to pages of this site only. Use an API key.");
  }
  return { kind: "session", accessToken };
}

/** The key behind an Authorization header. Throws `ApiProblem` (`unauthorized`). */
export function readKeyCaller(headers: PlainRequest["headers"], orElse = ""): Caller {
  const credential = readCredential(headers);
  if (credential.kind === "key") return credential;
  throw unauthorized(
    credential.kind === "missing"
      ? `Send an API key in the header Authorization: Bearer hf_…${orElse}`
      : "The Authorization header does not hold an API key of the form Bearer hf_…",
  );
}

/** A refusal in the words of somebody who has signed in and knows of no key. Any other error comes back as it is. */
export function explainToSession(error: unknown): unknown {
  if (!(error instanceof BackendError) || error.fault !== "refused") return error;
  switch (error.refusedCode) {
    case "unauthorized":
      return unauthorized("This sign-in has ended. Reload the page, or sign in again.");
    case "no_account":
      return new ApiProblem("forbidden", "This sign-in has no account yet.");
    default:
      return error;
  }
}

function unauthorized(detail: string): ApiProblem {
  return new ApiProblem("unauthorized", detail, { headers: UNAUTHORIZED_HEADERS });
}
