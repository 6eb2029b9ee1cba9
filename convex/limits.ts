import { v } from "convex/values";

import {
  applyFailedRead,
  applyRead,
  emptyLimitRow,
  grantRefresh,
  judgeLimit,
  requireRefresh,
} from "../lib/gate/limit-cache";
import { formatRefreshLease, parseRefreshLease } from "../lib/gate/refresh-lease";
import type { LimitRead } from "../lib/gate/provider";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery } from "./_generated/server";
import { learnAgreements } from "./agreements";
import { accountAction } from "./functions";
import { internalAction } from "./patience";
import { limitProvider } from "./providers";
import { findLimit } from "./rows";
import { limitUnitsValidator } from "./validators";

/** The refresh of a cached limit: an action reads the provider, mutations store what it answered. */

type Refreshed = { kind: "refreshed" | "failed" };
const refreshedValidator = v.object({ kind: v.union(v.literal("refreshed"), v.literal("failed")) });

interface Lease {
  readonly feature: string;
  readonly fence: number;
}

/**
 * Reads the limit for a caller that admit gave the refresh lease. Everybody else's call ends at the first check, so
 * one key cannot drive the provider.
 */
export const refresh = accountAction({
  scope: "jobs:write",
  args: { refreshLease: v.string() },
  returns: refreshedValidator,
  handler: async (ctx, { refreshLease }): Promise<Refreshed> => {
    const { accountId } = ctx;
    const lease = parseRefreshLease(refreshLease);
    if (lease === null) return { kind: "failed" };
    const isHeld: boolean = await ctx.runQuery(internal.limits.isLeaseHeld, { accountId, ...lease });
    return isHeld ? await readAndStore(ctx, accountId, lease) : { kind: "failed" };
  },
});

/**
 * Asks for a limit read that was sent after this instant, for a customer who comes back from the plan page, and reads
 * it when nobody else is reading. Whatever comes of it here, the next admission does not pass on the old limit alone.
 */
export const refreshNow = accountAction({
  scope: null,
  args: {},
  returns: refreshedValidator,
  handler: async (ctx): Promise<Refreshed> => await refreshLimit(ctx, ctx.accountId),
});

/** For a preview whose answer depends on the limit, which a question may not take the lease for. */
export const refreshForPreview = accountAction({
  scope: "jobs:read",
  args: {},
  returns: refreshedValidator,
  handler: async (ctx): Promise<Refreshed> => await refreshIfDue(ctx, ctx.accountId),
});

/** The same for who may only see the usage. */
export const refreshForUsage = accountAction({
  scope: "usage:read",
  args: {},
  returns: refreshedValidator,
  handler: async (ctx): Promise<Refreshed> => await refreshIfDue(ctx, ctx.accountId),
});

/** At most as often as admissions have the limit read, so that questions cannot drive the provider either. */
async function refreshIfDue(ctx: ActionCtx, accountId: Id<"accounts">): Promise<Refreshed> {
  const refreshLease: string | null = await ctx.runMutation(internal.limits.grantIfDue, { accountId });
  const lease = refreshLease === null ? null : parseRefreshLease(refreshLease);
  return lease === null ? { kind: "failed" } : await readAndStore(ctx, accountId, lease);
}

/** `refreshNow` for callers inside: sign-in and, later, plan events. */
export async function refreshLimit(ctx: ActionCtx, accountId: Id<"accounts">): Promise<Refreshed> {
  const refreshLease: string | null = await ctx.runMutation(internal.limits.requireAndGrant, { accountId });
  const lease = refreshLease === null ? null : parseRefreshLease(refreshLease);
  return lease === null ? { kind: "failed" } : await readAndStore(ctx, accountId, lease);
}

/** The same for an account that was made or moved by an event, which waits for nobody. */
export const readInBackground = internalAction({
  args: { accountId: v.id("accounts") },
  returns: v.null(),
  handler: async (ctx, { accountId }) => {
    await refreshLimit(ctx, accountId);
    return null;
  },
});

async function readAndStore(ctx: ActionCtx, accountId: Id<"accounts">, lease: Lease): Promise<Refreshed> {
  // The age of a limit counts from the sending of the request: what changed meanwhile may not be in the answer.
  const sentAtMs = Date.now();
  const read = await readProvider(ctx, accountId, lease.feature);
  if (read.kind === "failed") {
    await ctx.runMutation(internal.limits.storeFailure, { accountId, ...lease, reason: read.reason });
    return { kind: "failed" };
  }
  const { limitUnits, planKey, subscribedAtMs } = read;
  const stored = { accountId, ...lease, sentAtMs, limitUnits, planKey, subscribedAtMs };
  const hasNewPlan: boolean = await ctx.runMutation(internal.limits.storeRead, stored);
  // A plan change makes another agreement, which is another meter. What is not learnt here the reporter learns.
  if (hasNewPlan) await learnAgreements(ctx, accountId);
  return { kind: "refreshed" };
}

/** What a deployment without settings for the provider throws is a failure like any other, and gives the lease back. */
async function readProvider(ctx: ActionCtx, accountId: Id<"accounts">, feature: string): Promise<LimitRead> {
  try {
    return await (await limitProvider(ctx, accountId)).readLimit(accountId, feature);
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
  }
}

const leaseArgs = { accountId: v.id("accounts"), feature: v.string(), fence: v.number() };

export const isLeaseHeld = internalQuery({
  args: leaseArgs,
  returns: v.boolean(),
  handler: async (ctx, { accountId, feature, fence }) => {
    const row = await findLimit(ctx, accountId, feature);
    return row !== null && row.refreshFence === fence && row.refreshLeaseExpiresAtMs !== null;
  },
});

/** Marks the cached limit as superseded and grants the refresh lease, unless another caller is reading. */
export const requireAndGrant = internalMutation({
  args: { accountId: v.id("accounts") },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { accountId }) => {
    const nowMs = Date.now();
    const account = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const stored = await findLimit(ctx, accountId);
    const required = requireRefresh(stored ?? emptyLimitRow(account.provider), nowMs);
    const isBusy = required.refreshLeaseExpiresAtMs !== null && required.refreshLeaseExpiresAtMs > nowMs;
    const row = isBusy ? required : grantRefresh(required, nowMs);
    if (stored === null) {
      await ctx.db.insert("limits", { accountId, feature: FEATURE_TOKENS, ...row });
    } else {
      const { refreshRequiredAtMs, refreshFence, refreshLeaseExpiresAtMs } = row;
      await ctx.db.patch(stored._id, { refreshRequiredAtMs, refreshFence, refreshLeaseExpiresAtMs });
    }
    return isBusy ? null : formatRefreshLease(FEATURE_TOKENS, row.refreshFence);
  },
});

/** The refresh lease where an admission would be given it, else null. */
export const grantIfDue = internalMutation({
  args: { accountId: v.id("accounts") },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { accountId }) => {
    const nowMs = Date.now();
    const account = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const stored = await findLimit(ctx, accountId);
    if (judgeLimit(stored, nowMs).kind !== "refresh") return null;
    const row = grantRefresh(stored ?? emptyLimitRow(account.provider), nowMs);
    if (stored === null) {
      await ctx.db.insert("limits", { accountId, feature: FEATURE_TOKENS, ...row });
    } else {
      const { refreshFence, refreshLeaseExpiresAtMs } = row;
      await ctx.db.patch(stored._id, { refreshFence, refreshLeaseExpiresAtMs });
    }
    return formatRefreshLease(FEATURE_TOKENS, row.refreshFence);
  },
});

export const storeRead = internalMutation({
  args: {
    ...leaseArgs,
    sentAtMs: v.number(),
    limitUnits: limitUnitsValidator,
    planKey: v.union(v.string(), v.null()),
    subscribedAtMs: v.union(v.number(), v.null()),
  },
  /** Whether the plan is another one than was stored. */
  returns: v.boolean(),
  handler: async (ctx, { accountId, feature, subscribedAtMs, ...read }) => {
    const row = await findLimit(ctx, accountId, feature);
    const hasNewPlan = read.planKey !== (row?.planKey ?? null);
    if (row !== null) await ctx.db.patch(row._id, applyRead(row, read));
    // Cycles begin where the provider's do, as long as nothing has been counted by another anchor.
    const account = await ctx.db.get(accountId);
    if (account === null || subscribedAtMs === null) return hasNewPlan;
    if (account.cycleAnchorFrozenAtMs !== null || isBetterKnown(account)) return hasNewPlan;
    const anchor = { cycleAnchorMs: subscribedAtMs, cycleAnchorSource: "subscription" as const };
    await ctx.db.patch(accountId, anchor);
    return hasNewPlan;
  },
});

export const storeFailure = internalMutation({
  args: { ...leaseArgs, reason: v.string() },
  returns: v.null(),
  handler: async (ctx, { accountId, feature, fence, reason }) => {
    const row = await findLimit(ctx, accountId, feature);
    const failure = { fence, reason, atMs: Date.now() };
    if (row !== null) await ctx.db.patch(row._id, applyFailedRead(row, failure));
    return null;
  },
});

/** An operator's word outranks the provider's, and of two readings of a subscription the first one stays. */
function isBetterKnown({ cycleAnchorSource: source }: Doc<"accounts">): boolean {
  return source === "operator" || source === "subscription";
}
