import type { Job, JobStatus, RunnerPlan } from "./types.ts";

/** A job as every answer shows it. */
export interface JobView {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly feature: string;
  readonly status: JobStatus;
  readonly requestedUnits: number;
  readonly heldUnits: number;
  readonly usedUnits: number;
  /** What came back of the hold at the end; 0 while the job runs. */
  readonly returnedUnits: number;
  readonly overCapUnits: number;
  readonly step: number;
  readonly fence: number;
  readonly leaseMs: number;
  readonly leaseExpiresAtMs: number;
  readonly cycle: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly runner: RunnerPlan | null;
}

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
