import { type Infer, v } from "convex/values";

import {
  fixedProvider,
  type LimitProvider,
  type MeterRef,
  type TotalRead,
  type TotalWrite,
} from "../lib/gate/provider";
import type { Reading } from "../lib/ledger/report-outcome";
import { kindeProvider } from "../lib/kinde/provider";
import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery, type QueryCtx } from "./_generated/server";
import { customerIdOf, kindeClient } from "./kinde";
import { closingOf } from "./meterState";
import { limitUnitsValidator, providerValidator } from "./validators";
import { findFixedLimit } from "./rows";

/** Which provider an account is on, and the rows of ours that stand in for one. */

/** The limits of an account. */
export async function limitProvider(ctx: ActionCtx, accountId: Id<"accounts">): Promise<LimitProvider> {
  const name = await ctx.runQuery(internal.providers.nameOf, { accountId });
  if (name === "kinde") return kindeOf(ctx, accountId);
  return fixedProvider((_account, feature) =>
    ctx.runQuery(internal.providers.fixedLimit, { accountId, feature }),
  );
}

/** Whether the meters of an account are a provider's. The rows of the fixed provider are ours, and reading them proves nothing. */
export function isAtProvider({ provider }: Pick<Doc<"accounts">, "provider">): boolean {
  return provider !== "fixed";
}

/** Where the totals of a meter go. */
export const meterTargetValidator = v.object({
  meterId: v.id("meters"),
  accountId: v.id("accounts"),
  provider: providerValidator,
  agreementId: v.union(v.string(), v.null()),
  feature: v.string(),
  cycle: v.string(),
  cycleStartMs: v.number(),
  closesAtMs: v.number(),
});
export type MeterTarget = Infer<typeof meterTargetValidator>;

export async function meterTarget(
  ctx: Pick<QueryCtx, "db">,
  meter: Doc<"meters">,
  account: Doc<"accounts">,
): Promise<MeterTarget> {
  const { _id: meterId, accountId, agreementId, feature, cycle, cycleStartMs } = meter;
  const closesAtMs = await closingOf(ctx, meter);
  const { provider } = account;
  return { meterId, accountId, provider, agreementId, feature, cycle, cycleStartMs, closesAtMs };
}

function meterProvider(ctx: ActionCtx, { provider, accountId, meterId }: MeterTarget): LimitProvider {
  if (provider === "kinde") return kindeOf(ctx, accountId);
  return fixedProvider(() => Promise.resolve(null), {
    read: () => ctx.runQuery(internal.providers.readFixedTotal, { meterId }),
    write: async (_meter, totalUnits) => {
      await ctx.runMutation(internal.providers.writeFixedTotal, { meterId, totalUnits });
    },
  });
}

function kindeOf(ctx: ActionCtx, accountId: Id<"accounts">): LimitProvider {
  const client = kindeClient(ctx);
  return kindeProvider(client, { customerIdOf: () => customerIdOf(ctx, client, accountId) });
}

/**
 * Sets the total of a meter, unless the write could not start before `startBeforeMs`. Never throws: what a deployment
 * without settings or a lost database connection throws is a failure like any other.
 */
export async function writeTotal(
  ctx: ActionCtx,
  target: MeterTarget,
  totalUnits: number,
  startBeforeMs: number,
): Promise<TotalWrite> {
  try {
    return await meterProvider(ctx, target).setTotal(refOf(target), totalUnits, startBeforeMs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "failed", reason, retryAfterMs: null, committed: "unknown", isRefused: false };
  }
}

/** Reads the total of a meter: of the cycle under way, or of one that has closed. */
export async function readTotal(ctx: ActionCtx, target: MeterTarget, isClosed: boolean): Promise<Reading> {
  return (await lookAtTotal(ctx, target, isClosed)).reading;
}

export interface Look {
  readonly reading: Reading;
  /** Of an unreadable meter: whether the provider did not answer, would not have the question, or could not tell. */
  readonly fault: "no_answer" | "refused" | "untold" | null;
}

/** The same with the reason why nothing was read. Never throws. */
export async function lookAtTotal(ctx: ActionCtx, target: MeterTarget, isClosed: boolean): Promise<Look> {
  try {
    const provider = meterProvider(ctx, target);
    const ref = refOf(target);
    const read = await (isClosed ? provider.readClosedTotal(ref) : provider.readTotal(ref));
    if (read.kind === "read") return { reading: read, fault: null };
    return { reading: { kind: "unreadable", error: read.reason }, fault: faultOf(read) };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    return { reading: { kind: "unreadable", error }, fault: "no_answer" };
  }
}

function faultOf(read: Exclude<TotalRead, { kind: "read" }>): Look["fault"] {
  if (read.kind !== "failed") return "untold";
  return read.isRefused ? "refused" : "no_answer";
}

function refOf({ accountId, feature, agreementId, cycle, cycleStartMs }: MeterTarget): MeterRef {
  return { accountId, feature, agreementId, cycle, cycleStartMs };
}

export const nameOf = internalQuery({
  args: { accountId: v.id("accounts") },
  returns: providerValidator,
  handler: async (ctx, { accountId }) =>
    must(await ctx.db.get(accountId), `account ${accountId} is gone`).provider,
});

export const fixedLimit = internalQuery({
  args: { accountId: v.id("accounts"), feature: v.string() },
  returns: v.union(v.object({ limitUnits: limitUnitsValidator }), v.null()),
  handler: async (ctx, { accountId, feature }) => {
    const row = await findFixedLimit(ctx, accountId, feature);
    return row === null ? null : { limitUnits: row.limitUnits };
  },
});

export const readFixedTotal = internalQuery({
  args: { meterId: v.id("meters") },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { meterId }) => (await findFixedTotal(ctx, meterId))?.totalUnits ?? null,
});

export const writeFixedTotal = internalMutation({
  args: { meterId: v.id("meters"), totalUnits: v.number() },
  returns: v.null(),
  handler: async (ctx, { meterId, totalUnits }) => {
    const row = await findFixedTotal(ctx, meterId);
    const written = { totalUnits, writtenAtMs: Date.now() };
    if (row === null) await ctx.db.insert("fixedTotals", { meterId, ...written });
    else await ctx.db.patch(row._id, written);
    return null;
  },
});

function findFixedTotal(ctx: Pick<QueryCtx, "db">, meterId: Id<"meters">) {
  return ctx.db
    .query("fixedTotals")
    .withIndex("by_meter", (q) => q.eq("meterId", meterId))
    .unique();
}
