/** A transaction that lost a write conflict is tried this often in all; then the answer is `busy`. */
export const CONFLICT_TRIES_MAX = 8;
/** The wait grows to this and no further: past a second a caller is better told to come back. */
export const CONFLICT_WAIT_MS_MAX = 1_000;
const CONFLICT_WAIT_MS_FIRST = 25;

/**
 * How long to wait after try number `triesDone` (1 for the first) failed, or null when no try is left. Doubles each
 * time up to a second; `random` in [0, 1) spreads the upper half, so that callers which collided do not meet again.
 * Only for calls that are safe to repeat.
 */
export function conflictWaitMs(triesDone: number, random: number): number | null {
  if (triesDone >= CONFLICT_TRIES_MAX) return null;
  const ceilingMs = Math.min(CONFLICT_WAIT_MS_MAX, CONFLICT_WAIT_MS_FIRST * 2 ** (triesDone - 1));
  return Math.round(ceilingMs / 2 + (random * ceilingMs) / 2);
}
