/** When a delivery is tried again (facts §4.1). Pure; times are those of the delivery clock. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../shared/durations.ts";

/**
 * The waits after a failed attempt. Kinde documents them as approximate, and "every 12 hours until 36 hours": after the
 * second wait of 12 h a third would end past 36 h from the first attempt, so there is none.
 */
const WAITS_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
];

/** An endpoint that has failed for this long, without one success, is disabled. */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;

/** The wait after so many attempts, all failed; null when there is no further one. Counted, so that load changes nothing. */
export function waitAfter(attemptsMade: number): number | null {
  return WAITS_MS[attemptsMade - 1] ?? null;
}
