import { retryConflicts } from "../gate/conflict-retry.ts";
import { BackendError, CALL_TIMEOUT_MS, QUEUE_WAIT_MS_MAX } from "./convex.ts";
import type { ServerDeps } from "./deps.ts";

/** No try begins later than this after the first; the waits between eight quick ones fit into it. */
const TRIES_MS_MAX = 3_000;

/** The longest that one query or mutation keeps its caller waiting, its repetitions and a backend that hangs included. */
export const CALLER_WAIT_MS_MAX = TRIES_MS_MAX + QUEUE_WAIT_MS_MAX + CALL_TIMEOUT_MS;

/** Repeats a query or mutation that the backend gave up before its commit. Ends within `CALLER_WAIT_MS_MAX`. */
export async function retryForCaller<T>(
  call: () => Promise<T>,
  { sleep, random, elapsedMs }: Pick<ServerDeps, "sleep" | "random" | "elapsedMs">,
): Promise<T> {
  const startedAtMs = elapsedMs();
  const isInTime = (waitMs: number): boolean => elapsedMs() - startedAtMs + waitMs <= TRIES_MS_MAX;
  return await retryConflicts(call, isConflict, { sleep, random, isInTime });
}

function isConflict(error: unknown): boolean {
  return error instanceof BackendError && error.fault === "conflict";
}
