import { type Infer, v } from "convex/values";

import { msOfNs } from "../lib/inbox/event-time";
import { type EntryRow, pairsThatMove } from "../lib/ledger/corrections";
import { settlesClosedMeter } from "../lib/ledger/late-usage";
import { learnSpans, type Told } from "../lib/ledger/learn-agreements";
import { meterFinder, type MeteredAccount, movableFromMs } from "../lib/ledger/meter";
import { must } from "../lib/shared/assert";
import { MINUTE_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery, type MutationCtx } from "./_generated/server";
import { customerIdOf, kindeClient } from "./kinde";
import { meteredAccount, openMeter, recordInMeter } from "./ledger";
import { findAgreement } from "./meterState";
import { nextCursor } from "./rows";
import { providerValidator } from "./validators";

/**
 * Agreements as the provider tells them. It tells no start, and what was booked between the start of an agreement and
 * the read that brought it lies in the wrong meter; correction pairs move it, in bounded batches that schedule each
 * other, so that a crash leaves nothing half moved for good.
 */

/** Families in one batch. Each may have corrections to read and two rows to write. */
const MOVE_BATCH = 200;
const FAMILY_ROWS_MAX = 100;
/** Meters of one account that are looked through for cycles: two features, for decades. */
const METERS_MAX = 2_000;

export type Learnt = "learnt" | "failed";

/**
 * Reads the agreements of an account and stores what is new. Callers go on whatever comes of it: until it succeeds,
 * usage is counted under the agreement that is known, or under none.
 */
export async function learnAgreements(ctx: ActionCtx, accountId: Id<"accounts">): Promise<Learnt> {
  const account: ProviderOf = await ctx.runQuery(internal.agreements.providerOf, { accountId });
  try {
    const read = await readListed(ctx, accountId, account);
    if (read === null) return "failed";
    await ctx.runMutation(internal.agreements.learn, { accountId, ...read });
    return "learnt";
  } catch {
    // A deployment without settings for the provider: its writes fail too, and say so.
    return "failed";
  }
}

/** Null when the provider could not tell. */
async function readListed(
  ctx: ActionCtx,
  accountId: Id<"accounts">,
  { provider, isLab }: ProviderOf,
): Promise<{ sentAtMs: number; listed: Listed[] } | null> {
  const sentAtMs = Date.now();
  if (isLab) return { sentAtMs, listed: [] };
  if (provider === "fixed") return { sentAtMs, listed: [fixedAgreement(accountId)] };
  const client = kindeClient(ctx);
  const customerId = await customerIdOf(ctx, client, accountId);
  // Without a customer there is nothing to meter under, which is an answer, unless it could not be looked up.
  if (customerId === null) return null;
  const read = await client.readAgreements({ customerId });
  if (read.kind === "failed") return null;
  const listed = read.agreements.map(({ id, planKey, expiresAtMs }) => {
    return { agreementId: id, planKey, untilMs: expiresAtMs };
  });
  return { sentAtMs: read.sentAtMs, listed };
}

const listedValidator = v.object({
  agreementId: v.string(),
  planKey: v.union(v.string(), v.null()),
  untilMs: v.union(v.number(), v.null()),
});
type Listed = Infer<typeof listedValidator>;

/** The one agreement of an account whose limit an operator sets. It is in force from the beginning and for good. */
export function fixedAgreement(accountId: Id<"accounts">): Listed {
  return { agreementId: `fixed:${accountId}`, planKey: null, untilMs: null };
}

const providerOfValidator = v.object({ provider: providerValidator, isLab: v.boolean() });
type ProviderOf = Infer<typeof providerOfValidator>;

export const providerOf = internalQuery({
  args: { accountId: v.id("accounts") },
  returns: providerOfValidator,
  handler: async (ctx, { accountId }) => {
    const { provider, source } = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    return { provider, isLab: source === "lab" };
  },
});

export const learn = internalMutation({
  args: { accountId: v.id("accounts"), sentAtMs: v.number(), listed: v.array(listedValidator) },
  returns: v.null(),
  handler: async (ctx, { accountId, sentAtMs, listed }) => {
    const account = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    const { agreements: known } = await meteredAccount(ctx, account);
    const learnt = learnSpans(known, listed, sentAtMs, await toldByEvents(ctx, accountId));
    for (const { agreementId, planKey, fromMs, untilMs } of learnt.spans) {
      const row = await findAgreement(ctx, agreementId);
      if (row === null)
        await ctx.db.insert("agreements", { accountId, agreementId, planKey, fromMs, untilMs });
      else await ctx.db.patch(row._id, { untilMs, planKey: planKey ?? row.planKey });
    }
    if (learnt.changedFromMs !== null) {
      const fromMs = movableFromMs(learnt.changedFromMs);
      await moveBatch(ctx, account, { fromMs, at: null, cursor: null });
    }
    return null;
  },
});

/** Two readings of a listing within this time of an event may both be older than the event. Rule source: design §6. */
const FACT_FRESH_MS = 10 * MINUTE_MS;

async function toldByEvents(ctx: MutationCtx, accountId: Id<"accounts">): Promise<Told> {
  const facts = await ctx.db
    .query("planChanges")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .collect();
  const started = facts.filter(({ kind }) => kind !== "agreement_cancelled");
  const freshSinceMs = Date.now() - FACT_FRESH_MS;
  const fresh = facts.filter(({ storedAtMs }) => storedAtMs > freshSinceMs);
  return {
    startedIds: new Set(started.flatMap(({ agreementId }) => agreementId ?? [])),
    freshAtMs: fresh.length === 0 ? null : Math.max(...fresh.map(({ atNs }) => msOfNs(atNs))),
  };
}

/** Re-books, in batches of their own, what was booked since an instant from which the agreements are others. */
export async function rebookFrom(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  changedMs: number,
): Promise<void> {
  const fromMs = movableFromMs(changedMs);
  const [first] = await rangesOf(ctx, account._id, fromMs);
  if (first === undefined) return;
  const place = { accountId: account._id, fromMs, at: null, cursor: null };
  await ctx.scheduler.runAfter(0, internal.agreements.move, place);
}

/** Where the moving stands: entries from `fromMs` on, in a feature and cycle; null for the first. */
interface MovePlace {
  readonly fromMs: number;
  readonly at: Range | null;
  readonly cursor: string | null;
}

export const move = internalMutation({
  args: {
    accountId: v.id("accounts"),
    fromMs: v.number(),
    at: v.union(v.object({ feature: v.string(), cycle: v.string() }), v.null()),
    cursor: v.union(v.string(), v.null()),
  },
  returns: v.null(),
  handler: async (ctx, { accountId, ...place }) => {
    await moveBatch(ctx, must(await ctx.db.get(accountId), `account ${accountId} is gone`), place);
    return null;
  },
});

/** Moves what lies wrong in one page of entries, and schedules the next page when there is one. */
async function moveBatch(ctx: MutationCtx, account: Doc<"accounts">, place: MovePlace): Promise<void> {
  const { fromMs, cursor } = place;
  const ranges = await rangesOf(ctx, account._id, fromMs);
  const current = place.at ?? ranges[0];
  if (current === undefined) return;
  const page = await ctx.db
    .query("entries")
    .withIndex("by_account_feature_cycle", (q) =>
      q
        .eq("accountId", account._id)
        .eq("feature", current.feature)
        .eq("cycle", current.cycle)
        .gte("atMs", fromMs),
    )
    .paginate({ numItems: MOVE_BATCH, cursor });
  await moveFamilies(ctx, account, current.feature, page.page);
  const at = page.isDone ? ranges.find((range) => comesAfter(range, current)) : current;
  if (at === undefined) return;
  const next = { accountId: account._id, fromMs, at, cursor: nextCursor(page) };
  await ctx.scheduler.runAfter(0, internal.agreements.move, next);
}

async function moveFamilies(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  feature: string,
  entries: readonly Doc<"entries">[],
): Promise<void> {
  const metered: MeteredAccount = await meteredAccount(ctx, account);
  const meters = new Map<Id<"meters">, Doc<"meters">>();
  const rowOf = async (entry: Doc<"entries">): Promise<EntryRow> => {
    const meter =
      meters.get(entry.meterId) ?? must(await ctx.db.get(entry.meterId), "an entry without meter");
    meters.set(meter._id, meter);
    const { _id: id, units, atMs, correctsEntryId } = entry;
    return { id, meter, units, atMs, correctsEntryId };
  };
  const rows: EntryRow[] = [];
  for (const entry of entries) {
    // Corrections come with the entry that they correct.
    if (entry.correctsEntryId !== null || settlesClosedMeter(entry.key, entry.origin)) continue;
    const corrections = await ctx.db
      .query("entries")
      .withIndex("by_corrected", (q) => q.eq("correctsEntryId", entry._id))
      .take(FAMILY_ROWS_MAX);
    for (const row of [entry, ...corrections]) rows.push(await rowOf(row));
  }
  const nowMs = Date.now();
  for (const pair of pairsThatMove(rows, meterFinder(metered, feature))) {
    for (const { key, meter, units, atMs, correctsEntryId } of [pair.out, pair.in]) {
      const input = {
        key,
        units,
        atMs,
        origin: { kind: "move" as const },
        correctsEntryId: correctsEntryId as Id<"entries">,
      };
      await recordInMeter(ctx, await openMeter(ctx, account, meter), input, nowMs);
    }
  }
}

interface Range {
  readonly feature: string;
  readonly cycle: string;
}

/** The features and cycles in which entries from this instant on may lie, in order. */
async function rangesOf(ctx: MutationCtx, accountId: Id<"accounts">, fromMs: number): Promise<Range[]> {
  const meters = await ctx.db
    .query("meters")
    .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId))
    .take(METERS_MAX);
  const ranges = new Map<string, Range>();
  for (const { feature, cycle, cycleEndMs } of meters) {
    if (cycleEndMs > fromMs) ranges.set(`${feature} ${cycle}`, { feature, cycle });
  }
  return [...ranges.values()].toSorted((one, other) => (comesAfter(one, other) ? 1 : -1));
}

function comesAfter(one: Range, other: Range): boolean {
  return one.feature === other.feature ? one.cycle > other.cycle : one.feature > other.feature;
}
