import { v } from "convex/values";

import { applyFailedRead, applyRead } from "../lib/gate/limit-cache";
import { fixedProvider } from "../lib/gate/provider";
import { parseRefreshLease } from "../lib/gate/refresh-lease";
import { internal } from "./_generated/api";
import { internalMutation, internalQuery } from "./_generated/server";
import { keyAction } from "./functions";
import { findFixedLimit, findLimit } from "./rows";
import { limitUnitsValidator } from "./validators";

/**
 * The refresh of a cached limit. Only the caller that admit gave the refresh lease does any reading; everybody else's
 * call ends at the first check, so one key cannot drive the provider.
 */
export const refresh = keyAction({
  scope: "jobs:write",
  args: { refreshLease: v.string() },
  returns: v.object({ kind: v.union(v.literal("refreshed"), v.literal("failed")) }),
  handler: async (ctx, { refreshLease }): Promise<{ kind: "refreshed" | "failed" }> => {
    const { accountId } = ctx;
    const lease = parseRefreshLease(refreshLease);
    if (lease === null) return { kind: "failed" };
    const isHeld: boolean = await ctx.runQuery(internal.limits.isLeaseHeld, { accountId, ...lease });
    if (!isHeld) return { kind: "failed" };

    const provider = fixedProvider((_account, feature) =>
      ctx.runQuery(internal.limits.fixedLimit, { accountId, feature }),
    );
    // The age of a limit counts from the sending of the request: what changed meanwhile may not be in the answer.
    const sentAtMs = Date.now();
    const read = await provider.readLimit(accountId, lease.feature);
    if (read.kind === "failed") {
      await ctx.runMutation(internal.limits.storeFailure, { accountId, ...lease });
      return { kind: "failed" };
    }
    const { limitUnits } = read;
    await ctx.runMutation(internal.limits.storeRead, { accountId, ...lease, sentAtMs, limitUnits });
    return { kind: "refreshed" };
  },
});

const leaseArgs = { accountId: v.id("accounts"), feature: v.string(), fence: v.number() };

export const isLeaseHeld = internalQuery({
  args: leaseArgs,
  returns: v.boolean(),
  handler: async (ctx, { accountId, feature, fence }) => {
    const row = await findLimit(ctx, accountId, feature);
    return row !== null && row.refreshFence === fence && row.refreshLeaseExpiresAtMs !== null;
  },
});

export const fixedLimit = internalQuery({
  args: { accountId: v.id("accounts"), feature: v.string() },
  returns: v.union(v.object({ limitUnits: limitUnitsValidator }), v.null()),
  handler: async (ctx, { accountId, feature }) => {
    const row = await findFixedLimit(ctx, accountId, feature);
    return row === null ? null : { limitUnits: row.limitUnits };
  },
});

export const storeRead = internalMutation({
  args: { ...leaseArgs, sentAtMs: v.number(), limitUnits: limitUnitsValidator },
  returns: v.null(),
  handler: async (ctx, { accountId, feature, ...read }) => {
    const row = await findLimit(ctx, accountId, feature);
    if (row !== null) await ctx.db.patch(row._id, applyRead(row, read));
    return null;
  },
});

export const storeFailure = internalMutation({
  args: leaseArgs,
  returns: v.null(),
  handler: async (ctx, { accountId, feature, fence }) => {
    const row = await findLimit(ctx, accountId, feature);
    if (row !== null) await ctx.db.patch(row._id, applyFailedRead(row, fence, Date.now()));
    return null;
  },
});
