import { v } from "convex/values";

import type { Doc, Id } from "./_generated/dataModel";
import { internalMutation, type MutationCtx } from "./_generated/server";

export interface Act {
  /** Who did it: a signed-in user's id, "operator key", or the name of the worker that repaired something. */
  readonly actor: string;
  readonly action: string;
  readonly accountId: Id<"accounts"> | null;
  readonly details: Doc<"audit">["details"];
  readonly nowMs: number;
}

/** Appends a line to the audit table, in the transaction of the act itself. */
export async function recordAct(ctx: MutationCtx, act: Act): Promise<void> {
  const { actor, action, accountId, details, nowMs } = act;
  await ctx.db.insert("audit", { actor, action, accountId, details, atMs: nowMs });
}

/** A worker that an operator ran for one account: for actions, which have no transaction of their own. */
export const recordRun = internalMutation({
  args: {
    actor: v.string(),
    action: v.union(v.literal("meters_reconciled"), v.literal("totals_reported"), v.literal("drift_checked")),
    accountId: v.id("accounts"),
  },
  returns: v.null(),
  handler: async (ctx, act) => {
    await recordAct(ctx, { ...act, details: {}, nowMs: Date.now() });
    return null;
  },
});
