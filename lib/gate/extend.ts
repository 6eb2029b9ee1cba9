import { addUnits } from "../shared/units.ts";
import { refuseRoom, type HeldRefusal } from "./admit.ts";
import { phaseOf, reactionTo } from "./job-state.ts";
import { emptyLimitRow, grantRefresh, judgeLimit, type LimitRow } from "./limit-cache.ts";
import { decideRoom, placeHold } from "./room.ts";
import type { Budget, Job, ProviderName, Refusal } from "./types.ts";

/** Whether the job may ask for more at all, judged before anything else is read. */
export type ExtendPermission = "apply" | "expire" | "lease_lost" | "not_running";

export interface ExtendState {
  readonly nowMs: number;
  readonly provider: ProviderName;
  readonly limit: LimitRow | null;
  /** The budget of the cycle that admitted the job: its hold lives there to the end. */
  readonly budget: Budget;
  readonly nextCycleStartMs: number;
}

export type ExtendDecision =
  | { readonly kind: "extend"; readonly heldUnits: number; readonly budget: Budget }
  | { readonly kind: "refresh"; readonly row: LimitRow }
  | { readonly kind: "pending"; readonly retryAfterMs: number }
  | { readonly kind: "refused"; readonly refusal: Refusal | HeldRefusal };

export function permitExtend(job: Job, fence: number, nowMs: number): ExtendPermission {
  const reaction = reactionTo(phaseOf(job, nowMs), "extend");
  if (reaction === "expire") return "expire";
  if (reaction === "stored_outcome") return "not_running";
  return reaction === "lease_lost" || fence !== job.fence ? "lease_lost" : "apply";
}

/**
 * Adds `units` to the hold of a running job, in the same check-and-hold as an admission: the whole of it or nothing,
 * and never past the limit. It does not renew the lease and does not count as a new job.
 */
export function decideExtend(job: Job, units: number, state: ExtendState): ExtendDecision {
  const judged = judgeLimit(state.limit, state.nowMs);
  if (judged.kind === "refresh") {
    return { kind: "refresh", row: grantRefresh(state.limit ?? emptyLimitRow(state.provider), state.nowMs) };
  }
  if (judged.kind === "pending") return judged;
  if (judged.kind === "unknown") return { kind: "refused", refusal: judged.refusal };

  const { limitUnits } = judged.limit;
  const { budget } = state;
  const room = decideRoom({ limitUnits, budget, requestedUnits: units, acceptUnits: null });
  if (room.kind !== "room") {
    return { kind: "refused", refusal: refuseRoom(room, units, limitUnits, budget, state.nextCycleStartMs) };
  }
  return {
    kind: "extend",
    heldUnits: addUnits(job.heldUnits, units),
    budget: placeHold(budget, units, limitUnits),
  };
}
