import { type Infer, v } from "convex/values";

import { accountQuery } from "./functions";
import { nextCursor } from "./rows";
import { refusalValidator } from "./validators";

/** Refused jobs, for the screen that shows them after the answer itself is gone. */

const PAGE = 10;

const refusedValidator = v.object({
  id: v.string(),
  key: v.string(),
  kind: v.string(),
  requestedUnits: v.number(),
  /** With the numbers of that moment, for lib/gate/refusal-text.ts. */
  refusal: refusalValidator,
  /** Of the last one, when the row stands for several. */
  atMs: v.number(),
  /** Refusals of that minute that the row stands for; the numbers are of the last. */
  times: v.number(),
});
export type RefusedView = Infer<typeof refusedValidator>;

/** The account's refused jobs, the newest first. Those of the last month; older ones are not kept. */
export const recent = accountQuery({
  scope: "jobs:read",
  args: { cursor: v.union(v.string(), v.null()) },
  returns: v.object({ refused: v.array(refusedValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("refusals")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .paginate({ numItems: PAGE, cursor });
    const refused = page.page.map(({ _id: id, key, kind, requestedUnits, refusal, atMs, times }) => {
      return { id, key, kind, requestedUnits, refusal, atMs, times };
    });
    return { refused, cursor: nextCursor(page) };
  },
});
