import { v } from "convex/values";

import { FEATURE_TOKENS } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import { DAY_MS } from "../lib/shared/durations";
import { accountQuery } from "./functions";

/** Usage over the current cycle, for its chart. */

/** A third of what a query may read. Of a cycle with more rows the first days are answered. */
const ROWS_MAX = 5_000;

export const byDay = accountQuery({
  scope: "usage:read",
  args: {},
  returns: v.object({
    startMs: v.number(),
    endMs: v.number(),
    /** Units that were settled, by days of 24 hours from the start of the cycle; days without any are left out. */
    days: v.array(v.object({ day: v.number(), units: v.number() })),
    /** Whether the cycle has more rows than one answer may read. */
    isCut: v.boolean(),
  }),
  handler: async (ctx) => {
    const { accountId, account } = ctx.principal;
    const cycle = cycleAt(account.cycleAnchorMs, Date.now());
    const rows = await ctx.db
      .query("entries")
      .withIndex("by_account_feature_cycle", (q) =>
        q.eq("accountId", accountId).eq("feature", FEATURE_TOKENS).eq("cycle", cycle.name),
      )
      .take(ROWS_MAX);
    const days = new Map<number, number>();
    for (const { atMs, units } of rows) {
      const day = Math.floor((atMs - cycle.startMs) / DAY_MS);
      days.set(day, (days.get(day) ?? 0) + units);
    }
    return {
      startMs: cycle.startMs,
      endMs: cycle.endMs,
      days: [...days].map(([day, units]) => ({ day, units })),
      isCut: rows.length === ROWS_MAX,
    };
  },
});
