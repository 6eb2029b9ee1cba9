import { v } from "convex/values";

import { DAY_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import { internalMutation, type QueryCtx } from "./_generated/server";
import { Removal, removeEngineRoomRun, removeLabRun } from "./labRemoval";

/** Which runs of the labs are removed: those that nobody looks back at any more. */

/** A run is kept for this long, and the newest ones of each lab are kept at any rate. */
const KEPT_MS = 30 * DAY_MS;
const NEWEST_KEPT = 20;
/** One batch removes a run, or a part of a large one. With more to do the next hour goes on. */
const BATCHES_MAX = 200;

/** Of runs of the Engine Room no more than these are kept, however young they are. */
const ENGINE_ROOM_RUNS_KEPT = 50;
/** Each run adds one; two at a time also catch up with what was left behind. */
const ENGINE_ROOM_RUNS_REMOVED_AT_ONCE = 2;

/** Every hour: removes the oldest run of each lab when it is due, and comes back at once while there was one. */
export const run = internalMutation({
  args: { batchesLeft: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { batchesLeft = BATCHES_MAX }) => {
    const nowMs = Date.now();
    const removal = new Removal(ctx);
    const labRun = await oldestDue(ctx, "labRuns", nowMs);
    if (labRun !== null) await removeLabRun(removal, labRun);
    const roomRun = await oldestDue(ctx, "engineRoomRuns", nowMs);
    if (roomRun !== null) await removeEngineRoomRun(removal, roomRun);
    if ((labRun !== null || roomRun !== null) && batchesLeft > 1) {
      await ctx.scheduler.runAfter(0, internal.labPurge.run, { batchesLeft: batchesLeft - 1 });
    }
    return null;
  },
});

async function oldestDue<Table extends "labRuns" | "engineRoomRuns">(
  ctx: Pick<QueryCtx, "db">,
  table: Table,
  nowMs: number,
): Promise<Doc<Table> | null> {
  const oldest = await ctx.db.query(table).first();
  if (oldest === null || nowMs - oldest.startedAtMs < KEPT_MS) return null;
  const newest = await ctx.db.query(table).order("desc").take(NEWEST_KEPT);
  return newest.some(({ _id }) => _id === oldest._id) ? null : oldest;
}

/** After each run, by itself: it reads all runs, so it would get in the way of those that are going on. */
export const removeSurplus = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const newest = await ctx.db
      .query("engineRoomRuns")
      .order("desc")
      .take(ENGINE_ROOM_RUNS_KEPT + ENGINE_ROOM_RUNS_REMOVED_AT_ONCE);
    for (const run of newest.slice(ENGINE_ROOM_RUNS_KEPT)) await removeEngineRoomRun(new Removal(ctx), run);
    return null;
  },
});
