import { decideExpire, EXPIRE_BATCH_MAX } from "../lib/gate/expire";
import { decideSettle, type SettleDecision } from "../lib/gate/settle";
import type { EndedStatus } from "../lib/gate/types";
import { must } from "../lib/shared/assert";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { recordEntries } from "./ledger";
import { openReview } from "./reviews";
import { findBudget, findLapsedJobs } from "./rows";

/** How a job ends: the one writer of ended jobs, of returned holds and of ledger entries for tokens. */

/** A job could not be ended because its rows contradict each other. A fault of ours, so it is thrown to callers. */
export class BrokenJobError extends Error {
  override readonly name = "BrokenJobError";
}

/**
 * Ends a running job and returns it as it is then stored. `charged` are fields that a charge of the same transaction
 * changed and nobody has written yet.
 */
export async function endJob(
  ctx: MutationCtx,
  job: Doc<"jobs">,
  end: { status: EndedStatus; reportedUnits: number; nowMs: number },
  charged: Partial<Doc<"jobs">> = {},
): Promise<Doc<"jobs">> {
  const budget = await findBudget(ctx, job.accountId, job.feature, job.cycle);
  const current = { ...job, ...charged };
  const decision = decideSettle(current, budget, end);
  if (decision.kind === "broken") throw new BrokenJobError(`job ${job._id}: ${decision.reason}`);
  return await writeEnd(ctx, current, must(budget, "a settled job has a budget")._id, decision, charged);
}

/** Ends a job whose lease is over. Null when it is not, "broken" when its rows contradict each other. */
export async function expireJob(
  ctx: MutationCtx,
  job: Doc<"jobs">,
  nowMs: number,
): Promise<Doc<"jobs"> | "broken" | null> {
  const budget = await findBudget(ctx, job.accountId, job.feature, job.cycle);
  const decision = decideExpire(job, budget, nowMs);
  if (decision === null) return null;
  if (decision.kind === "broken" || budget === null) {
    const reason = decision.kind === "broken" ? decision.reason : "no budget row";
    await openReview(ctx, {
      kind: "broken_job",
      subject: job._id,
      accountId: job.accountId,
      detail: reason,
      nowMs,
    });
    return "broken";
  }
  return await writeEnd(ctx, job, budget._id, decision, {});
}

/** Settles ended leases of an account, so that they do not count as held. Returns how many gave their hold back. */
export async function expireLapsedJobs(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  nowMs: number,
): Promise<number> {
  let expired = 0;
  for (const job of await findLapsedJobs(ctx, accountId, nowMs, EXPIRE_BATCH_MAX)) {
    const ended = await expireJob(ctx, job, nowMs);
    if (ended !== null && ended !== "broken") expired += 1;
  }
  return expired;
}

async function writeEnd(
  ctx: MutationCtx,
  job: Doc<"jobs">,
  budgetId: Id<"budgets">,
  decision: Extract<SettleDecision, { kind: "ended" }>,
  charged: Partial<Doc<"jobs">>,
): Promise<Doc<"jobs">> {
  const patch = { ...charged, ...decision.end, runnerStepId: null };
  await ctx.db.patch(job._id, patch);
  await ctx.db.patch(budgetId, decision.budget);
  if (decision.entryUnits > 0) {
    const account = must(await ctx.db.get(job.accountId), `account of job ${job._id} is missing`);
    const entry = {
      key: job._id,
      units: decision.entryUnits,
      atMs: decision.end.endedAtMs,
      origin: { kind: "job" as const, jobId: job._id },
      budgetCycle: job.cycle,
    };
    await recordEntries(ctx, account, job.feature, [entry], decision.end.endedAtMs);
  }
  return { ...job, ...patch };
}
