/** When a delivery is tried again (facts §4.1). Pure; times are those of the delivery clock. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../shared/durations.ts";

/** Kinde documents these as approximate; "then every 12 hours until 36 hours". */
const DOCUMENTED_WAITS_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
];

const LAST_ATTEMPT_AFTER_MS = 36 * HOUR_MS;

/** A third wait of 12 hours would end past 36, so the last attempt is at 36: what is down for less loses nothing. */
const WAITS_MS: readonly number[] = [
  ...DOCUMENTED_WAITS_MS,
  DOCUMENTED_WAITS_MS.reduce((restMs, waitMs) => restMs - waitMs, LAST_ATTEMPT_AFTER_MS),
];

/** An endpoint that has failed for this long, without one success, is disabled. */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;

/** The wait after so many attempts, all failed; null when there is no further one. Counted, so that load changes nothing. */
export function waitAfter(attemptsMade: number): number | null {
  return WAITS_MS[attemptsMade - 1] ?? null;
}
