import { closesAtMs } from "../lib/ledger/report";
import { NEVER_REPORTED, type ReportState } from "../lib/ledger/report-state";
import { SHARDS, sumOfShards, totalOfShards } from "../lib/ledger/shard";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";

/** What is known of one meter: its counters, its end, and how far the provider follows. Shared by its workers. */

type Reader = Pick<QueryCtx, "db">;

/** The total of a meter, which may be below zero: its counters, read in this snapshot through one range of one index. */
export async function ledgerUnitsOf(ctx: Reader, meterId: Id<"meters">): Promise<number> {
  return totalOfShards(await countersOf(ctx, meterId));
}

/** The same for whoever may not fail on counters that are wrong. */
export async function ledgerSumOf(ctx: Reader, meterId: Id<"meters">): Promise<bigint> {
  return sumOfShards(await countersOf(ctx, meterId));
}

async function countersOf(ctx: Reader, meterId: Id<"meters">): Promise<number[]> {
  const counters = await ctx.db
    .query("shards")
    .withIndex("by_meter_shard", (q) => q.eq("meterId", meterId))
    .take(SHARDS + 1);
  return counters.map(({ units }) => units);
}

/** When a meter takes no more writes. */
export async function closingOf(ctx: Reader, meter: Doc<"meters">): Promise<number> {
  const { agreementId } = meter;
  const agreement = agreementId === null ? null : await findAgreement(ctx, agreementId);
  return closesAtMs(meter.cycleEndMs, agreement?.untilMs ?? null);
}

/** The row of an agreement. The provider's ids are unique, so an agreement belongs to one account. */
export function findAgreement(ctx: Reader, agreementId: string): Promise<Doc<"agreements"> | null> {
  return ctx.db
    .query("agreements")
    .withIndex("by_agreement", (q) => q.eq("agreementId", agreementId))
    .unique();
}

export async function reportStateOf(ctx: Reader, meterId: Id<"meters">): Promise<ReportState> {
  return (await findReport(ctx, meterId))?.state ?? NEVER_REPORTED;
}

/** Stores the state, and with it the end of its lease, which is what finds a sender that died. */
export async function saveReportState(
  ctx: MutationCtx,
  meterId: Id<"meters">,
  state: ReportState,
): Promise<void> {
  const leaseExpiresAtMs = state.pending?.leaseExpiresAtMs ?? null;
  const row = await findReport(ctx, meterId);
  if (row === null) await ctx.db.insert("reports", { meterId, state, leaseExpiresAtMs });
  else await ctx.db.patch(row._id, { state, leaseExpiresAtMs });
}

export function findMark(ctx: Reader, meterId: Id<"meters">): Promise<Doc<"marks"> | null> {
  return ctx.db
    .query("marks")
    .withIndex("by_meter", (q) => q.eq("meterId", meterId))
    .unique();
}

/** Replaces the mark of a meter: taken away for null, else due at that instant, whatever it was before. */
export async function setMark(
  ctx: MutationCtx,
  meterId: Id<"meters">,
  dueAtMs: number | null,
): Promise<void> {
  const mark = await findMark(ctx, meterId);
  if (mark === null) {
    if (dueAtMs !== null) await ctx.db.insert("marks", { meterId, dueAtMs });
  } else if (dueAtMs === null) {
    await ctx.db.delete(mark._id);
  } else {
    await ctx.db.patch(mark._id, { dueAtMs });
  }
}

function findReport(ctx: Reader, meterId: Id<"meters">): Promise<Doc<"reports"> | null> {
  return ctx.db
    .query("reports")
    .withIndex("by_meter", (q) => q.eq("meterId", meterId))
    .unique();
}
