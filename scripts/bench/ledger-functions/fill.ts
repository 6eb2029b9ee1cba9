import { v } from "convex/values";

import { internalMutation } from "../../../convex/_generated/server";
import { openMeter } from "../../../convex/ledger";
import { SHARDS } from "../../../lib/ledger/shard";
import { must } from "../../../lib/shared/assert";

/** Adds clicks to the meter of an account, over all shards in turn: as many as one transaction takes. */
export const clicks = internalMutation({
  args: { accountId: v.id("accounts"), cycle: v.string(), from: v.number(), count: v.number() },
  returns: v.null(),
  handler: async (ctx, { accountId, cycle, from, count }) => {
    const account = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const agreementId = `fixed:${accountId}`;
    const meter = await openMeter(ctx, account, { accountId, agreementId, feature: "clicks", cycle });
    const linkId = await ctx.db.insert("links", {
      accountId,
      code: `bench-${from}`,
      location: "https://example.com/",
      displayHost: "example.com",
      title: "",
      capUnits: null,
      overCapLocation: null,
      inactiveSinceMs: null,
      deletedAtMs: null,
      createdAtMs: Date.now(),
    });
    const origin = {
      kind: "click" as const,
      linkId,
      class: "billable" as const,
      rule: "billable",
      referrer: "https://news.example.org/some/page",
      agent:
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    };
    for (let number = from; number < from + count; number += 1) {
      await ctx.db.insert("entries", {
        accountId,
        meterId: meter._id,
        shard: number % SHARDS,
        feature: "clicks",
        cycle,
        key: `bench-${number}`,
        units: 1,
        atMs: meter.cycleStartMs,
        origin,
        budgetCycle: null,
        correctsEntryId: null,
      });
    }
    return null;
  },
});

/** The counters and the provider's meter as they have to be for so many clicks. */
export const totals = internalMutation({
  args: { count: v.number() },
  returns: v.null(),
  handler: async (ctx, { count }) => {
    const meter = must(await ctx.db.query("meters").first(), "there is a meter");
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const units = Math.floor(count / SHARDS) + (shard < count % SHARDS ? 1 : 0);
      await ctx.db.insert("shards", { meterId: meter._id, shard, units });
    }
    await ctx.db.insert("fixedTotals", { meterId: meter._id, totalUnits: count, writtenAtMs: Date.now() });
    return null;
  },
});
