import { conflictWaitMs } from "../gate/conflict-retry.ts";
import { BackendError, CALL_TIMEOUT_MS, QUEUE_WAIT_MS_MAX } from "./convex.ts";
import type { ServerDeps } from "./deps.ts";

/** No try begins later than this after the first; the waits between eight quick ones fit into it. */
const TRIES_MS_MAX = 3_000;

/** The longest that one query or mutation keeps its caller waiting, its repetitions and a backend that hangs included. */
export const CALLER_WAIT_MS_MAX = TRIES_MS_MAX + QUEUE_WAIT_MS_MAX + CALL_TIMEOUT_MS;

/**
 * Repeats a call that the backend gave up before its commit. Throws the conflict when no try or no time is left, and
 * anything else at once. Ends within `CALLER_WAIT_MS_MAX`. Only for single transactions.
 */
export async function retryConflicts<T>(
  call: () => Promise<T>,
  deps: Pick<ServerDeps, "sleep" | "random" | "elapsedMs">,
): Promise<T> {
  const startedAtMs = deps.elapsedMs();
  for (let triesDone = 1; ; triesDone += 1) {
    try {
      return await call();
    } catch (error) {
      const isConflict = error instanceof BackendError && error.fault === "conflict";
      const waitMs = isConflict ? conflictWaitMs(triesDone, deps.random()) : null;
      if (waitMs === null || deps.elapsedMs() - startedAtMs + waitMs > TRIES_MS_MAX) throw error;
      await deps.sleep(waitMs);
    }
  }
}
