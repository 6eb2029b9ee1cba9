/** Why a call to Kinde brought no usable answer. */
export type FailureCode =
  | "unreachable"
  | "timeout"
  | "rate_limited"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "server_error"
  | "rejected"
  | "bad_answer";

/** The answer of a call that failed. Expected, so returned; the message is fit for logs and screens. */
export interface Failure {
  readonly kind: "failed";
  readonly code: FailureCode;
  /** The HTTP status, null when there was none. */
  readonly status: number | null;
  /** How long Kinde asked to be left alone; null when it did not say. */
  readonly retryAfterMs: number | null;
  /** Could a write have been applied all the same? Always "no" for reads. */
  readonly committed: "no" | "unknown";
  /** Kinde's own code for the error (`SCOPE_MISSING`), when it gave one that is safe to show. */
  readonly errorCode: string | null;
  /**
   * Names the endpoint and what was wrong. Made of our own words, the status, `errorCode` and field paths only: text
   * of an answer or of a thrown error never gets in, so no secret or token can.
   */
  readonly message: string;
}

type FailureFields = Pick<Failure, "code" | "message"> & Partial<Omit<Failure, "kind">>;

export function failure(fields: FailureFields): Failure {
  return { kind: "failed", status: null, retryAfterMs: null, committed: "no", errorCode: null, ...fields };
}

/** The failure that an HTTP status outside 200 to 299 stands for. */
export function codeOfStatus(status: number): FailureCode {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404) return "not_found";
  if (status === 429) return "rate_limited";
  if (status >= 500) return "server_error";
  // What is left below 400 is redirects. They are never followed: a token must not travel to another host.
  return status >= 400 ? "rejected" : "bad_answer";
}
