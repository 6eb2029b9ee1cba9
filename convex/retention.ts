import { type Infer, v } from "convex/values";

import { DONE_STATUSES } from "../lib/inbox/forget";
import { RETENTION } from "../lib/retention/rules";
import { internal } from "./_generated/api";
import { type ActionCtx, internalMutation, type MutationCtx } from "./_generated/server";
import { internalAction } from "./patience";
import { withRun } from "./runs";

/**
 * Removes what lib/retention keeps for a time only, every hour. Each batch is one transaction over one index range, the
 * oldest rows first. Events are removed by retentionEvents.ts, runs of the labs by labPurge.ts.
 */

/** Under half of the ranges that one function may read, since each delete reads what it deletes. */
const ROWS_AT_ONCE = 1_500;
/** A run is over within seconds; what is left then goes on in one of its own. */
const BATCHES_MAX = 20;

const sweepValidator = v.union(
  v.literal("refusals"),
  v.literal("receipts"),
  v.literal("sentAlerts"),
  v.literal("givenUpAlerts"),
  v.literal("evidence"),
);
type Sweep = Infer<typeof sweepValidator>;
const SWEEPS: readonly Sweep[] = ["refusals", "receipts", "sentAlerts", "givenUpAlerts", "evidence"];

/** By cron, and by itself while there is more than one run takes. */
export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await withRun(ctx, "retention", () => removeAll(ctx));
    return null;
  },
});

async function removeAll(ctx: ActionCtx): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let batchesLeft = BATCHES_MAX;
  const goOn = async (name: string, batch: () => Promise<{ removed: number; isLast: boolean }>) => {
    counts[name] ??= 0;
    for (let isLast = false; !isLast && batchesLeft > 0; batchesLeft -= 1) {
      const done = await batch();
      counts[name] += done.removed;
      ({ isLast } = done);
    }
  };
  for (const sweep of SWEEPS) {
    await goOn(sweep, () => ctx.runMutation(internal.retention.removeRows, { sweep }));
  }
  for (const status of DONE_STATUSES) {
    let afterMs = 0;
    await goOn(`${status}Events`, async () => {
      const done: { removed: number; isLast: boolean; afterMs: number } = await ctx.runMutation(
        internal.retentionEvents.removeDone,
        { status, afterMs },
      );
      ({ afterMs } = done);
      return done;
    });
  }
  if (batchesLeft === 0) await ctx.scheduler.runAfter(0, internal.retention.run, {});
  return counts;
}

/** One batch. Full ones are not the last. */
export const removeRows = internalMutation({
  args: { sweep: sweepValidator },
  returns: v.object({ removed: v.number(), isLast: v.boolean() }),
  handler: async (ctx, { sweep }) => {
    const rows = await oldRows(ctx, sweep, Date.now());
    for (const { _id: id } of rows) await ctx.db.delete(id);
    return { removed: rows.length, isLast: rows.length < ROWS_AT_ONCE };
  },
});

function oldRows({ db }: Pick<MutationCtx, "db">, sweep: Sweep, nowMs: number) {
  switch (sweep) {
    case "refusals":
      return db
        .query("refusals")
        .withIndex("by_at", (q) => q.lt("atMs", nowMs - RETENTION.refusals.keptMs))
        .take(ROWS_AT_ONCE);
    case "receipts":
      return db
        .query("receipts")
        .withIndex("by_at", (q) => q.lt("atMs", nowMs - RETENTION.receipts.keptMs))
        .take(ROWS_AT_ONCE);
    case "sentAlerts":
    case "givenUpAlerts": {
      const status = sweep === "sentAlerts" ? "sent" : "given_up";
      return db
        .query("alerts")
        .withIndex("by_status", (q) =>
          q.eq("status", status).lt("_creationTime", nowMs - RETENTION.alerts.keptMs),
        )
        .take(ROWS_AT_ONCE);
    }
    case "evidence":
      return db
        .query("evidence")
        .withIndex("by_superseded", (q) =>
          q.gte("supersededAtMs", 0).lt("supersededAtMs", nowMs - RETENTION.evidence.keptMs),
        )
        .take(ROWS_AT_ONCE);
  }
}
