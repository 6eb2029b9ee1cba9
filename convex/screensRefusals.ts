import { type Infer, v } from "convex/values";

import type { Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { accountQuery, operatorQuery } from "./functions";
import { findAccount, nextCursor } from "./rows";
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

const pageReturns = v.object({
  refused: v.array(refusedValidator),
  cursor: v.union(v.string(), v.null()),
});

/** The account's refused jobs, the newest first. Those of the last month; older ones are not kept. */
export const recent = accountQuery({
  scope: "jobs:read",
  args: { cursor: v.union(v.string(), v.null()) },
  returns: pageReturns,
  handler: (ctx, { cursor }) => readPage(ctx, ctx.principal.accountId, cursor),
});

/** The same of any account, for an operator whom its customer asks why. */
export const ofAccount = operatorQuery({
  args: { accountId: v.string(), cursor: v.union(v.string(), v.null()) },
  returns: pageReturns,
  handler: async (ctx, { accountId, cursor }) => {
    const account = await findAccount(ctx, accountId);
    return account === null ? { refused: [], cursor: null } : await readPage(ctx, account._id, cursor);
  },
});

async function readPage(ctx: QueryCtx, accountId: Id<"accounts">, cursor: string | null) {
  const page = await ctx.db
    .query("refusals")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .order("desc")
    .paginate({ numItems: PAGE, cursor });
  const refused = page.page.map(({ _id: id, key, kind, requestedUnits, refusal, atMs, times }) => {
    return { id, key, kind, requestedUnits, refusal, atMs, times };
  });
  return { refused, cursor: nextCursor(page) };
}
