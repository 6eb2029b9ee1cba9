import { parseRetryAfterMs } from "./back-off.ts";

/** An answer larger than this is not read. A page of a hundred entitlements is about 40 KB. */
export const ANSWER_BYTES_MAX = 5 * 1024 * 1024;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export type HttpOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfterMs: number | null;
      /** The parsed JSON; undefined when the body is not JSON. */
      readonly json: unknown;
    }
  | {
      readonly kind: "lost";
      readonly code: "unreachable" | "timeout" | "bad_answer";
      /** The status, when the head of the answer had arrived. */
      readonly status: number | null;
      readonly reason: string;
      /** Whether the other side can have seen the request. */
      readonly arrived: "no" | "unknown";
    };

/** Errors of Node's fetch that happen before a byte of the request is sent. Others leave the question open. */
const NOT_SENT_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * Sends one request and reads its answer, all of it within `timeoutMs`. Never throws, and tells nothing of what the
 * runtime threw: those texts may quote headers. The timer is our own because `AbortSignal.timeout` cannot be cleared;
 * it also ends the wait where a fetch ignores its signal.
 */
export async function exchange(
  fetchFn: typeof fetch,
  request: HttpRequest,
  timeoutMs: number,
): Promise<HttpOutcome> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<HttpOutcome>((resolve) => {
    timer = setTimeout(() => {
      const reason = `no answer in ${timeoutMs} ms`;
      resolve({ kind: "lost", code: "timeout", status: null, reason, arrived: "unknown" });
      controller.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([expired, perform(fetchFn, request, controller.signal)]);
  } finally {
    clearTimeout(timer);
  }
}

async function perform(
  fetchFn: typeof fetch,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpOutcome> {
  const { url, method, headers, body } = request;
  let response: Response;
  try {
    response = await fetchFn(url.href, { method, headers, body, signal, redirect: "manual" });
  } catch (thrown) {
    const arrived = wasNotSent(thrown) ? "no" : "unknown";
    const reason = arrived === "no" ? "no connection" : "the connection was lost";
    return { kind: "lost", code: "unreachable", status: null, reason, arrived };
  }
  const { status } = response;
  // Where `manual` is not honoured, or hides the answer as browsers do, this is still no answer of the API.
  if (response.redirected || response.type === "opaqueredirect") {
    const reason = "it answered with a redirect";
    return { kind: "lost", code: "bad_answer", status: null, reason, arrived: "unknown" };
  }
  const text = await readBounded(response);
  // The status alone tells what a refusal means; only a success needs its body.
  if (typeof text !== "string" && response.ok) return { kind: "lost", status, arrived: "unknown", ...text };
  const json = typeof text === "string" ? parseJson(text) : undefined;
  return { kind: "answered", status, retryAfterMs: parseRetryAfterMs(response.headers), json };
}

type Unread = { readonly code: "unreachable" | "bad_answer"; readonly reason: string };

async function readBounded(response: Response): Promise<string | Unread> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > ANSWER_BYTES_MAX) {
        reader.cancel().catch(() => undefined);
        return { code: "bad_answer", reason: `the answer is larger than ${ANSWER_BYTES_MAX} bytes` };
      }
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return { code: "unreachable", reason: "the connection was lost inside the answer" };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function wasNotSent(thrown: unknown): boolean {
  if (typeof thrown !== "object" || thrown === null || !("cause" in thrown)) return false;
  const { cause } = thrown;
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return false;
  return typeof cause.code === "string" && NOT_SENT_CODES.has(cause.code);
}
