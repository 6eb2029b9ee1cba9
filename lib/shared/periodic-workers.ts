import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./durations.ts";

/** The periodic workers whose runs are noted: how often each runs, and when its last good run is too long ago. */
export interface PeriodicWorker {
  readonly name: string;
  readonly everyMs: number;
  readonly lateAfterMs: number;
  /** One failed run is told at once, because the next one by itself is far away. */
  readonly failsAtOnce: boolean;
}

/** As convex/crons.ts has them. Late is after several runs that were missed or failed, not after one. */
export const PERIODIC_WORKERS = [
  { name: "sweeper", everyMs: 15 * SECOND_MS, lateAfterMs: MINUTE_MS, failsAtOnce: false },
  // A run with much to do goes on for nearly a minute.
  { name: "inbox", everyMs: 15 * SECOND_MS, lateAfterMs: 3 * MINUTE_MS, failsAtOnce: false },
  { name: "reporter", everyMs: MINUTE_MS, lateAfterMs: 5 * MINUTE_MS, failsAtOnce: false },
  { name: "reminders", everyMs: MINUTE_MS, lateAfterMs: 5 * MINUTE_MS, failsAtOnce: false },
  { name: "alerts", everyMs: MINUTE_MS, lateAfterMs: 5 * MINUTE_MS, failsAtOnce: false },
  { name: "audit", everyMs: HOUR_MS, lateAfterMs: 2 * HOUR_MS, failsAtOnce: false },
  // A failed run is tried three times within the hour.
  { name: "drift", everyMs: HOUR_MS, lateAfterMs: 2 * HOUR_MS, failsAtOnce: false },
  { name: "retention", everyMs: HOUR_MS, lateAfterMs: 3 * HOUR_MS, failsAtOnce: false },
  // One that has much to do hands on to continuations.
  { name: "reconciler", everyMs: 24 * HOUR_MS, lateAfterMs: 26 * HOUR_MS, failsAtOnce: true },
] as const satisfies readonly PeriodicWorker[];

export type WorkerName = (typeof PERIODIC_WORKERS)[number]["name"];

/**
 * `waiting`: it has not had a good run yet. `late`: its last good run is too long ago. `failed`: its last run could not do
 * its work, and is tried again.
 */
export type WorkerState = "ok" | "waiting" | "late" | "failed";

/** Those that somebody should look at. */
export function isTroubled(state: WorkerState): boolean {
  return state === "late" || state === "failed";
}

/** Ages by the clock of whoever wrote the times. */
export function workerState(
  { lateAfterMs, failsAtOnce }: PeriodicWorker,
  run: { readonly lastGoodAtMs: number | null; readonly lastFinishedAtMs: number | null } | undefined,
  nowMs: number,
): WorkerState {
  const { lastGoodAtMs, lastFinishedAtMs } = run ?? { lastGoodAtMs: null, lastFinishedAtMs: null };
  // A run that is trying again now has not ended yet: the one before it still counts.
  if (failsAtOnce && lastFinishedAtMs !== null && lastFinishedAtMs !== lastGoodAtMs) return "failed";
  if (lastGoodAtMs === null) return "waiting";
  return nowMs - lastGoodAtMs > lateAfterMs ? "late" : "ok";
}
