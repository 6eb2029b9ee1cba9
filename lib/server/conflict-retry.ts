import { conflictWaitMs } from "../gate/conflict-retry.ts";
import { BackendError } from "./convex.ts";
import type { ServerDeps } from "./deps.ts";

/**
 * Repeats a call that the backend gave up before its commit. Throws the conflict when no try is left, and anything
 * else at once. Only for single transactions.
 */
export async function retryConflicts<T>(
  call: () => Promise<T>,
  deps: Pick<ServerDeps, "sleep" | "random">,
): Promise<T> {
  for (let triesDone = 1; ; triesDone += 1) {
    try {
      return await call();
    } catch (error) {
      const isConflict = error instanceof BackendError && error.fault === "conflict";
      const waitMs = isConflict ? conflictWaitMs(triesDone, deps.random()) : null;
      if (waitMs === null) throw error;
      await deps.sleep(waitMs);
    }
  }
}
