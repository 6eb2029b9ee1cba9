import { v } from "convex/values";

import type { TableNames } from "../../../convex/_generated/dataModel";
import { internalMutation } from "../../../convex/_generated/server";

/** Writes rows past all rules, many at once. Deployed by tests only. */
export const insert = internalMutation({
  args: { table: v.string(), row: v.any(), times: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { table, row, times }) => {
    const ids: string[] = [];
    for (let count = 0; count < times; count += 1) ids.push(await ctx.db.insert(table as TableNames, row));
    return ids;
  },
});
