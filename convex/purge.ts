import { v } from "convex/values";

import { DAY_MS } from "../lib/shared/durations";
import { internalMutation } from "./_generated/server";

/** Refusals are for looking back at, not for the books: a month of them is kept. */
const REFUSALS_KEPT_MS = 30 * DAY_MS;
/** A quarter of what one transaction may write; at one run an hour it outpaces any honest rate of refusals. */
const REFUSALS_BATCH = 4_000;

export const refusals = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const old = await ctx.db
      .query("refusals")
      .withIndex("by_at", (q) => q.lt("atMs", Date.now() - REFUSALS_KEPT_MS))
      .take(REFUSALS_BATCH);
    for (const refusal of old) await ctx.db.delete(refusal._id);
    return null;
  },
});
