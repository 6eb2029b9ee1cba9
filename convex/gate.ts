import { v } from "convex/values";

import { estimateKinds, ESTIMATE_JOBS_MAX, ESTIMATE_SPAN_MS } from "../lib/gate/estimates";
import { viewJob } from "../lib/gate/job-view";
import { usableLimit } from "../lib/gate/limit-cache";
import { limitStateOf } from "../lib/gate/limit-state";
import { parseRequest } from "../lib/gate/request";
import { freeUnitsOf } from "../lib/gate/room";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import { checkUnits } from "../lib/shared/units";
import { previewJob } from "./preview";
import { accountMutation, accountQuery, refuse } from "./functions";
import * as calls from "./gateCalls";
import { findBudget, findJobsThatTellCost, findLimit, findOwnJob, nextCursor, runningJobs } from "./rows";
import {
  afterArgs,
  jobStatusValidator,
  jobViewValidator,
  limitStateValidator,
  limitViewValidator,
  refusalValidator,
  requestArgs,
} from "./validators";

/** The gate as an account sees it: arguments and identity here, rules in lib/gate, writes beside this file. */

/** A listing with a filter looks through this many rows at most before it hands back what it has and a cursor. */
const LIST_ROWS_READ_MAX = 1_000;
const LIST_LIMIT_MAX = 100;

const WRITES = { scope: "jobs:write" } as const;

export const admit = accountMutation({
  ...WRITES,
  args: calls.admitArgs,
  returns: calls.admitReturns,
  handler: (ctx, args) => calls.admit(ctx, ctx.principal.account, args, Date.now()),
});

export const preview = accountQuery({
  scope: "jobs:read",
  args: { ...requestArgs, key: v.optional(v.string()), nowMs: v.optional(v.number()) },
  returns: v.union(
    v.object({
      kind: v.literal("would_admit"),
      requestedUnits: v.number(),
      heldUnits: v.number(),
      usedUnits: v.number(),
      freeUnits: v.union(v.number(), v.null()),
      limit: limitViewValidator,
    }),
    v.object({ kind: v.literal("would_refuse"), refusal: refusalValidator }),
    v.object({ kind: v.literal("refresh_needed") }),
  ),
  handler: async (ctx, { nowMs, key, ...args }) => {
    // A preview consumes no key, so which one it would be makes no difference to the answer.
    const request = parseRequest({ ...args, key: key ?? "preview" });
    if ("code" in request) return { kind: "would_refuse" as const, refusal: request };
    const { decision, budget, refusal } = await previewJob(
      ctx,
      ctx.principal.account,
      request,
      nowMs ?? Date.now(),
    );
    if (refusal !== null) return { kind: "would_refuse" as const, refusal };
    if (decision?.kind !== "admit") return { kind: "refresh_needed" as const };
    return {
      kind: "would_admit" as const,
      requestedUnits: request.units,
      heldUnits: decision.job.heldUnits,
      usedUnits: budget.usedUnits,
      freeUnits: freeUnitsOf(decision.limit.limitUnits, budget),
      limit: decision.limit,
    };
  },
});

export const charge = accountMutation({
  ...WRITES,
  args: calls.chargeArgs,
  returns: calls.chargeReturns,
  handler: (ctx, args) => calls.charge(ctx, ctx.principal.account, args, Date.now()),
});

export const heartbeat = accountMutation({
  ...WRITES,
  args: calls.heartbeatArgs,
  returns: calls.heartbeatReturns,
  handler: (ctx, args) => calls.heartbeat(ctx, ctx.principal.account, args, Date.now()),
});

export const extend = accountMutation({
  ...WRITES,
  args: calls.extendArgs,
  returns: calls.extendReturns,
  handler: (ctx, args) => calls.extend(ctx, ctx.principal.account, args, Date.now()),
});

export const settle = accountMutation({
  ...WRITES,
  args: calls.settleArgs,
  returns: calls.settleReturns,
  handler: (ctx, args) => calls.settle(ctx, ctx.principal.account, args, Date.now()),
});

export const getJob = accountQuery({
  scope: "jobs:read",
  args: { jobId: v.string() },
  returns: v.union(jobViewValidator, v.null()),
  handler: async (ctx, { jobId }) => {
    const job = await findOwnJob(ctx, ctx.principal.accountId, jobId);
    return job === null ? null : viewJob(job._id, job);
  },
});

/** Newest first; with a status, by lease end, latest first. A page may be short and still have a cursor. */
export const listJobs = accountQuery({
  scope: "jobs:read",
  args: {
    status: v.optional(jobStatusValidator),
    kind: v.optional(v.string()),
    cursor: v.union(v.string(), v.null()),
    limit: v.number(),
  },
  returns: v.object({ jobs: v.array(jobViewValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { status, kind, cursor, limit }) => {
    if (checkUnits("limit", limit, { minimum: 1, maximum: LIST_LIMIT_MAX }) !== null) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const { accountId } = ctx.principal;
    const jobs = ctx.db.query("jobs");
    const ordered =
      status === undefined
        ? jobs.withIndex("by_account", (q) => q.eq("accountId", accountId)).order("desc")
        : jobs
            .withIndex("by_account_status_lease", (q) => q.eq("accountId", accountId).eq("status", status))
            .order("desc");
    const filtered = kind === undefined ? ordered : ordered.filter((q) => q.eq(q.field("kind"), kind));
    const page = await filtered.paginate({ numItems: limit, cursor, maximumRowsRead: LIST_ROWS_READ_MAX });
    return {
      jobs: page.page.map((job) => viewJob(job._id, job)),
      cursor: nextCursor(page),
    };
  },
});

export const usage = accountQuery({
  scope: "usage:read",
  args: { nowMs: v.optional(v.number()), ...afterArgs },
  returns: v.object({
    accountId: v.string(),
    feature: v.string(),
    cycle: v.object({ name: v.string(), startMs: v.number(), endMs: v.number() }),
    usedUnits: v.number(),
    heldUnits: v.number(),
    limitState: limitStateValidator,
    limit: v.union(limitViewValidator, v.null()),
    limitAgeMs: v.union(v.number(), v.null()),
    freeUnits: v.union(v.number(), v.null()),
    /** The 100 whose lease ends first. */
    running: v.array(jobViewValidator),
  }),
  handler: async (ctx, args) => {
    const { accountId, account } = ctx.principal;
    const nowMs = args.nowMs ?? Date.now();
    const cycle = cycleAt(account.cycleAnchorMs, nowMs);
    const row = await findBudget(ctx, accountId, FEATURE_TOKENS, cycle.name);
    const limitRow = await findLimit(ctx, accountId);
    const limit = limitRow === null ? null : usableLimit(limitRow, nowMs);
    const running = await runningJobs(ctx, accountId);
    const budget = { usedUnits: row?.usedUnits ?? 0, heldUnits: row?.heldUnits ?? 0 };
    return {
      accountId,
      feature: FEATURE_TOKENS,
      cycle: { name: cycle.name, startMs: cycle.startMs, endMs: cycle.endMs },
      ...budget,
      limitState: limitStateOf(limit),
      limit,
      limitAgeMs: limit === null ? null : nowMs - limit.readAtMs,
      freeUnits: limit === null ? null : freeUnitsOf(limit.limitUnits, budget),
      running,
    };
  },
});

export const estimates = accountQuery({
  scope: "jobs:read",
  args: { kind: v.optional(v.string()), nowMs: v.optional(v.number()) },
  returns: v.object({
    kinds: v.array(
      v.object({
        kind: v.string(),
        jobs: v.number(),
        p50UsedUnits: v.number(),
        p90UsedUnits: v.number(),
        p99UsedUnits: v.number(),
        p50UsedShare: v.number(),
        p90UsedShare: v.number(),
        cappedShare: v.number(),
        lockedUnits: v.number(),
        suggestedUnits: v.number(),
      }),
    ),
  }),
  handler: async (ctx, { kind, nowMs }) => {
    const sinceMs = (nowMs ?? Date.now()) - ESTIMATE_SPAN_MS;
    const newest = await findJobsThatTellCost(ctx, ctx.principal.accountId, sinceMs, ESTIMATE_JOBS_MAX);
    const wanted = kind === undefined ? newest : newest.filter((job) => job.kind === kind);
    return { kinds: estimateKinds(wanted) };
  },
});
