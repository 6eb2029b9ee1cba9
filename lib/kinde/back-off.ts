import { HOUR_MS, SECOND_MS } from "../shared/durations.ts";
import type { Failure, FailureCode } from "./failure.ts";

/** A header that asks for more than this has a wrong unit or clock; it must not stop reports for good. */
export const RETRY_AFTER_MS_MAX = HOUR_MS;

const WAIT_MS_FIRST = 200;
const WAIT_MS_MAX = 4 * SECOND_MS;

/** Failures that another try may mend. A refusal with a reason, or an answer we cannot read, stays what it is. */
const RETRIED: ReadonlySet<FailureCode> = new Set(["unreachable", "timeout", "rate_limited", "server_error"]);

/** How long an operation may take in all, counted from its start. */
export interface Budget {
  leftMs(): number;
}

/** `elapsedMs` is a stopwatch and not the time of day: the latter may be a test clock that stands still or races. */
export function startBudget(elapsedMs: () => number, totalMs: number): Budget {
  const startedMs = elapsedMs();
  return { leftMs: () => totalMs - (elapsedMs() - startedMs) };
}

export interface RetryPorts {
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly attemptsMax: number;
}

/**
 * Runs a call that is safe to repeat until it succeeds, fails for good, has been tried `attemptsMax` times, or the
 * next wait would not fit into the budget. The last failure is the answer then, with the wait Kinde asked for.
 */
export async function retried<T extends { readonly kind: string }>(
  ports: RetryPorts,
  budget: Budget,
  attempt: () => Promise<T | Failure>,
): Promise<T | Failure> {
  for (let triesDone = 1; ; triesDone += 1) {
    const outcome = await attempt();
    if (!isFailure(outcome) || !RETRIED.has(outcome.code) || triesDone >= ports.attemptsMax) return outcome;
    const waitMs = waitBeforeRetryMs(triesDone, outcome.retryAfterMs, ports.random());
    if (waitMs >= budget.leftMs()) return outcome;
    await ports.sleep(waitMs);
  }
}

/**
 * The wait after try number `triesDone` (1 for the first). It doubles each time; `random` spreads the upper half.
 * What Kinde asked for comes first and the spread on top, or all callers would be back in the same instant.
 */
export function waitBeforeRetryMs(triesDone: number, retryAfterMs: number | null, random: number): number {
  const ceilingMs = Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (triesDone - 1));
  return (retryAfterMs ?? 0) + Math.round(ceilingMs / 2 + (random * ceilingMs) / 2);
}

/**
 * The wait that an answer asks for: `RateLimit-Reset` as Kinde documents it, in seconds, and `Retry-After`, which a
 * proxy in front of it may send; the longer of both. `Retry-After` as a date is left out: it would have to be
 * compared with a clock that may be a test clock.
 */
export function parseRetryAfterMs(headers: Headers): number | null {
  const waits = ["ratelimit-reset", "retry-after"].flatMap((name) => {
    const text = headers.get(name)?.trim() ?? "";
    return /^\d{1,15}(\.\d{1,9})?$/.test(text) ? [Math.ceil(Number(text) * SECOND_MS)] : [];
  });
  return waits.length === 0 ? null : Math.min(RETRY_AFTER_MS_MAX, Math.max(...waits));
}

function isFailure(outcome: { readonly kind: string }): outcome is Failure {
  return outcome.kind === "failed";
}
