import { type AdmissionDecision, decideAdmission, decideReplay } from "../lib/gate/admit";
import { type JobView, viewJob } from "../lib/gate/job-view";
import { emptyLimitRow, type LimitRow, usableLimit } from "../lib/gate/limit-cache";
import type { RateWindow } from "../lib/gate/rate";
import type { AdmissionRequest } from "../lib/gate/request";
import { type Budget, FEATURE_TOKENS, type LimitView, NOTHING_YET, type Refusal } from "../lib/gate/types";
import { type Cycle, cycleAt } from "../lib/ledger/cycle";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { expireLapsedJobs } from "./jobEnds";
import { grantRefreshLease, type RefreshAnswer } from "./refreshLease";
import { recordRefusal, withEarliestLease } from "./refusalRows";
import { findBilling, findBudget, findJobByKey, findLimit } from "./rows";
import { findBlock } from "./settings";

/**
 * The check-and-hold transaction: the only place that inserts a job. Whoever starts a job, from a key, the lab or a
 * screen, comes through a desk.
 */

export type AdmitAnswer =
  | { kind: "admitted"; job: JobView; replayed: boolean; limit: LimitView }
  | { kind: "refused"; refusal: Refusal }
  | RefreshAnswer;

/**
 * Where one transaction admits jobs of one account, one after the other. The rows that every admission looks at are read
 * once and written once, by `closeDesk`; whatever else the transaction does with them comes after that.
 */
export interface AdmissionDesk {
  readonly ctx: MutationCtx;
  readonly nowMs: number;
  readonly cycle: Cycle;
  account: Doc<"accounts">;
  /** Null until a key needs them that names no job yet. */
  rows: DeskRows | null;
}

interface DeskRows {
  readonly billing: Doc<"billing"> | null;
  readonly limit: Doc<"limits"> | null;
  readonly stored: Doc<"budgets"> | null;
  /** What this desk has not written yet: budget and rate with the jobs that it has let in. */
  unsaved: { readonly budget: Budget; readonly rate: RateWindow } | null;
}

export function openDesk(ctx: MutationCtx, account: Doc<"accounts">, nowMs: number): AdmissionDesk {
  return { ctx, account, nowMs, cycle: cycleAt(account.cycleAnchorMs, nowMs), rows: null };
}

/** One admission in a transaction of its own. */
export async function admitJob(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  request: AdmissionRequest,
  nowMs: number,
): Promise<AdmitAnswer> {
  const desk = openDesk(ctx, account, nowMs);
  const answer = await admitAt(desk, request);
  await closeDesk(desk);
  return answer;
}

/** Decides one request after those that the desk has let in. What it changes is written by `closeDesk`. */
export async function admitAt(desk: AdmissionDesk, request: AdmissionRequest): Promise<AdmitAnswer> {
  const { ctx, nowMs } = desk;
  const accountId = desk.account._id;
  const existing = await findJobByKey(ctx, accountId, request.key);
  if (existing !== null) {
    const conflict = decideReplay(existing, request);
    if (conflict !== null) return { kind: "refused", refusal: conflict };
    const limit = limitOfReplay(await findLimit(ctx, accountId), existing, nowMs);
    return { kind: "admitted", job: viewJob(existing._id, existing), replayed: true, limit };
  }

  const block = await findBlock(ctx, desk.account, nowMs);
  if (block !== null) {
    await recordRefusal(ctx, accountId, null, request, block, nowMs);
    return { kind: "refused", refusal: block };
  }

  let rows = await readRows(desk);
  let decision = decide(desk, rows, request);
  // Ended leases are looked for when room is short, not before: where all of the request fits beside them, settling
  // them first would change nothing but the cost of an admission.
  if (isShortOfRoom(decision)) {
    await closeDesk(desk);
    if ((await expireLapsedJobs(ctx, accountId, nowMs)) > 0) desk.rows = null;
    rows = await readRows(desk);
    decision = decide(desk, rows, request);
  }

  switch (decision.kind) {
    case "refresh": {
      const answer = await grantRefreshLease(ctx, accountId, rows.limit, decision.row);
      // Whoever comes next at this desk waits for the lease.
      await closeDesk(desk);
      desk.rows = null;
      return answer;
    }
    case "pending":
      return { kind: "refresh_pending", retryAfterMs: decision.retryAfterMs };
    case "refused": {
      await closeDesk(desk);
      const { billing } = await readRows(desk);
      const refusal = await withEarliestLease(ctx, accountId, desk.cycle.name, nowMs, decision.refusal);
      await recordRefusal(ctx, accountId, billing, request, refusal, nowMs);
      if (refusal.code === "rate_limited") desk.rows = null;
      return { kind: "refused", refusal };
    }
    case "admit":
      return await letIn(desk, rows, decision);
  }
}

/** Writes what the admissions of this desk have changed. It may go on afterwards. */
export async function closeDesk(desk: AdmissionDesk): Promise<void> {
  const { ctx, account, nowMs, cycle, rows } = desk;
  if (rows === null || rows.unsaved === null) return;
  const accountId = account._id;
  const { budget, rate } = rows.unsaved;
  await saveBudget(ctx, accountId, cycle.name, rows.stored, budget);
  if (rows.billing === null) {
    await ctx.db.insert("billing", { accountId, ...rate, refusedWindowStartMs: null });
  } else {
    await ctx.db.patch(rows.billing._id, rate);
  }
  if (account.cycleAnchorFrozenAtMs === null) {
    await ctx.db.patch(accountId, { cycleAnchorFrozenAtMs: nowMs });
    desk.account = { ...account, cycleAnchorFrozenAtMs: nowMs };
  }
  desk.rows = null;
}

async function readRows(desk: AdmissionDesk): Promise<DeskRows> {
  if (desk.rows !== null) return desk.rows;
  const { ctx, account, cycle } = desk;
  const billing = await findBilling(ctx, account._id);
  const limit = await findLimit(ctx, account._id);
  const stored = await findBudget(ctx, account._id, FEATURE_TOKENS, cycle.name);
  desk.rows = { billing, limit, stored, unsaved: null };
  return desk.rows;
}

function decide(
  { nowMs, cycle, account }: AdmissionDesk,
  { billing, limit, stored, unsaved }: DeskRows,
  request: AdmissionRequest,
): AdmissionDecision {
  const rate = unsaved?.rate ?? billing;
  const budget = unsaved?.budget ?? stored ?? NOTHING_YET;
  return decideAdmission(request, { nowMs, cycle, provider: account.provider, rate, limit, budget });
}

async function letIn(
  { ctx, account }: AdmissionDesk,
  rows: DeskRows,
  { job, limit, budget, rate }: Extract<AdmissionDecision, { kind: "admit" }>,
): Promise<AdmitAnswer> {
  const jobId = await ctx.db.insert("jobs", { accountId: account._id, ...job, runnerStepId: null });
  rows.unsaved = { budget, rate };
  if (job.runner !== null) {
    const next = { jobId, step: 1, fence: job.fence };
    const runnerStepId = await ctx.scheduler.runAfter(job.runner.stepMs, internal.runner.step, next);
    await ctx.db.patch(jobId, { runnerStepId });
  }
  return { kind: "admitted", job: viewJob(jobId, job), replayed: false, limit };
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
