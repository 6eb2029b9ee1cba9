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

/**
 * Repeats a call that was given up before its commit. Throws the conflict when no try or no time is left, and anything
 * else at once. Only for single transactions.
 * @param deps.random in [0, 1)
 * @param deps.isInTime whether a try may still begin after one more wait; always, unless given
 */
export async function retryConflicts<T>(
  call: () => Promise<T>,
  isConflict: (error: unknown) => boolean,
  deps: {
    readonly sleep: (ms: number) => Promise<void>;
    readonly random: () => number;
    readonly isInTime?: (waitMs: number) => boolean;
  },
): Promise<T> {
  for (let triesDone = 1; ; triesDone += 1) {
    try {
      return await call();
    } catch (error) {
      const waitMs = isConflict(error) ? conflictWaitMs(triesDone, deps.random()) : null;
      if (waitMs === null || deps.isInTime?.(waitMs) === false) throw error;
      await deps.sleep(waitMs);
    }
  }
}

/** Convex tells an action by this text alone that a mutation lost every conflict (docs.convex.dev/error#1). */
const LOST_CONFLICT = "changed while this mutation was being run and on every subsequent retry";

/** Whether an error of a mutation that an action ran says that it lost every conflict, and so has changed nothing. */
export function isLostConflict(error: unknown): boolean {
  return error instanceof Error && error.message.includes(LOST_CONFLICT);
}
