import { v } from "convex/values";

import { ESTIMATE_SPAN_MS } from "../lib/gate/estimates";
import { must } from "../lib/shared/assert";
import { accountQuery } from "./functions";
import { findJobsThatTellCost } from "./rows";

/** Jobs one by one beside the estimates of their kinds, for a chart. */

const JOBS_MAX = 100;

/** The newest jobs of the last 30 days that ran to an end of their own, in the order in which they started. */
export const ended = accountQuery({
  scope: "jobs:read",
  args: {},
  returns: v.object({
    jobs: v.array(
      v.object({
        id: v.string(),
        kind: v.string(),
        heldUnits: v.number(),
        usedUnits: v.number(),
        /** What a capped job wanted beyond its hold. */
        overCapUnits: v.number(),
        endedAtMs: v.number(),
      }),
    ),
  }),
  handler: async (ctx) => {
    const { accountId } = ctx.principal;
    const sinceMs = Date.now() - ESTIMATE_SPAN_MS;
    const rows = await findJobsThatTellCost(ctx, accountId, sinceMs, JOBS_MAX);
    const jobs = rows
      .toSorted((a, b) => a._creationTime - b._creationTime)
      .map(({ _id: id, kind, heldUnits, usedUnits, overCapUnits, endedAtMs }) => {
        return { id, kind, heldUnits, usedUnits, overCapUnits, endedAtMs: must(endedAtMs, "it has ended") };
      });
    return { jobs };
  },
});
