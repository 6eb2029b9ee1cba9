import type { PlainResponse } from "../http.ts";
import { makeProblem, type FieldError, type ProblemCode } from "../../shared/problem.ts";

// An answer is about one account at one instant, so nothing between us and the caller may keep it.
const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store" };
const PROBLEM_HEADERS = { "content-type": "application/problem+json", "cache-control": "no-store" };

/** Shortest wait that is worth naming in a Retry-After header, which counts whole seconds. */
const RETRY_AFTER_MIN_SECONDS = 1;

export function jsonResponse(body: unknown, status = 200): PlainResponse {
  return { status, headers: JSON_HEADERS, text: JSON.stringify(body) };
}

export interface ProblemOptions {
  readonly errors?: readonly FieldError[];
  /** Members beside the named ones: the numbers of a refusal, the job in question. */
  readonly extra?: Record<string, unknown>;
  /** Sets Retry-After, rounded up to whole seconds so that a caller that obeys is never early. */
  readonly retryAfterMs?: number;
  readonly headers?: Record<string, string>;
}

/** An `application/problem+json` answer; status and title come from the code. */
export function problemResponse(
  code: ProblemCode,
  detail: string,
  options: ProblemOptions = {},
): PlainResponse {
  const extra: Record<string, unknown> = { ...options.extra };
  if (options.errors) extra.errors = options.errors;
  const headers: Record<string, string> = { ...PROBLEM_HEADERS, ...options.headers };
  if (options.retryAfterMs !== undefined) {
    extra.retryAfterMs = options.retryAfterMs;
    headers["retry-after"] = String(
      Math.max(RETRY_AFTER_MIN_SECONDS, Math.ceil(options.retryAfterMs / 1000)),
    );
  }
  const problem = makeProblem(code, detail, extra);
  return { status: problem.status, headers, text: JSON.stringify(problem) };
}

/** A 400 for faults that the backend found in the fields of a request. */
export function invalidResponse(errors: readonly FieldError[]): PlainResponse {
  const detail = errors.map(({ message }) => message).join("; ");
  return problemResponse("invalid", `${detail}.`, { errors });
}

/** Thrown where a request cannot be answered otherwise; the router turns it into its problem response. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly code: ProblemCode;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail);
    this.code = code;
    this.options = options;
  }

  toResponse(): PlainResponse {
    return problemResponse(this.code, this.message, this.options);
  }
}
