import { BackendError } from "./convex.ts";
import type { ServerDeps } from "./deps.ts";

const TRIES_MAX = 8;
const WAIT_FIRST_MS = 10;
const WAIT_MAX_MS = 1000;

/** Repeats a call that the backend gave up before its commit, with a growing, spread wait; then throws the conflict. */
export async function retryConflicts<T>(
  call: () => Promise<T>,
  deps: Pick<ServerDeps, "sleep" | "random">,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof BackendError && error.fault === "conflict") || tries === TRIES_MAX) throw error;
      await deps.sleep(deps.random() * Math.min(WAIT_MAX_MS, WAIT_FIRST_MS * 2 ** tries));
    }
  }
}
