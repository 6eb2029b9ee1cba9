import { type ChargeRequest, decideCharge } from "../lib/gate/charge";
import { decideHeartbeat } from "../lib/gate/heartbeat";
import { phaseOf, reactionTo } from "../lib/gate/job-state";
import { type JobView, viewJob } from "../lib/gate/job-view";
import type { SettleOutcome } from "../lib/gate/types";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { BrokenJobError, endJob, expireJob } from "./jobEnds";

/** What happens to an admitted job between its start and its end. Callers have found the job and checked the numbers. */

export type ChargeAnswer =
  | { kind: "charged"; job: JobView; chargedUnits: number; capped: boolean; replayed: boolean }
  | { kind: "step_conflict"; job: JobView; expectedStep: number }
  | { kind: "lease_lost"; job: JobView }
  | { kind: "not_running"; job: JobView };

export type HeartbeatAnswer =
  | { kind: "renewed"; job: JobView }
  | { kind: "lease_lost"; job: JobView }
  | { kind: "not_running"; job: JobView };

export type SettleAnswer =
  | { kind: "settled"; job: JobView; replayed: boolean }
  | { kind: "lease_lost"; job: JobView };

export async function chargeJob(
  ctx: MutationCtx,
  job: Doc<"jobs">,
  request: ChargeRequest,
  nowMs: number,
): Promise<ChargeAnswer> {
  const decision = decideCharge(job, request, nowMs);
  switch (decision.kind) {
    case "expire":
      return { kind: "lease_lost", job: view(await expireNow(ctx, job, nowMs)) };
    case "lease_lost":
    case "not_running":
      return { kind: decision.kind, job: view(job) };
    case "step_conflict":
      return { kind: "step_conflict", job: view(job), expectedStep: decision.expectedStep };
    case "replay": {
      const { chargedUnits, capped } = decision;
      return { kind: "charged", job: view(job), chargedUnits, capped, replayed: true };
    }
    case "charge": {
      const { chargedUnits, cappedUnits, patch } = decision;
      if (cappedUnits === 0) {
        await ctx.db.patch(job._id, patch);
        return {
          kind: "charged",
          job: view({ ...job, ...patch }),
          chargedUnits,
          capped: false,
          replayed: false,
        };
      }
      const end = { status: "capped", reportedUnits: patch.usedUnits + cappedUnits, nowMs } as const;
      const ended = await endJob(ctx, job, end, patch);
      return { kind: "charged", job: view(ended), chargedUnits, capped: true, replayed: false };
    }
  }
}

export async function heartbeatJob(
  ctx: MutationCtx,
  job: Doc<"jobs">,
  request: { fence: number; takeOver: boolean },
  nowMs: number,
): Promise<HeartbeatAnswer> {
  const decision = decideHeartbeat(job, request, nowMs);
  if (decision.kind === "expire") return { kind: "lease_lost", job: view(await expireNow(ctx, job, nowMs)) };
  if (decision.kind !== "renew") return { kind: decision.kind, job: view(job) };
  await ctx.db.patch(job._id, decision.patch);
  return { kind: "renewed", job: view({ ...job, ...decision.patch }) };
}

/** Without a fence the owner settles whoever works on the job; with one, only the worker that still has it may. */
export async function settleJob(
  ctx: MutationCtx,
  job: Doc<"jobs">,
  request: { outcome: SettleOutcome; usedUnits: number; fence: number | null },
  nowMs: number,
): Promise<SettleAnswer> {
  const reaction = reactionTo(phaseOf(job, nowMs), "settle");
  if (reaction === "expire") {
    return { kind: "settled", job: view(await expireNow(ctx, job, nowMs)), replayed: true };
  }
  if (reaction !== "apply") return { kind: "settled", job: view(job), replayed: true };
  if (request.fence !== null && request.fence !== job.fence) return { kind: "lease_lost", job: view(job) };
  const end = { status: request.outcome, reportedUnits: request.usedUnits, nowMs };
  return { kind: "settled", job: view(await endJob(ctx, job, end)), replayed: false };
}

/** Ends a job whose lease is over because somebody asked for it. The caller has judged the lease. */
export async function expireNow(ctx: MutationCtx, job: Doc<"jobs">, nowMs: number): Promise<Doc<"jobs">> {
  const ended = await expireJob(ctx, job, nowMs);
  if (ended === null || ended === "broken") throw new BrokenJobError(`job ${job._id} cannot be ended`);
  return ended;
}

function view(job: Doc<"jobs">): JobView {
  return viewJob(job._id, job);
}
