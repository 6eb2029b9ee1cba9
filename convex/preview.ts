import { previewAdmission } from "../lib/gate/admit";
import { budgetAfterExpiry, EXPIRE_BATCH_MAX } from "../lib/gate/expire";
import type { AdmissionRequest } from "../lib/gate/request";
import { FEATURE_TOKENS, NOTHING_YET } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import type { Doc } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { withEarliestLease } from "./refusalRows";
import { findBilling, findBudget, findLapsedJobs, findLimit } from "./rows";
import { findBlock } from "./settings";

/** What an admission would answer, without a write: ended leases are settled on paper only. */
export async function previewJob(
  ctx: QueryCtx,
  account: Doc<"accounts">,
  request: AdmissionRequest,
  nowMs: number,
) {
  const block = await findBlock(ctx, account, nowMs);
  if (block !== null) return { decision: null, budget: NOTHING_YET, refusal: block };
  const cycle = cycleAt(account.cycleAnchorMs, nowMs);
  const lapsed = await findLapsedJobs(ctx, account._id, nowMs, EXPIRE_BATCH_MAX);
  const budgetRow = await findBudget(ctx, account._id, FEATURE_TOKENS, cycle.name);
  const budget = budgetAfterExpiry(budgetRow ?? NOTHING_YET, cycle.name, lapsed, nowMs);
  const decision = previewAdmission(request, {
    nowMs,
    cycle,
    provider: account.provider,
    rate: await findBilling(ctx, account._id),
    limit: await findLimit(ctx, account._id),
    budget,
  });
  if (decision.kind !== "refused") return { decision, budget, refusal: null };
  const refusal = await withEarliestLease(ctx, account._id, cycle.name, nowMs, decision.refusal);
  return { decision, budget, refusal };
}
