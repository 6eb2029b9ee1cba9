import { v } from "convex/values";

import type { QueryCtx } from "./_generated/server";
import { operatorQuery } from "./functions";

/** What waits for somebody, as numbers for the operators' first screen. */

/** More than this many are told as "at least". */
const COUNTED_MAX = 100;

export const waiting = operatorQuery({
  args: {},
  returns: v.object({
    /** A number as high as this one stands for that many or more. */
    countedMax: v.number(),
    openReviews: v.number(),
    deadEvents: v.number(),
    quarantinedEvents: v.number(),
    failingEvents: v.number(),
    alertsWaiting: v.number(),
    alertsGivenUp: v.number(),
    /** Whether anybody is told at all: an address is set. */
    isAlertConfigured: v.boolean(),
    /** Plan differences that were seen once and wait for the second reading. */
    driftSightings: v.number(),
  }),
  handler: async (ctx) => ({
    countedMax: COUNTED_MAX,
    openReviews: (
      await ctx.db
        .query("reviews")
        .withIndex("by_status", (q) => q.eq("status", "open"))
        .take(COUNTED_MAX)
    ).length,
    deadEvents: await countEvents(ctx, "dead"),
    quarantinedEvents: await countEvents(ctx, "quarantined"),
    failingEvents: await countEvents(ctx, "failed"),
    alertsWaiting: await countAlerts(ctx, "waiting"),
    alertsGivenUp: await countAlerts(ctx, "given_up"),
    isAlertConfigured: (process.env.HOLDFAST_ALERT_URL ?? "") !== "",
    driftSightings: (await ctx.db.query("driftSightings").take(COUNTED_MAX)).length,
  }),
});

type Reader = Pick<QueryCtx, "db">;

async function countEvents(ctx: Reader, status: "dead" | "quarantined" | "failed"): Promise<number> {
  const rows = await ctx.db
    .query("inboxEvents")
    .withIndex("by_status", (q) => q.eq("status", status))
    .take(COUNTED_MAX);
  return rows.length;
}

async function countAlerts(ctx: Reader, status: "waiting" | "given_up"): Promise<number> {
  const rows = await ctx.db
    .query("alerts")
    .withIndex("by_status", (q) => q.eq("status", status))
    .take(COUNTED_MAX);
  return rows.length;
}
