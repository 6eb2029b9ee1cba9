import { type Infer, v } from "convex/values";

import { AssertionError, must } from "../lib/shared/assert";
import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { findAgreement, ledgerSumOf, reportStateOf } from "./meterState";
import { meterProofValidator, proofOf } from "./meterStandings";
import { clickClassValidator, endedStatusValidator } from "./validators";

/** Entries with the names of what they point at, as their account is shown them. */

type Reader = Pick<QueryCtx, "db">;

/** Shards of a link's counter, as many as a meter has. */
const LINK_SHARDS_MAX = 64;
/** Corrections of one entry that are looked through, the newest first. */
const CORRECTIONS_MAX = 100;

/** The words of lib/ledger/why.ts, and what else a click tells. */
const originViewValidator = v.union(
  v.object({
    kind: v.literal("click"),
    linkId: v.string(),
    code: v.string(),
    class: clickClassValidator,
    rule: v.string(),
    referrer: v.union(v.string(), v.null()),
    agent: v.union(v.string(), v.null()),
  }),
  v.object({
    kind: v.literal("job"),
    jobId: v.string(),
    jobKey: v.string(),
    /** The cycle whose budget paid: the one that admitted the job. */
    budgetCycle: v.string(),
  }),
  v.object({ kind: v.literal("move"), correctsEntryId: v.string() }),
  v.object({ kind: v.literal("take_back"), correctsEntryId: v.string() }),
  v.object({ kind: v.literal("carry_over"), reviewId: v.string() }),
  v.object({ kind: v.literal("write_off"), reviewId: v.string() }),
);

export const entryViewValidator = v.object({
  id: v.string(),
  /** Null: no agreement was in force, and nothing of it is sent. */
  agreementId: v.union(v.string(), v.null()),
  feature: v.string(),
  cycle: v.string(),
  key: v.string(),
  units: v.number(),
  /** When it happened; a correction has the instant of the entry it corrects, and was booked later. */
  atMs: v.number(),
  bookedAtMs: v.number(),
  origin: originViewValidator,
});
export type EntryView = Infer<typeof entryViewValidator>;

/** What of `WhyFacts` (lib/ledger/why.ts) the entry itself does not say. */
export const whyFactsValidator = v.object({
  cycle: v.object({ name: v.string(), startMs: v.number(), endMs: v.number() }),
  agreement: v.union(v.object({ planKey: v.union(v.string(), v.null()), fromMs: v.number() }), v.null()),
  cap: v.union(v.object({ capUnits: v.number(), billedUnits: v.number() }), v.null()),
  job: v.union(
    v.object({
      status: endedStatusValidator,
      heldUnits: v.number(),
      usedUnits: v.number(),
      overCapUnits: v.number(),
    }),
    v.null(),
  ),
  moved: v.union(
    v.object({
      entryId: v.string(),
      bookedAtMs: v.number(),
      agreementId: v.union(v.string(), v.null()),
      planKey: v.union(v.string(), v.null()),
      cycle: v.string(),
    }),
    v.null(),
  ),
  ledgerUnits: v.number(),
  confirmed: v.union(v.object({ totalUnits: v.number(), atMs: v.number() }), v.null()),
  proof: meterProofValidator,
});

/** Makes a function that shows entries. The rows they have in common, links and meters, are read once. */
export function entryReader(ctx: Reader): (entry: Doc<"entries">) => Promise<EntryView> {
  const meterOf = keep((id: Id<"meters">) => ctx.db.get(id));
  const linkOf = keep((id: Id<"links">) => ctx.db.get(id));
  return async (entry) => {
    const meter = must(await meterOf(entry.meterId), `the meter of entry ${entry._id} is gone`);
    const { _id: id, _creationTime: bookedAtMs, feature, cycle, key, units, atMs } = entry;
    const origin = await viewOrigin(ctx, linkOf, entry);
    return { id, agreementId: meter.agreementId, feature, cycle, key, units, atMs, bookedAtMs, origin };
  };
}

async function viewOrigin(
  ctx: Reader,
  linkOf: (id: Id<"links">) => Promise<Doc<"links"> | null>,
  entry: Doc<"entries">,
): Promise<EntryView["origin"]> {
  const { origin } = entry;
  switch (origin.kind) {
    case "click": {
      const link = must(await linkOf(origin.linkId), `the link of entry ${entry._id} is gone`);
      return { ...origin, code: link.code };
    }
    case "job": {
      const job = must(await ctx.db.get(origin.jobId), `the job of entry ${entry._id} is gone`);
      return { ...origin, jobKey: job.key, budgetCycle: entry.budgetCycle ?? job.cycle };
    }
    case "carry_over":
    case "write_off":
      return origin;
    default: {
      const correctsEntryId = must(entry.correctsEntryId, `entry ${entry._id} corrects no entry`);
      return { kind: origin.kind, correctsEntryId };
    }
  }
}

/** For one entry: its meter's cycle, the totals of the meter its units are in by now, and the cap of its link or the end of its job. */
export async function whyFactsOf(
  ctx: Reader,
  entry: Doc<"entries">,
): Promise<Infer<typeof whyFactsValidator>> {
  const meter = must(await ctx.db.get(entry.meterId), `the meter of entry ${entry._id} is gone`);
  const mover = await moverOf(ctx, entry);
  const billed =
    mover === null ? meter : must(await ctx.db.get(mover.meterId), `the meter of entry ${mover._id} is gone`);
  // Counters that are wrong are a reason to look at an entry, not one to show nothing.
  const ledgerUnits = Number(await ledgerSumOf(ctx, billed._id));
  return {
    cycle: { name: meter.cycle, startMs: meter.cycleStartMs, endMs: meter.cycleEndMs },
    agreement: await agreementOf(ctx, meter),
    cap: entry.origin.kind === "click" ? await capOf(ctx, entry.origin.linkId) : null,
    job: entry.origin.kind === "job" ? await endOf(ctx, entry.origin.jobId) : null,
    moved: mover === null ? null : await movedTo(ctx, mover, billed),
    ledgerUnits,
    confirmed: (await reportStateOf(ctx, billed._id)).confirmed,
    proof: await proofOf(ctx, billed, ledgerUnits),
  };
}

/** The last row that brought the units of an entry to another meter; null when they are where they were booked. */
async function moverOf(ctx: Reader, { _id, units }: Doc<"entries">): Promise<Doc<"entries"> | null> {
  const corrections = await ctx.db
    .query("entries")
    .withIndex("by_corrected", (q) => q.eq("correctsEntryId", _id))
    .order("desc")
    .take(CORRECTIONS_MAX);
  // Of each pair the one with the sign of the entry is where the units went.
  return corrections.find((row) => row.origin.kind === "move" && row.units > 0 === units > 0) ?? null;
}

async function movedTo(
  ctx: Reader,
  { _id: entryId, _creationTime: bookedAtMs, cycle }: Doc<"entries">,
  meter: Doc<"meters">,
): Promise<NonNullable<Infer<typeof whyFactsValidator>["moved"]>> {
  const { agreementId } = meter;
  const planKey = (await agreementOf(ctx, meter))?.planKey ?? null;
  return { entryId, bookedAtMs, agreementId, planKey, cycle };
}

async function agreementOf(
  ctx: Reader,
  { agreementId }: Doc<"meters">,
): Promise<Infer<typeof whyFactsValidator>["agreement"]> {
  if (agreementId === null) return null;
  const row = await findAgreement(ctx, agreementId);
  const { planKey, fromMs } = must(row, `agreement ${agreementId} of a meter is gone`);
  return { planKey, fromMs };
}

async function endOf(ctx: Reader, jobId: Id<"jobs">): Promise<Infer<typeof whyFactsValidator>["job"]> {
  const { status, heldUnits, usedUnits, overCapUnits } = must(
    await ctx.db.get(jobId),
    `job ${jobId} of an entry is gone`,
  );
  if (status === "running") throw new AssertionError(`job ${jobId} has an entry and runs`);
  return { status, heldUnits, usedUnits, overCapUnits };
}

async function capOf(
  ctx: Reader,
  linkId: Id<"links">,
): Promise<{ capUnits: number; billedUnits: number } | null> {
  const link = await ctx.db.get(linkId);
  if (link === null || link.capUnits === null) return null;
  const counters = await ctx.db
    .query("linkTotals")
    .withIndex("by_link_shard", (q) => q.eq("linkId", linkId))
    .take(LINK_SHARDS_MAX);
  return {
    capUnits: link.capUnits,
    billedUnits: counters.reduce((sum, { billedUnits }) => sum + billedUnits, 0),
  };
}

function keep<K, V>(read: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const kept = new Map<K, V>();
  return async (key) => {
    if (!kept.has(key)) kept.set(key, await read(key));
    return kept.get(key) as V;
  };
}
