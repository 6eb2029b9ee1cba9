import {
  type AdmissionDecision,
  decideAdmission,
  decideReplay,
  type HeldRefusal,
  previewAdmission,
} from "../lib/gate/admit";
import { budgetAfterExpiry, EXPIRE_BATCH_MAX } from "../lib/gate/expire";
import { decideExtend, permitExtend } from "../lib/gate/extend";
import { type JobView, viewJob } from "../lib/gate/job-view";
import { emptyLimitRow, type LimitRow, usableLimit } from "../lib/gate/limit-cache";
import { formatRefreshLease } from "../lib/gate/refresh-lease";
import type { AdmissionRequest } from "../lib/gate/request";
import { type Budget, FEATURE_TOKENS, type LimitView, type Refusal } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { expireLapsedJobs } from "./jobEnds";
import { expireNow } from "./jobEvents";
import { findBilling, findBudget, findJobByKey, findLapsedJobs, findLimit } from "./rows";
import { findBlock } from "./settings";

/**
 * The check-and-hold transaction: the only place that inserts a job or raises a hold. Whoever starts a job, from a
 * key, the lab or a screen, comes through `admitJob`.
 */

type RefreshAnswer =
  | { kind: "refresh_needed"; accountId: string; feature: string; refreshLease: string }
  | { kind: "refresh_pending"; retryAfterMs: number };

export type AdmitAnswer =
  | { kind: "admitted"; job: JobView; replayed: boolean; limit: LimitView }
  | { kind: "refused"; refusal: Refusal }
  | RefreshAnswer;

export type ExtendAnswer =
  | { kind: "extended"; job: JobView }
  | { kind: "lease_lost"; job: JobView }
  | { kind: "not_running"; job: JobView }
  | { kind: "refused"; refusal: Refusal }
  | RefreshAnswer;

const NOTHING_YET: Budget = { usedUnits: 0, heldUnits: 0 };

export async function admitJob(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  request: AdmissionRequest,
  nowMs: number,
): Promise<AdmitAnswer> {
  const accountId = account._id;
  const existing = await findJobByKey(ctx, accountId, request.key);
  if (existing !== null) {
    const conflict = decideReplay(existing, request);
    if (conflict !== null) return { kind: "refused", refusal: conflict };
    const limit = limitOfReplay(await findLimit(ctx, accountId), existing, nowMs);
    return { kind: "admitted", job: viewJob(existing._id, existing), replayed: true, limit };
  }

  const block = await findBlock(ctx, account, nowMs);
  if (block !== null) {
    await recordRefusal(ctx, accountId, null, request, block, nowMs);
    return { kind: "refused", refusal: block };
  }

  const cycle = cycleAt(account.cycleAnchorMs, nowMs);
  const billing = await findBilling(ctx, accountId);
  const limitRow = await findLimit(ctx, accountId);
  let budgetRow = await findBudget(ctx, accountId, FEATURE_TOKENS, cycle.name);
  const decide = () =>
    decideAdmission(request, {
      nowMs,
      cycle,
      provider: account.provider,
      rate: billing,
      limit: limitRow,
      budget: budgetRow ?? NOTHING_YET,
    });
  let decision = decide();
  // Ended leases are looked for when room is short, not before: where all of the request fits beside them, settling
  // them first would change nothing but the cost of an admission.
  if (isShortOfRoom(decision) && (await expireLapsedJobs(ctx, accountId, nowMs)) > 0) {
    budgetRow = await findBudget(ctx, accountId, FEATURE_TOKENS, cycle.name);
    decision = decide();
  }

  switch (decision.kind) {
    case "refresh":
      return await grantRefreshLease(ctx, accountId, limitRow, decision.row);
    case "pending":
      return { kind: "refresh_pending", retryAfterMs: decision.retryAfterMs };
    case "refused": {
      const refusal = await withEarliestLease(ctx, accountId, cycle.name, nowMs, decision.refusal);
      await recordRefusal(ctx, accountId, billing, request, refusal, nowMs);
      return { kind: "refused", refusal };
    }
    case "admit": {
      const jobId = await ctx.db.insert("jobs", { accountId, ...decision.job, runnerStepId: null });
      await saveBudget(ctx, accountId, cycle.name, budgetRow, decision.budget);
      if (billing === null) {
        await ctx.db.insert("billing", { accountId, ...decision.rate, refusedWindowStartMs: null });
      } else {
        await ctx.db.patch(billing._id, decision.rate);
      }
      if (account.cycleAnchorFrozenAtMs === null) {
        await ctx.db.patch(accountId, { cycleAnchorFrozenAtMs: nowMs });
      }
      if (decision.job.runner !== null) {
        const next = { jobId, step: 1, fence: decision.job.fence };
        const runnerStepId = await ctx.scheduler.runAfter(
          decision.job.runner.stepMs,
          internal.runner.step,
          next,
        );
        await ctx.db.patch(jobId, { runnerStepId });
      }
      return { kind: "admitted", job: viewJob(jobId, decision.job), replayed: false, limit: decision.limit };
    }
  }
}

/** What `admitJob` would answer, without a write: ended leases are settled on paper only. */
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

/** Refused for want of room, or granted only a part. */
function isShortOfRoom(decision: AdmissionDecision): boolean {
  if (decision.kind === "admit") return decision.job.heldUnits < decision.job.requestedUnits;
  if (decision.kind !== "refused") return false;
  return decision.refusal.code !== "rate_limited" && decision.refusal.code !== "limit_unknown";
}

/** A replayed admission shows the limit as it is known now. A job without a limit row was admitted before a repair. */
function limitOfReplay(row: LimitRow | null, job: Doc<"jobs">, nowMs: number): LimitView {
  const usable = row === null ? null : usableLimit(row, nowMs);
  if (usable !== null) return usable;
  const known = row ?? emptyLimitRow("fixed");
  return {
    limitUnits: known.limitUnits,
    readAtMs: known.readAtMs ?? job.startedAtMs,
    stale: true,
    provider: known.provider,
  };
}

async function grantRefreshLease(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  stored: Doc<"limits"> | null,
  granted: LimitRow,
): Promise<RefreshAnswer> {
  const { refreshFence, refreshLeaseExpiresAtMs } = granted;
  if (stored === null) {
    await ctx.db.insert("limits", { accountId, feature: FEATURE_TOKENS, ...granted });
  } else {
    await ctx.db.patch(stored._id, { refreshFence, refreshLeaseExpiresAtMs });
  }
  return {
    kind: "refresh_needed",
    accountId,
    feature: FEATURE_TOKENS,
    refreshLease: formatRefreshLease(FEATURE_TOKENS, refreshFence),
  };
}

async function saveBudget(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  cycle: string,
  stored: Doc<"budgets"> | null,
  after: Budget,
): Promise<void> {
  if (stored === null)
    await ctx.db.insert("budgets", { accountId, feature: FEATURE_TOKENS, cycle, ...after });
  else await ctx.db.patch(stored._id, after);
}

/** Only a refusal for held room names the earliest lease end, so only it pays for the read. */
async function withEarliestLease(
  ctx: QueryCtx,
  accountId: Id<"accounts">,
  cycle: string,
  nowMs: number,
  refusal: Refusal | HeldRefusal,
): Promise<Refusal> {
  if (refusal.code !== "held_by_running_jobs") return refusal;
  const running = ctx.db
    .query("jobs")
    .withIndex("by_account_status_lease", (q) =>
      q.eq("accountId", accountId).eq("status", "running").gt("leaseExpiresAtMs", nowMs),
    );
  // Jobs of the cycle before may come first; they hold nothing of this one. Past fifty of them the bound is taken.
  const first = await running.take(EXPIRE_BATCH_MAX);
  const earliest = first.find((job) => job.cycle === cycle) ?? first[0];
  return { ...refusal, earliestLeaseExpiresAtMs: earliest?.leaseExpiresAtMs ?? nowMs };
}

/**
 * Keeps the numbers of a refusal. A flood of one kind cannot fill the disk quickly: rate refusals are kept once a
 * window, and a number or key that no state of the account could accept is not kept at all.
 */
async function recordRefusal(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  billing: Doc<"billing"> | null,
  request: AdmissionRequest,
  refusal: Refusal,
  nowMs: number,
): Promise<void> {
  if (refusal.code === "out_of_range" || refusal.code === "key_conflict") return;
  if (refusal.code === "rate_limited" && billing !== null) {
    if (billing.refusedWindowStartMs === billing.windowStartMs) return;
    await ctx.db.patch(billing._id, { refusedWindowStartMs: billing.windowStartMs });
  }
  const { key, kind, units: requestedUnits } = request;
  await ctx.db.insert("refusals", { accountId, key, kind, requestedUnits, refusal, atMs: nowMs });
}
