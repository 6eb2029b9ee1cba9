import { decideExtend, permitExtend } from "../lib/gate/extend";
import { type JobView, viewJob } from "../lib/gate/job-view";
import type { Refusal } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import { must } from "../lib/shared/assert";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { expireLapsedJobs } from "./jobEnds";
import { expireNow } from "./jobEvents";
import { grantRefreshLease, type RefreshAnswer } from "./refreshLease";
import { withEarliestLease } from "./refusalRows";
import { findBudget, findLimit } from "./rows";

export type ExtendAnswer =
  | { kind: "extended"; job: JobView }
  | { kind: "lease_lost"; job: JobView }
  | { kind: "not_running"; job: JobView }
  | { kind: "refused"; refusal: Refusal }
  | RefreshAnswer;

/** More hold for a running job, under the same check as an admission. */
export async function extendJob(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  job: Doc<"jobs">,
  request: { units: number; fence: number },
  nowMs: number,
): Promise<ExtendAnswer> {
  const permission = permitExtend(job, request.fence, nowMs);
  if (permission === "expire") {
    return { kind: "lease_lost", job: viewJob(job._id, await expireNow(ctx, job, nowMs)) };
  }
  if (permission !== "apply") return { kind: permission, job: viewJob(job._id, job) };

  const limitRow = await findLimit(ctx, account._id, job.feature);
  const readBudget = async () =>
    must(
      await findBudget(ctx, account._id, job.feature, job.cycle),
      `job ${job._id} has no budget row for cycle ${job.cycle}`,
    );
  let budgetRow = await readBudget();
  const decide = () =>
    decideExtend(job, request.units, {
      nowMs,
      provider: account.provider,
      limit: limitRow,
      budget: budgetRow,
      nextCycleStartMs: cycleAt(account.cycleAnchorMs, nowMs).endMs,
    });
  let decision = decide();
  if (decision.kind === "refused" && (await expireLapsedJobs(ctx, account._id, nowMs)) > 0) {
    budgetRow = await readBudget();
    decision = decide();
  }
  switch (decision.kind) {
    case "refresh":
      return await grantRefreshLease(ctx, account._id, limitRow, decision.row);
    case "pending":
      return { kind: "refresh_pending", retryAfterMs: decision.retryAfterMs };
    case "refused":
      return {
        kind: "refused",
        refusal: await withEarliestLease(ctx, account._id, job.cycle, nowMs, decision.refusal),
      };
    case "extend": {
      await ctx.db.patch(job._id, { heldUnits: decision.heldUnits });
      await ctx.db.patch(budgetRow._id, decision.budget);
      return { kind: "extended", job: viewJob(job._id, { ...job, heldUnits: decision.heldUnits }) };
    }
  }
}
