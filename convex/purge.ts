import { v } from "convex/values";

import { DAY_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import { internalMutation } from "./_generated/server";

/** Refusals are for looking back at, not for the books: a month of them is kept. */
const REFUSALS_KEPT_MS = 30 * DAY_MS;
/** Half of the ranges that one function may read, since each delete reads what it deletes. */
const REFUSALS_BATCH = 2_000;

/** Deletes a batch of old refusals, and comes back at once while batches are full. */
export const refusals = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    const old = await ctx.db
      .query("refusals")
      .withIndex("by_at", (q) => q.lt("atMs", Date.now() - REFUSALS_KEPT_MS))
      .take(REFUSALS_BATCH);
    for (const refusal of old) await ctx.db.delete(refusal._id);
    if (old.length === REFUSALS_BATCH) await ctx.scheduler.runAfter(0, internal.purge.refusals, {});
    return null;
  },
});
