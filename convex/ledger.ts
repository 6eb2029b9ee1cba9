import { cycleByName } from "../lib/ledger/cycle";
import { type Meter, meterFinder, type MeteredAccount } from "../lib/ledger/meter";
import { addToShard, chooseShard } from "../lib/ledger/shard";
import { must } from "../lib/shared/assert";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";

/**
 * The one writer of the ledger. An entry, its counter and the mark that says "this meter may be behind" are written
 * in one transaction, and a key that is there already adds nothing.
 */

/** Agreements of one account: a plan change makes one. */
const AGREEMENTS_MAX = 1_000;

export interface EntryInput {
  readonly key: string;
  readonly units: number;
  readonly atMs: number;
  readonly origin: Doc<"entries">["origin"];
  readonly budgetCycle?: string;
  readonly correctsEntryId?: Id<"entries">;
}

/** What of an account decides the meter of an instant. */
export async function meteredAccount(
  ctx: Pick<QueryCtx, "db">,
  account: Doc<"accounts">,
): Promise<MeteredAccount> {
  // What the lab does is counted and never sent, whatever agreements its account may have.
  const agreements =
    account.source === "lab"
      ? []
      : await ctx.db
          .query("agreements")
          .withIndex("by_account", (q) => q.eq("accountId", account._id))
          .take(AGREEMENTS_MAX);
  return { accountId: account._id, anchorMs: account.cycleAnchorMs, agreements };
}

/**
 * Books entries that belong to the meters of their instants. Returns the entries that were new, in order. Entries of
 * one call that fall into one meter share a shard, so a batch of one meter touches one counter.
 */
export async function recordEntries(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  feature: string,
  inputs: readonly EntryInput[],
  nowMs: number,
): Promise<EntryInput[]> {
  const added = await unbooked(ctx, inputs);
  await recordNewEntries(ctx, account, await meteredAccount(ctx, account), feature, added, nowMs);
  return added;
}

/** Those whose key is not there yet, of several with one key the first. */
export async function unbooked<T extends { readonly key: string }>(
  ctx: Pick<QueryCtx, "db">,
  inputs: readonly T[],
): Promise<T[]> {
  const found = new Map<string, T>();
  for (const input of inputs) {
    if (!found.has(input.key) && !(await isBooked(ctx, input.key))) found.set(input.key, input);
  }
  return [...found.values()];
}

/** `recordEntries` for whoever has asked `unbooked` in this very transaction. */
export async function recordNewEntries(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  metered: MeteredAccount,
  feature: string,
  inputs: readonly EntryInput[],
  nowMs: number,
): Promise<void> {
  const meters = new Map<string, { meter: Doc<"meters">; units: number; shard: number }>();
  const meterOf = meterFinder(metered, feature);
  for (const input of inputs) {
    const wanted = meterOf(input.atMs);
    const name = `${wanted.agreementId} ${wanted.cycle}`;
    let place = meters.get(name);
    if (place === undefined) {
      const meter = await openMeter(ctx, account, wanted);
      place = { meter, units: 0, shard: chooseShard(Math.random()) };
      meters.set(name, place);
    }
    await insertEntry(ctx, place.meter, place.shard, input);
    place.units += input.units;
  }
  for (const { meter, units, shard } of meters.values()) {
    await addUnits(ctx, meter._id, shard, units);
    await markMeter(ctx, meter._id, nowMs);
  }
}

/** Books one entry into a meter that is given, as corrections and decided reviews do. False when its key is there. */
export async function recordInMeter(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  input: EntryInput,
  nowMs: number,
): Promise<boolean> {
  if (await isBooked(ctx, input.key)) return false;
  const shard = chooseShard(Math.random());
  await insertEntry(ctx, meter, shard, input);
  await addUnits(ctx, meter._id, shard, input.units);
  await markMeter(ctx, meter._id, nowMs);
  return true;
}

/** The row of a meter, made when it is the first time that something is booked in it. */
export async function openMeter(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { agreementId, feature, cycle }: Meter,
): Promise<Doc<"meters">> {
  const found = await ctx.db
    .query("meters")
    .withIndex("by_account_feature_cycle", (q) =>
      q.eq("accountId", account._id).eq("feature", feature).eq("cycle", cycle).eq("agreementId", agreementId),
    )
    .unique();
  if (found !== null) return found;
  const span = must(cycleByName(account.cycleAnchorMs, cycle), `${cycle} is no cycle of ${account._id}`);
  const { startMs: cycleStartMs, endMs: cycleEndMs } = span;
  const fields = { accountId: account._id, agreementId, feature, cycle, cycleStartMs, cycleEndMs };
  const meterId = await ctx.db.insert("meters", fields);
  // The next boundary is decided by the anchor that this meter was made with.
  if (account.cycleAnchorFrozenAtMs === null) {
    await ctx.db.patch(account._id, { cycleAnchorFrozenAtMs: Date.now() });
  }
  return (await ctx.db.get(meterId))!;
}

/** Says that a meter may be behind. One mark is enough; an earlier due time wins. */
export async function markMeter(ctx: MutationCtx, meterId: Id<"meters">, dueAtMs: number): Promise<void> {
  const mark = await ctx.db
    .query("marks")
    .withIndex("by_meter", (q) => q.eq("meterId", meterId))
    .unique();
  if (mark === null) await ctx.db.insert("marks", { meterId, dueAtMs });
  else if (dueAtMs < mark.dueAtMs) await ctx.db.patch(mark._id, { dueAtMs });
}

async function isBooked(ctx: Pick<QueryCtx, "db">, key: string): Promise<boolean> {
  const entry = await ctx.db
    .query("entries")
    .withIndex("by_key", (q) => q.eq("key", key))
    .first();
  return entry !== null;
}

async function insertEntry(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  shard: number,
  { key, units, atMs, origin, budgetCycle, correctsEntryId }: EntryInput,
): Promise<void> {
  const { accountId, feature, cycle } = meter;
  await ctx.db.insert("entries", {
    accountId,
    meterId: meter._id,
    shard,
    feature,
    cycle,
    key,
    units,
    atMs,
    origin,
    budgetCycle: budgetCycle ?? null,
    correctsEntryId: correctsEntryId ?? null,
  });
}

async function addUnits(
  ctx: MutationCtx,
  meterId: Id<"meters">,
  shard: number,
  units: number,
): Promise<void> {
  if (units === 0) return;
  const counter = await ctx.db
    .query("shards")
    .withIndex("by_meter_shard", (q) => q.eq("meterId", meterId).eq("shard", shard))
    .unique();
  if (counter === null) await ctx.db.insert("shards", { meterId, shard, units: addToShard(0, units) });
  else await ctx.db.patch(counter._id, { units: addToShard(counter.units, units) });
}
