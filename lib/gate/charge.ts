import { addUnits } from "../shared/units.ts";
import { phaseOf, reactionTo } from "./job-state.ts";
import type { Job } from "./types.ts";

export interface ChargeRequest {
  /** 1 for the first step, then one more each time. */
  readonly step: number;
  readonly units: number;
  readonly fence: number;
}

export interface ChargePatch {
  readonly step: number;
  readonly lastStepUnits: number;
  readonly usedUnits: number;
  readonly leaseExpiresAtMs: number;
}

export type ChargeDecision =
  /** `cappedUnits` above zero: the step passed the hold, and the job ends as capped in the same transaction. */
  | {
      readonly kind: "charge";
      readonly chargedUnits: number;
      readonly cappedUnits: number;
      readonly patch: ChargePatch;
    }
  | { readonly kind: "replay"; readonly chargedUnits: number; readonly capped: boolean }
  | { readonly kind: "expire" }
  | { readonly kind: "lease_lost" }
  | { readonly kind: "not_running" }
  | { readonly kind: "step_conflict"; readonly expectedStep: number };

/**
 * Charges one numbered step: min(units, held - used). The step charged last may be sent again and is answered, not
 * charged; an ended lease is judged before that, so that a worker which slept through it always hears `lease_lost`.
 * Every charge renews the lease.
 */
export function decideCharge(job: Job, request: ChargeRequest, nowMs: number): ChargeDecision {
  const reaction = reactionTo(phaseOf(job, nowMs), "charge");
  if (reaction === "expire") return { kind: "expire" };
  if (reaction === "lease_lost" || request.fence !== job.fence) return { kind: "lease_lost" };
  if (request.step === job.step) {
    return { kind: "replay", chargedUnits: job.lastStepUnits, capped: job.status === "capped" };
  }
  if (reaction === "stored_outcome") return { kind: "not_running" };
  if (request.step !== job.step + 1) return { kind: "step_conflict", expectedStep: job.step + 1 };

  const chargedUnits = Math.min(request.units, job.heldUnits - job.usedUnits);
  return {
    kind: "charge",
    chargedUnits,
    cappedUnits: request.units - chargedUnits,
    patch: {
      step: request.step,
      lastStepUnits: chargedUnits,
      usedUnits: addUnits(job.usedUnits, chargedUnits),
      leaseExpiresAtMs: nowMs + job.leaseMs,
    },
  };
}
