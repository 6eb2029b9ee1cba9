import { v } from "convex/values";

import { FEATURE_TOKENS } from "../lib/gate/types";
import { DAY_MS } from "../lib/shared/durations";
import { accountQuery } from "./functions";

/** Usage over a cycle, for its chart. */

/** A third of what a query may read. Of a span with more rows the first ones are answered. */
const ROWS_MAX = 5_000;

/**
 * Days are of 24 hours from the start of the cycle. Asked for by spans, because those that are over hardly ever change:
 * a chart that is open reads them once, and at each settled job only the day under way.
 */
export const byDay = accountQuery({
  scope: "usage:read",
  args: {
    cycle: v.object({ name: v.string(), startMs: v.number() }),
    fromDay: v.number(),
    /** The first day that is not asked for any more; null for all that come. */
    untilDay: v.union(v.number(), v.null()),
  },
  returns: v.object({
    /** Units that were settled; days without any are left out. */
    days: v.array(v.object({ day: v.number(), units: v.number() })),
    /** Whether the span has more rows than one answer may read. */
    isCut: v.boolean(),
  }),
  handler: async (ctx, { cycle: { name, startMs }, fromDay, untilDay }) => {
    const { accountId } = ctx.principal;
    const untilMs = untilDay === null ? Infinity : startMs + untilDay * DAY_MS;
    const rows = await ctx.db
      .query("entries")
      .withIndex("by_account_feature_cycle", (q) =>
        q
          .eq("accountId", accountId)
          .eq("feature", FEATURE_TOKENS)
          .eq("cycle", name)
          .gte("atMs", startMs + fromDay * DAY_MS)
          .lt("atMs", untilMs),
      )
      .take(ROWS_MAX);
    const days = new Map<number, number>();
    for (const { atMs, units } of rows) {
      const day = Math.floor((atMs - startMs) / DAY_MS);
      days.set(day, (days.get(day) ?? 0) + units);
    }
    return { days: [...days].map(([day, units]) => ({ day, units })), isCut: rows.length === ROWS_MAX };
  },
});
