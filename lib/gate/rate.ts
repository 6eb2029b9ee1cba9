import { MINUTE_MS } from "../shared/durations.ts";
import type { RateLimited } from "./types.ts";

/** New jobs an account may start in a minute unless an operator set another number (design, gate: admit). */
export const JOBS_PER_MINUTE_DEFAULT = 120;
export const JOBS_PER_MINUTE_MAX = 10_000_000;

export const RATE_WINDOW_MS = MINUTE_MS;

/**
 * A fixed window. It opens with the first admission after the window before it ended, counts new admissions only,
 * and lasts a minute. So at most `limitPerMinute` start in one window, while the end of one window and the start of
 * the next may together hold up to twice that many: the known price of a fixed window.
 */
export interface RateWindow {
  readonly limitPerMinute: number;
  readonly windowStartMs: number;
  readonly count: number;
}

export type RateDecision =
  | { readonly kind: "open"; readonly after: RateWindow }
  | { readonly kind: "closed"; readonly refusal: RateLimited };

/** Whether one more job may start now, and the window once it has. A missing window is one that never opened. */
export function decideRate(window: RateWindow | null, nowMs: number): RateDecision {
  const limitPerMinute = window?.limitPerMinute ?? JOBS_PER_MINUTE_DEFAULT;
  const current = window !== null && isCurrent(window, nowMs) ? window : null;
  const count = current?.count ?? 0;
  if (count < limitPerMinute) {
    const windowStartMs = current?.windowStartMs ?? nowMs;
    return { kind: "open", after: { limitPerMinute, windowStartMs, count: count + 1 } };
  }
  const retryAfterMs = current === null ? RATE_WINDOW_MS : current.windowStartMs + RATE_WINDOW_MS - nowMs;
  return { kind: "closed", refusal: { code: "rate_limited", limitPerMinute, retryAfterMs } };
}

/** A window that starts in the future by a whole window or more comes from a clock set back: it is not believed. */
function isCurrent(window: RateWindow, nowMs: number): boolean {
  const ageMs = nowMs - window.windowStartMs;
  return ageMs < RATE_WINDOW_MS && ageMs > -RATE_WINDOW_MS;
}
