import { v } from "convex/values";

import { internalMutation } from "../../../convex/_generated/server";
import { recordEntries } from "../../../convex/ledger";
import { must } from "../../../lib/shared/assert.ts";

/** Books clicks as the click writer does, and faults that no function of ours can make. Deployed by tests only. */

export const clicks = internalMutation({
  args: {
    accountId: v.id("accounts"),
    prefix: v.string(),
    count: v.number(),
    units: v.optional(v.number()),
    atMs: v.optional(v.number()),
  },
  returns: v.number(),
  handler: async (ctx, { accountId, prefix, count, units = 1, atMs }) => {
    const account = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const link = await ctx.db.query("links").first();
    const linkId =
      link?._id ??
      (await ctx.db.insert("links", {
        accountId,
        code: "test",
        location: "https://example.com/",
        displayHost: "example.com",
        title: "",
        capUnits: null,
        overCapLocation: null,
        inactiveSinceMs: null,
        deletedAtMs: null,
        createdAtMs: Date.now(),
      }));
    const nowMs = Date.now();
    const origin = {
      kind: "click" as const,
      linkId,
      class: "billable" as const,
      rule: "billable",
      referrer: null,
      agent: null,
    };
    const inputs = Array.from({ length: count }, (_, index) => {
      return { key: `${prefix}-${index}`, units, atMs: atMs ?? nowMs, origin };
    });
    return (await recordEntries(ctx, account, "clicks", inputs, nowMs)).length;
  },
});

/** Adds clicks of one unit to a shard without its counter. */
export const fill = internalMutation({
  args: {
    accountId: v.id("accounts"),
    meterId: v.id("meters"),
    shard: v.number(),
    prefix: v.string(),
    count: v.number(),
  },
  returns: v.null(),
  handler: async (ctx, { prefix, count, meterId, shard }) => {
    const first = must(
      await ctx.db
        .query("entries")
        .withIndex("by_meter_shard", (q) => q.eq("meterId", meterId).eq("shard", shard))
        .first(),
      "the shard has a first entry",
    );
    const { _id, _creationTime, ...fields } = first;
    for (let index = 0; index < count; index += 1) {
      await ctx.db.insert("entries", { ...fields, key: `${prefix}-${index}` });
    }
    return null;
  },
});

/** So many accounts like this one, each with a marked meter; the n-th has n units and was marked n-th. */
export const manyMeters = internalMutation({
  args: { accountId: v.id("accounts"), count: v.number() },
  returns: v.null(),
  handler: async (ctx, { accountId, count }) => {
    const like = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const { _id, _creationTime, ...fields } = like;
    for (let number = 1; number <= count; number += 1) {
      const id = await ctx.db.insert("accounts", { ...fields, kindeUserId: null });
      const meterId = await ctx.db.insert("meters", {
        accountId: id,
        agreementId: `fixed:${id}`,
        feature: "clicks",
        cycle: "2026-10",
        cycleStartMs: Date.now() - 86_400_000,
        cycleEndMs: Date.now() + 7 * 86_400_000,
      });
      await ctx.db.insert("shards", { meterId, shard: 0, units: number });
      await ctx.db.insert("marks", { meterId, dueAtMs: Date.now() - count - 1 + number });
    }
    return null;
  },
});

/** What a fault would do that no function of ours makes. */
export const deleteRow = internalMutation({
  args: { id: v.string() },
  returns: v.null(),
  handler: async (ctx, { id }) => {
    await ctx.db.delete(id as never);
    return null;
  },
});
