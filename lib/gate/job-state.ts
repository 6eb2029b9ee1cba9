import { leaseHasEnded } from "./lease.ts";
import type { Job, JobStatus } from "./types.ts";

/**
 * Where a job stands for the purpose of an event. `live` and `lapsed` are both stored as "running": a lease ends at
 * its instant, and whether the sweeper has been by makes no difference to any answer.
 */
export type JobPhase = "live" | "lapsed" | Exclude<JobStatus, "running">;

export type JobEvent = "charge" | "heartbeat" | "takeOver" | "extend" | "settle" | "kill" | "sweep";

export type JobReaction =
  /** The event does its work. */
  | "apply"
  /** The lease is over: end the job as expired at its recorded use, then answer as `afterExpiry` says. */
  | "expire"
  /** Nothing is written; the answer is that the lease was lost. */
  | "lease_lost"
  /** Nothing is written; the answer shows the job as it ended. */
  | "stored_outcome"
  /** Nothing is written and nobody waits for an answer. */
  | "ignore";

/** Every phase with every event. A phase or event that is added without its answers does not compile. */
const REACTIONS: Record<JobPhase, Record<JobEvent, JobReaction>> = {
  live: {
    charge: "apply",
    heartbeat: "apply",
    takeOver: "apply",
    extend: "apply",
    settle: "apply",
    kill: "apply",
    sweep: "ignore",
  },
  lapsed: {
    charge: "expire",
    heartbeat: "expire",
    takeOver: "expire",
    extend: "expire",
    settle: "expire",
    kill: "expire",
    sweep: "expire",
  },
  // A worker that comes back after its lease hears the same whether or not the sweeper was faster.
  expired: {
    charge: "lease_lost",
    heartbeat: "lease_lost",
    takeOver: "lease_lost",
    extend: "lease_lost",
    settle: "stored_outcome",
    kill: "stored_outcome",
    sweep: "ignore",
  },
  completed: endedReactions(),
  failed: endedReactions(),
  cancelled: endedReactions(),
  capped: endedReactions(),
};

export function phaseOf(job: Pick<Job, "status" | "leaseExpiresAtMs">, nowMs: number): JobPhase {
  if (job.status !== "running") return job.status;
  return leaseHasEnded(job, nowMs) ? "lapsed" : "live";
}

export function reactionTo(phase: JobPhase, event: JobEvent): JobReaction {
  return REACTIONS[phase][event];
}

function endedReactions(): Record<JobEvent, JobReaction> {
  return {
    charge: "stored_outcome",
    heartbeat: "stored_outcome",
    takeOver: "stored_outcome",
    extend: "stored_outcome",
    settle: "stored_outcome",
    kill: "stored_outcome",
    sweep: "ignore",
  };
}
