import { emptyLimitRow, type LimitRow } from "../../lib/gate/limit-cache.ts";
import type { Job } from "../../lib/gate/types.ts";

export const NOW_MS = 1_000_000_000_000;

/** A running job with a hold of 100 and a lease of two minutes that has just been renewed. */
export function makeJob(fields: Partial<Job> = {}): Job {
  return {
    key: "k",
    fingerprint: "f",
    kind: "default",
    feature: "tokens",
    status: "running",
    requestedUnits: 100,
    heldUnits: 100,
    usedUnits: 0,
    overCapUnits: 0,
    step: 0,
    lastStepUnits: 0,
    fence: 1,
    leaseMs: 120_000,
    leaseExpiresAtMs: NOW_MS + 120_000,
    cycle: "2026-10",
    startedAtMs: NOW_MS,
    endedAtMs: null,
    runner: null,
    ...fields,
  };
}

/** A limit of 100 that was read at this instant. */
export function makeLimitRow(fields: Partial<LimitRow> = {}): LimitRow {
  return { ...emptyLimitRow("fixed"), limitUnits: 100, readAtMs: NOW_MS, ...fields };
}
