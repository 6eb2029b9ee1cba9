import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./durations.ts";

/** The periodic workers whose runs are noted: how often each runs, and when its last good run is too long ago. */
export interface PeriodicWorker {
  readonly name: string;
  readonly everyMs: number;
  readonly lateAfterMs: number;
}

/** As convex/crons.ts has them. Late is after several runs that were missed or failed, not after one. */
export const PERIODIC_WORKERS = [
  { name: "sweeper", everyMs: 15 * SECOND_MS, lateAfterMs: MINUTE_MS },
  // A run with much to do goes on for nearly a minute.
  { name: "inbox", everyMs: 15 * SECOND_MS, lateAfterMs: 3 * MINUTE_MS },
  { name: "reporter", everyMs: MINUTE_MS, lateAfterMs: 5 * MINUTE_MS },
  { name: "reminders", everyMs: MINUTE_MS, lateAfterMs: 5 * MINUTE_MS },
  { name: "alerts", everyMs: MINUTE_MS, lateAfterMs: 5 * MINUTE_MS },
  { name: "audit", everyMs: HOUR_MS, lateAfterMs: 2 * HOUR_MS },
  // A failed run is tried three times within the hour.
  { name: "drift", everyMs: HOUR_MS, lateAfterMs: 2 * HOUR_MS },
  { name: "retention", everyMs: HOUR_MS, lateAfterMs: 3 * HOUR_MS },
  // One that has much to do hands on to continuations.
  { name: "reconciler", everyMs: 24 * HOUR_MS, lateAfterMs: 26 * HOUR_MS },
] as const satisfies readonly PeriodicWorker[];

export type WorkerName = (typeof PERIODIC_WORKERS)[number]["name"];

/** `waiting`: it has not had a good run yet. `late`: its last good run is too long ago. */
export type WorkerState = "ok" | "waiting" | "late";

/** Ages by the clock of whoever wrote the times. */
export function workerState(
  { lateAfterMs }: PeriodicWorker,
  lastGoodAtMs: number | null,
  nowMs: number,
): WorkerState {
  if (lastGoodAtMs === null) return "waiting";
  return nowMs - lastGoodAtMs > lateAfterMs ? "late" : "ok";
}
