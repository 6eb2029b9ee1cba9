/** What each ending fault does to a request: see `fault-kinds.ts` for the names. */
import { errorsAnswer, json, oauthAnswer, type Answer } from "./answers.ts";
import type { EndingFault, FaultSettings } from "./fault-kinds.ts";

export type Effect =
  /** Answers this instead; the endpoint does not run. */
  | { kind: "answer"; answer: Answer }
  /** Never answers; the endpoint does not run. The client gives up. */
  | { kind: "hang" }
  /** Closes the connection, and the endpoint runs all the same: before it, or `lateMs` later. */
  | { kind: "hang_up"; runs: "before" | "later"; lateMs: number }
  /** The endpoint runs, its answer arrives cut in half. */
  | { kind: "cut_body" };

export function effectOf(fault: EndingFault, settings: FaultSettings, path: string): Effect {
  const refuse = (
    status: number,
    code: string,
    message: string,
    headers: Record<string, string> = {},
  ): Effect => {
    // The token endpoint speaks OAuth also when it fails.
    const answer = path.startsWith("/oauth2/")
      ? oauthAnswer(status, code.toLowerCase(), message)
      : errorsAnswer(status, code, message);
    return { kind: "answer", answer: { ...answer, headers: { ...answer.headers, ...headers } } };
  };
  switch (fault) {
    case "rate_limited":
      return refuse(429, "TOO_MANY_REQUESTS", "Too many requests.", {
        "RateLimit-Reset": String(settings.resetSeconds),
      });
    case "rate_limited_without_reset":
      return refuse(429, "TOO_MANY_REQUESTS", "Too many requests.");
    case "status_500":
      return refuse(500, "SERVER_ERROR", "Something went wrong.");
    case "status_502":
      return { kind: "answer", answer: htmlFailure(502, "Bad Gateway") };
    case "status_503":
      return { kind: "answer", answer: json(503, { message: "Service Unavailable" }) };
    case "unauthorized":
      return refuse(
        401,
        path.startsWith("/oauth2/") ? "INVALID_CLIENT" : "TOKEN_INVALID",
        "The token is not accepted.",
      );
    case "forbidden":
      return refuse(
        403,
        path.startsWith("/oauth2/") ? "UNAUTHORIZED_CLIENT" : "SCOPE_MISSING",
        "The scope is missing.",
      );
    case "timeout":
      return { kind: "hang" };
    case "lost_reply":
      return { kind: "hang_up", runs: "before", lateMs: 0 };
    case "late_write":
      return { kind: "hang_up", runs: "later", lateMs: settings.lateMs };
    case "malformed_json":
      return { kind: "cut_body" };
  }
}

/** What stands in front of a service answers in HTML, whatever was asked for. */
function htmlFailure(status: number, title: string): Answer {
  const body = `<html><head><title>${status} ${title}</title></head><body><h1>${status} ${title}</h1></body></html>`;
  return { status, headers: { "content-type": "text/html" }, body };
}

/** Half of a body: no JSON that was whole is still whole. */
export function cutBody(answer: Answer): Answer {
  return { ...answer, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) };
}
