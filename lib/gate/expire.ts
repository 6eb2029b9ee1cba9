import { leaseHasEnded } from "./lease.ts";
import { decideSettle, type SettleDecision } from "./settle.ts";
import type { Budget, Job } from "./types.ts";

/** Most ended leases that one admission settles on its way, and most jobs in one transaction of the sweeper. */
export const EXPIRE_BATCH_MAX = 50;

/** Ends a job whose lease is over, at its recorded use. Null when there is nothing to do: not running, or still live. */
export function decideExpire(job: Job, budget: Budget | null, nowMs: number): SettleDecision | null {
  if (job.status !== "running" || !leaseHasEnded(job, nowMs)) return null;
  return decideSettle(job, budget, { status: "expired", reportedUnits: 0, nowMs });
}

/**
 * The budget of one cycle as it will be once the given ended leases are settled. For a preview, which may not write.
 * Jobs of other cycles and damaged ones leave it as it is, exactly as settling them would.
 */
export function budgetAfterExpiry(
  budget: Budget,
  cycle: string,
  jobs: readonly Job[],
  nowMs: number,
): Budget {
  return jobs
    .filter((job) => job.cycle === cycle)
    .reduce<Budget>((after, job) => {
      const decision = decideExpire(job, after, nowMs);
      return decision?.kind === "ended" ? decision.budget : after;
    }, budget);
}
