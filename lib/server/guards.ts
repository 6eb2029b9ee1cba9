import { problemResponse } from "./api/answers.ts";
import { readCredential } from "./api-keys.ts";
import {
  ClientLimits,
  FAILED_KEYS,
  HEALTH_CHECKS,
  REFUSED_WEBHOOKS,
  SIGN_INS,
  UNKNOWN_CODES,
} from "./client-limits.ts";
import type { PlainRequest, PlainResponse } from "./http.ts";
import { noticePage } from "./notice-page.ts";
import { BoundedMap } from "./redirect/bounded-map.ts";

/**
 * What keeps one client from asking without end where no sign-in is needed. Instants are of a clock that does not go
 * back; `client` comes from `clientOf`.
 */
export interface Guard {
  /** How long the client has to wait before this request is looked at, in milliseconds; 0: not at all. */
  waitMs(request: PlainRequest, client: string, nowMs: number): number;
  /** Takes note of how the request was answered. */
  answered(request: PlainRequest, status: number, client: string, nowMs: number): void;
  /** The answer to a request that has to wait. */
  refusal(waitMs: number): PlainResponse;
}

const DETAIL = "Too many requests from this address went wrong. Wait before the next one.";

const asProblem = (waitMs: number): PlainResponse =>
  problemResponse("too_many_requests", DETAIL, { retryAfterMs: waitMs });

const asPage = (waitMs: number): PlainResponse =>
  noticePage({
    status: 429,
    title: "Too many requests",
    text: "Too many requests came from this address. Please try again in a moment.",
    links: [{ href: "/", name: "Go to the start page" }],
    headers: { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });

/** Keys that were good a moment ago: whoever shares an address with somebody that guesses goes on working. */
const GOOD_KEYS_MAX = 10_000;

/**
 * For routes that take an API key: a client that shows wrong ones waits. A wrong operator key is `forbidden`, as a
 * customer's key is there, so both answers count.
 */
export function keyGuard(): Guard {
  const limits = new ClientLimits(FAILED_KEYS);
  const goodKeys = new BoundedMap<true>({ entriesMax: GOOD_KEYS_MAX, bytesMax: Number.POSITIVE_INFINITY });
  const hashOf = ({ headers }: PlainRequest): string | null => {
    const credential = readCredential(headers);
    return credential.kind === "key" ? credential.keyHash : null;
  };
  return {
    waitMs(request, client, nowMs) {
      const waitMs = limits.waitMs(client, nowMs);
      if (waitMs === 0) return 0;
      const keyHash = hashOf(request);
      return keyHash !== null && goodKeys.get(keyHash) === true ? 0 : waitMs;
    },
    answered(request, status, client, nowMs) {
      const isWrong = status === 401 || status === 403;
      if (!isWrong && status >= 300) return;
      if (isWrong) limits.count(client, nowMs);
      const keyHash = hashOf(request);
      if (keyHash === null) return;
      if (status === 401) goodKeys.delete(keyHash);
      else if (!isWrong) goodKeys.set(keyHash, true, 0);
    },
    refusal: asProblem,
  };
}

/** For the webhook endpoint: bodies that the tenant did not sign. */
export function webhookGuard(): Guard {
  const limits = new ClientLimits(REFUSED_WEBHOOKS);
  return {
    waitMs: (_request, client, nowMs) => limits.waitMs(client, nowMs),
    answered(_request, status, client, nowMs) {
      if (status >= 400 && status < 500) limits.count(client, nowMs);
    },
    refusal: asProblem,
  };
}

/** For short links: codes that nobody has. A link that `isKept` knows of is served to everybody at any time. */
export function codeGuard(isKept: (request: PlainRequest) => boolean): Guard {
  const limits = new ClientLimits(UNKNOWN_CODES);
  return {
    waitMs(request, client, nowMs) {
      const waitMs = limits.waitMs(client, nowMs);
      return waitMs > 0 && isKept(request) ? 0 : waitMs;
    },
    answered(_request, status, client, nowMs) {
      if (status === 404) limits.count(client, nowMs);
    },
    refusal: asPage,
  };
}

/** For what costs the same however it is answered: every request counts. */
function everyRequest(limits: ClientLimits, refusal: Guard["refusal"]): Guard {
  return {
    waitMs: (_request, client, nowMs) => limits.waitMs(client, nowMs),
    answered: (_request, _status, client, nowMs) => limits.count(client, nowMs),
    refusal,
  };
}

export const healthGuard = (): Guard => everyRequest(new ClientLimits(HEALTH_CHECKS), asProblem);
export const signInGuard = (): Guard => everyRequest(new ClientLimits(SIGN_INS), asPage);
