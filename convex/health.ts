import { v } from "convex/values";

import type { QueryCtx } from "./_generated/server";
import { operatorQuery, serverQuery } from "./functions";

/** Far above the number of periodic workers there are. */
const RUNS_MAX = 50;

const healthValidator = v.object({
  nowMs: v.number(),
  runs: v.array(
    v.object({
      name: v.string(),
      status: v.union(v.literal("running"), v.literal("good"), v.literal("failed")),
      lastStartedAtMs: v.number(),
      lastFinishedAtMs: v.union(v.number(), v.null()),
      lastGoodAtMs: v.union(v.number(), v.null()),
      counts: v.record(v.string(), v.number()),
    }),
  ),
});

/** The state of every periodic worker. `nowMs` is this side's clock, so that ages need no other. */
export const get = serverQuery({ args: {}, returns: healthValidator, handler: readHealth });

export const forOperators = operatorQuery({ args: {}, returns: healthValidator, handler: readHealth });

async function readHealth(ctx: Pick<QueryCtx, "db">) {
  const rows = await ctx.db.query("runs").withIndex("by_name").take(RUNS_MAX);
  const runs = rows.map(({ name, status, lastStartedAtMs, lastFinishedAtMs, lastGoodAtMs, counts }) => {
    return { name, status, lastStartedAtMs, lastFinishedAtMs, lastGoodAtMs, counts };
  });
  return { nowMs: Date.now(), runs };
}
