import { v } from "convex/values";

import { isLostConflict } from "../lib/gate/conflict-retry";
import { EXPIRE_BATCH_MAX } from "../lib/gate/expire";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery } from "./_generated/server";
import { expireJob } from "./jobEnds";
import { internalAction } from "./patience";
import { openReview } from "./reviews";
import { nextCursor } from "./rows";
import { withRun } from "./runs";

/**
 * Ends running jobs whose lease is over, so that the hold of a dead worker comes back. It goes once through what was
 * due when it started and stops: a row that cannot be ended is put before a person and passed, not tried again in
 * the same sweep, and the next sweep is the cron's to start. A row that others kept changing is no broken one: it is
 * left to the next sweep, and this one has failed, when it has been through all the others.
 */

/** Ten thousand jobs a sweep. More than that waits fifteen seconds for the next one. */
const BATCHES_MAX = 200;

export interface SweepCounts extends Record<string, number> {
  readonly expired: number;
  readonly batches: number;
  readonly broken: number;
}

export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await sweep(ctx);
    return null;
  },
});

/** One sweep. Two at once are harmless: each job is judged again in the transaction that ends it. */
export function sweep(ctx: ActionCtx): Promise<SweepCounts> {
  return withRun(ctx, "sweeper", async () => {
    const dueAtMs = Date.now();
    let counts: SweepCounts = { expired: 0, batches: 0, broken: 0 };
    const conflicts: unknown[] = [];
    let cursor: string | null = null;
    while (counts.batches < BATCHES_MAX) {
      const page: DuePage = await ctx.runQuery(internal.sweeper.listDue, { dueAtMs, cursor });
      if (page.jobIds.length > 0) {
        const { expired, broken } = await expireBatch(ctx, page.jobIds, conflicts);
        counts = {
          expired: counts.expired + expired,
          batches: counts.batches + 1,
          broken: counts.broken + broken,
        };
      }
      if (page.cursor === null) break;
      cursor = page.cursor;
    }
    for (const conflict of conflicts) throw conflict;
    return counts;
  });
}

interface DuePage {
  jobIds: Id<"jobs">[];
  cursor: string | null;
}

interface BatchCounts {
  expired: number;
  broken: number;
}

/** One transaction for the batch; when that throws, one for each job, so that only the one at fault stays behind. */
async function expireBatch(ctx: ActionCtx, jobIds: Id<"jobs">[], conflicts: unknown[]): Promise<BatchCounts> {
  try {
    return await ctx.runMutation(internal.sweeper.expireJobs, { jobIds });
  } catch {
    const counts: BatchCounts = { expired: 0, broken: 0 };
    for (const jobId of jobIds) {
      const one = await expireOne(ctx, jobId, conflicts);
      counts.expired += one.expired;
      counts.broken += one.broken;
    }
    return counts;
  }
}

async function expireOne(ctx: ActionCtx, jobId: Id<"jobs">, conflicts: unknown[]): Promise<BatchCounts> {
  try {
    return await ctx.runMutation(internal.sweeper.expireJobs, { jobIds: [jobId] });
  } catch (error) {
    if (isLostConflict(error)) {
      conflicts.push(error);
      return { expired: 0, broken: 0 };
    }
    const detail = error instanceof Error ? error.message : String(error);
    await ctx.runMutation(internal.sweeper.reportBroken, { jobId, detail });
    return { expired: 0, broken: 1 };
  }
}

export const listDue = internalQuery({
  args: { dueAtMs: v.number(), cursor: v.union(v.string(), v.null()) },
  returns: v.object({ jobIds: v.array(v.id("jobs")), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { dueAtMs, cursor }) => {
    // The cursor stands behind the last row of the page. Ended jobs leave the range, broken ones stay behind it.
    const page = await ctx.db
      .query("jobs")
      .withIndex("by_status_lease", (q) => q.eq("status", "running").lte("leaseExpiresAtMs", dueAtMs))
      .paginate({ numItems: EXPIRE_BATCH_MAX, cursor });
    return { jobIds: page.page.map((job) => job._id), cursor: nextCursor(page) };
  },
});

export const expireJobs = internalMutation({
  args: { jobIds: v.array(v.id("jobs")) },
  returns: v.object({ expired: v.number(), broken: v.number() }),
  handler: async (ctx, { jobIds }) => {
    const nowMs = Date.now();
    const counts = { expired: 0, broken: 0 };
    for (const jobId of jobIds) {
      const job = await ctx.db.get(jobId);
      const ended = job === null ? null : await expireJob(ctx, job, nowMs);
      if (ended === "broken") counts.broken += 1;
      else if (ended !== null) counts.expired += 1;
    }
    return counts;
  },
});

export const reportBroken = internalMutation({
  args: { jobId: v.id("jobs"), detail: v.string() },
  returns: v.null(),
  handler: async (ctx, { jobId, detail }) => {
    const job = await ctx.db.get(jobId);
    const accountId = job?.accountId ?? null;
    await openReview(ctx, { kind: "broken_job", subject: jobId, accountId, detail, nowMs: Date.now() });
    return null;
  },
});
