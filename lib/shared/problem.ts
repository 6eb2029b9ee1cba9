/**
 * Every code an error answer can carry, with its HTTP status and title. Codes are part of the API: clients match
 * on them, so one is never renamed or given another meaning. Rule source: the HTTP API section of the design.
 */
export const PROBLEMS = {
  invalid: { status: 400, title: "The request is not valid" },
  out_of_range: { status: 400, title: "A number is out of range" },
  unauthorized: { status: 401, title: "A valid API key is needed" },
  webhook_refused: { status: 401, title: "The body is no webhook of the tenant" },
  limit_reached: { status: 402, title: "The usage limit is reached" },
  held_by_running_jobs: { status: 402, title: "Running jobs hold what is left of the limit" },
  no_credits: { status: 402, title: "The credits of this month are used up" },
  payment_overdue: { status: 402, title: "An invoice is overdue" },
  forbidden: { status: 403, title: "The API key may not do this" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "This path does not know the method" },
  key_conflict: { status: 409, title: "The key is taken by another request" },
  code_taken: { status: 409, title: "The code of the link is taken" },
  lease_lost: { status: 409, title: "The lease of the job has ended or moved on" },
  not_running: { status: 409, title: "The job has already ended" },
  step_conflict: { status: 409, title: "The step is not the next one" },
  too_late: { status: 409, title: "It is already due" },
  event_running: { status: 409, title: "The event is being applied at this moment" },
  review_conflict: { status: 409, title: "The review cannot be decided like this" },
  too_large: { status: 413, title: "The request body is too large" },
  unsupported_encoding: { status: 415, title: "The content encoding is not supported" },
  rate_limited: { status: 429, title: "Too many new jobs in this minute" },
  too_many_requests: { status: 429, title: "Too many requests from this address" },
  internal: { status: 500, title: "Something went wrong on our side" },
  limit_unknown: { status: 503, title: "The usage limit cannot be read right now" },
  busy: { status: 503, title: "Too many requests at once" },
  unavailable: { status: 503, title: "A part of the service cannot be reached" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One fault in a request: `path` names the field ("units", "runner.steps"), empty for the body as a whole. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** RFC 9457 body. Members beyond the named ones carry the numbers of a refusal. */
export interface Problem {
  readonly type: string;
  readonly code: ProblemCode;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  readonly [extra: string]: unknown;
}

/** The `type` URI of a code. A URN, because no page stands behind it that a client would have to fetch. */
export function problemType(code: ProblemCode): string {
  return `urn:holdfast:problem:${code}`;
}

/** Builds the body of an error answer; `extra` never overrides the named members. */
export function makeProblem(code: ProblemCode, detail: string, extra: Record<string, unknown> = {}): Problem {
  const { status, title } = PROBLEMS[code];
  return { ...extra, type: problemType(code), code, title, status, detail };
}
