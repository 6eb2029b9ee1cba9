import type { Job } from "./types.ts";

/** A job as every answer shows it: its facts without those that only tell repeats apart. */
export interface JobView extends Omit<Job, "fingerprint" | "lastStepUnits"> {
  readonly id: string;
  /** What came back of the hold at the end; 0 while the job runs. */
  readonly returnedUnits: number;
}

/** Field by field: a stored document has more than the facts, and none of that may show. */
export function viewJob(id: string, job: Job): JobView {
  return {
    id,
    key: job.key,
    kind: job.kind,
    feature: job.feature,
    status: job.status,
    requestedUnits: job.requestedUnits,
    heldUnits: job.heldUnits,
    usedUnits: job.usedUnits,
    returnedUnits: job.status === "running" ? 0 : job.heldUnits - job.usedUnits,
    overCapUnits: job.overCapUnits,
    step: job.step,
    fence: job.fence,
    leaseMs: job.leaseMs,
    leaseExpiresAtMs: job.leaseExpiresAtMs,
    cycle: job.cycle,
    startedAtMs: job.startedAtMs,
    endedAtMs: job.endedAtMs,
    runner: job.runner,
  };
}
