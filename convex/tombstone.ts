import { v } from "convex/values";

import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { internalMutation, type MutationCtx } from "./_generated/server";

/**
 * A customer that was deleted, at the provider or by its own wish: nobody gets in any more, what the customer wrote is
 * erased, and what was counted stays.
 */

const BATCH = 200;
/** What is shown instead of a name. */
const NAME = "Deleted customer";

/** Revokes in this transaction what lets somebody in; links and reminders follow in batches, since there may be thousands. */
export async function buryAccount(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  deletedAtMs: number,
  nowMs: number,
): Promise<Doc<"accounts">> {
  const fields = { deletedAtMs, email: null, name: NAME, profile: null };
  await ctx.db.patch(account._id, fields);
  await revokeKeys(ctx, account._id, nowMs);
  await ctx.scheduler.runAfter(0, internal.tombstone.disableLinks, { accountId: account._id, cursor: null });
  await ctx.scheduler.runAfter(0, internal.reminders.cancelAll, { accountId: account._id });
  await ctx.scheduler.runAfter(0, internal.tombstone.eraseReminders, {
    accountId: account._id,
    cursor: null,
  });
  return { ...account, ...fields };
}

async function revokeKeys(ctx: MutationCtx, accountId: Id<"accounts">, nowMs: number): Promise<void> {
  const keys = await ctx.db
    .query("apiKeys")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .collect();
  for (const { _id: id, revokedAtMs } of keys) {
    if (revokedAtMs === null) await ctx.db.patch(id, { revokedAtMs: nowMs });
  }
}

export const disableLinks = internalMutation({
  args: { accountId: v.id("accounts"), cursor: v.union(v.string(), v.null()) },
  returns: v.null(),
  handler: async (ctx, { accountId, cursor }) => {
    const { deletedAtMs } = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const page = await ctx.db
      .query("links")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .paginate({ numItems: BATCH, cursor });
    for (const { _id: id, inactiveSinceMs, title } of page.page) {
      if (inactiveSinceMs === null || title !== "") {
        await ctx.db.patch(id, { inactiveSinceMs: inactiveSinceMs ?? deletedAtMs, title: "" });
      }
    }
    if (!page.isDone) {
      const next = { accountId, cursor: page.continueCursor };
      await ctx.scheduler.runAfter(0, internal.tombstone.disableLinks, next);
    }
    return null;
  },
});

/** A reminder was written for one reader only. Its row stays, because its credit is in the books. */
export const eraseReminders = internalMutation({
  args: { accountId: v.id("accounts"), cursor: v.union(v.string(), v.null()) },
  returns: v.null(),
  handler: async (ctx, { accountId, cursor }) => {
    const page = await ctx.db
      .query("reminders")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .paginate({ numItems: BATCH, cursor });
    for (const { _id: id, text } of page.page) {
      if (text !== "") await ctx.db.patch(id, { text: "" });
    }
    if (!page.isDone) {
      const next = { accountId, cursor: page.continueCursor };
      await ctx.scheduler.runAfter(0, internal.tombstone.eraseReminders, next);
    }
    return null;
  },
});
