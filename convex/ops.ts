import { v } from "convex/values";

import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import type { ActionCtx } from "./_generated/server";
import { auditBudgets, type AuditCounts } from "./audit";
import { operatorAction } from "./functions";
import {
  reconcile as reconcileMeters,
  reconcileOne,
  type Reconciled,
  reconciledValidator,
} from "./reconciler";
import { report as reportTotals, type ReportCounts, reportOne } from "./reporter";
import { sweep as sweepLeases, type SweepCounts } from "./sweeper";
import { notFoundValidator } from "./validators";

/** The periodic workers on demand: for an operator, and for the supervisor before it lets admissions in. */

export const sweep = operatorAction({
  args: {},
  returns: v.object({ expired: v.number(), batches: v.number(), broken: v.number() }),
  handler: async (ctx): Promise<SweepCounts> => await sweepLeases(ctx),
});

export const audit = operatorAction({
  args: {},
  returns: v.object({ budgets: v.number(), repaired: v.number() }),
  handler: async (ctx): Promise<AuditCounts> => await auditBudgets(ctx),
});

const oneOrAll = { accountId: v.optional(v.string()) };

export const report = operatorAction({
  args: oneOrAll,
  returns: v.union(
    v.object({ kind: v.literal("ran"), counts: v.record(v.string(), v.number()) }),
    notFoundValidator,
  ),
  handler: async (ctx, args): Promise<{ kind: "ran"; counts: ReportCounts } | NotFound> => {
    const accountId = await accountOf(ctx, args);
    if (accountId === undefined) return NOT_FOUND;
    if (accountId === null) return { kind: "ran", counts: await reportTotals(ctx) };
    const { actor } = ctx;
    await ctx.runMutation(internal.auditLog.recordRun, { actor, action: "totals_reported", accountId });
    return { kind: "ran", counts: await reportOne(ctx, accountId) };
  },
});

export const reconcile = operatorAction({
  args: oneOrAll,
  returns: v.union(reconciledValidator, notFoundValidator),
  handler: async (ctx, args): Promise<Reconciled | NotFound> => {
    const accountId = await accountOf(ctx, args);
    if (accountId === undefined) return NOT_FOUND;
    if (accountId === null) return await reconcileMeters(ctx);
    const { actor } = ctx;
    await ctx.runMutation(internal.auditLog.recordRun, { actor, action: "meters_reconciled", accountId });
    return await reconcileOne(ctx, accountId);
  },
});

type NotFound = { kind: "not_found" };
const NOT_FOUND: NotFound = { kind: "not_found" };

/** Null for all accounts, undefined for one that there is not. */
async function accountOf(
  ctx: ActionCtx,
  { accountId }: { accountId?: string },
): Promise<Id<"accounts"> | null | undefined> {
  if (accountId === undefined) return null;
  return (await ctx.runQuery(internal.accounts.idOf, { accountId })) ?? undefined;
}
