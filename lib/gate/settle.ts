import { addUnits, subtractUnits } from "../shared/units.ts";
import type { Budget, EndedStatus, Job } from "./types.ts";

/** The fields of a job that its end changes. */
export interface JobEnd {
  readonly status: EndedStatus;
  readonly usedUnits: number;
  readonly overCapUnits: number;
  readonly endedAtMs: number;
}

export type SettleDecision =
  | {
      readonly kind: "ended";
      readonly end: JobEnd;
      /** The budget of the job's own cycle once the hold has become use. */
      readonly budget: Budget;
      /** Units of the ledger entry; 0 means that there is nothing to book. */
      readonly entryUnits: number;
    }
  /** The stored numbers cannot be right: ending the job would drive the budget below zero. */
  | { readonly kind: "broken"; readonly reason: string };

/**
 * Ends a running job: completed, failed, cancelled, capped and expired are this one step with another outcome.
 * Charged = min(max(used, reported), held), so a report never lowers what was charged and never passes the hold; the
 * excess is recorded in `overCapUnits`. The rest of the hold returns. The limit is not looked at: a limit that fell
 * never stops a job from ending.
 */
export function decideSettle(
  job: Job,
  budget: Budget | null,
  end: { readonly status: EndedStatus; readonly reportedUnits: number; readonly nowMs: number },
): SettleDecision {
  const reason = findDamage(job, budget);
  if (reason !== null || budget === null)
    return { kind: "broken", reason: reason ?? "the budget row is missing" };
  const reported = Math.max(job.usedUnits, end.reportedUnits);
  const usedUnits = Math.min(reported, job.heldUnits);
  const overCapUnits = addUnits(job.overCapUnits, reported - usedUnits);
  return {
    kind: "ended",
    end: { status: end.status, usedUnits, overCapUnits, endedAtMs: end.nowMs },
    budget: {
      usedUnits: addUnits(budget.usedUnits, usedUnits),
      heldUnits: subtractUnits(budget.heldUnits, job.heldUnits),
    },
    entryUnits: usedUnits,
  };
}

/** The checks of the way in, repeated on the way out: rows can be damaged between two transactions. */
function findDamage(job: Job, budget: Budget | null): string | null {
  if (!Number.isSafeInteger(job.heldUnits) || job.heldUnits < 1) return `the hold is ${job.heldUnits} units`;
  if (!Number.isSafeInteger(job.usedUnits) || job.usedUnits < 0) return `the use is ${job.usedUnits} units`;
  if (job.usedUnits > job.heldUnits) return `${job.usedUnits} units used of a hold of ${job.heldUnits}`;
  if (budget === null) return `no budget row for cycle ${job.cycle}`;
  if (!Number.isSafeInteger(budget.usedUnits) || budget.usedUnits < 0)
    return `the budget's use is ${budget.usedUnits}`;
  if (!Number.isSafeInteger(budget.heldUnits) || budget.heldUnits < job.heldUnits) {
    return `the budget holds ${budget.heldUnits} units, the job ${job.heldUnits}`;
  }
  return null;
}
