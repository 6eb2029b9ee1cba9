import { type Infer, v } from "convex/values";

import { sumUnits } from "../lib/gate/audit";
import { SHARDS } from "../lib/ledger/shard";
import { MINUTE_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery, type QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import { openReview } from "./reviews";

/**
 * Checks the counters of a meter against its rows and rebuilds one that differs.
 *
 * A shard is compared with its counter in one snapshot. One with more rows than a function may read is added up in
 * pages first. Entries are never changed, and those that are a minute old are followed by none that is older, so the
 * sum up to such an entry is a checkpoint that stays right however busy the meter is; the rest and the counter are
 * then read together.
 */

/** A transaction that began before this long ago has committed or failed: no entry can appear behind a checkpoint. */
const SETTLED_AGE_MS = MINUTE_MS;
/** Of at most 4 KB each: below the 16 MiB that a function may read, and added up well within its second. */
const PAGE_ROWS = 2_000;
const PAGE_TRIES = 3;
/** Rows of small shards that are read together. A meter of few rows takes one function in all. */
const SMALL_ROWS = 500;
/** Pages of one meter: some hundred million rows. */
const PAGES_MAX = 100_000;

const checkpointValidator = v.object({
  /** The creation time of the last entry that is in the sum. */
  untilCreationTime: v.number(),
  units: v.number(),
});
type Checkpoint = Infer<typeof checkpointValidator>;

const placeValidator = v.object({ shard: v.number(), checkpoint: v.union(checkpointValidator, v.null()) });
type Place = Infer<typeof placeValidator>;

const pageValidator = v.object({
  rows: v.number(),
  /** Shards whose counter is not the sum of their rows. */
  differing: v.array(placeValidator),
  /** A shard that takes more entries in a minute than a page holds: it cannot be compared. */
  tooLarge: v.union(v.number(), v.null()),
  next: v.union(placeValidator, v.null()),
});
type Page = Infer<typeof pageValidator>;

export interface ShardsChecked {
  readonly rows: number;
  readonly rebuilt: number;
  /** What the rebuilding added to the sum of the counters. */
  readonly rebuiltUnits: number;
}

/** Checks all counters of a meter. `onPage` is told of the rows of each page. */
export async function checkShards(
  ctx: ActionCtx,
  meterId: Id<"meters">,
  onPage: (rows: number) => Promise<void>,
): Promise<ShardsChecked> {
  let checked: ShardsChecked = { rows: 0, rebuilt: 0, rebuiltUnits: 0 };
  let place: Place | null = { shard: 0, checkpoint: null };
  for (let pages = 0; place !== null && pages < PAGES_MAX; pages += 1) {
    const page: Page = await readPage(ctx, meterId, place);
    for (const differing of page.differing) {
      const changedUnits: number = await ctx.runMutation(internal.shardCheck.rebuild, {
        meterId,
        ...differing,
      });
      checked = {
        ...checked,
        rebuilt: checked.rebuilt + (changedUnits === 0 ? 0 : 1),
        rebuiltUnits: checked.rebuiltUnits + changedUnits,
      };
    }
    if (page.tooLarge !== null) {
      await ctx.runMutation(internal.shardCheck.noteTooLarge, { meterId, shard: page.tooLarge });
    }
    checked = { ...checked, rows: checked.rows + page.rows };
    await onPage(page.rows);
    place = page.next;
  }
  return checked;
}

/** Reading changes nothing, so what a busy machine made too slow is read again. */
async function readPage(ctx: ActionCtx, meterId: Id<"meters">, place: Place): Promise<Page> {
  for (let triesLeft = PAGE_TRIES - 1; triesLeft > 0; triesLeft -= 1) {
    try {
      return await ctx.runQuery(internal.shardCheck.page, { meterId, ...place });
    } catch {
      continue;
    }
  }
  return await ctx.runQuery(internal.shardCheck.page, { meterId, ...place });
}

const placeArgs = {
  meterId: v.id("meters"),
  shard: v.number(),
  checkpoint: v.union(checkpointValidator, v.null()),
};

/**
 * Compares a shard, or a page of it, and then the shards behind it as long as they are small. A page comes in one call
 * to the database and a function may ask for one only; the small ones are read row by row, which takes longer for each.
 */
export const page = internalQuery({
  args: placeArgs,
  returns: pageValidator,
  handler: async (ctx, { meterId, shard: firstShard, checkpoint }): Promise<Page> => {
    const counters = await countersFrom(ctx, meterId, firstShard);
    const differing: Place[] = [];
    const compare = (place: Place, rows: readonly Doc<"entries">[]): void => {
      const units = (place.checkpoint?.units ?? 0) + sumUnits(rows);
      if (units !== (counters.get(place.shard) ?? 0)) differing.push(place);
    };
    const { rows, isAll } = await pageAfter(ctx, meterId, firstShard, checkpoint);
    if (!isAll) {
      const summed = beforeTheLast(rows, Date.now() - SETTLED_AGE_MS);
      if (summed.length === 0) {
        return { rows: 0, differing, tooLarge: firstShard, next: startOf(firstShard + 1) };
      }
      const units = (checkpoint?.units ?? 0) + sumUnits(summed);
      const next = {
        shard: firstShard,
        checkpoint: { untilCreationTime: summed.at(-1)!._creationTime, units },
      };
      return { rows: summed.length, differing, tooLarge: null, next };
    }
    compare({ shard: firstShard, checkpoint }, rows);
    let rowsRead = rows.length;
    let shard = firstShard + 1;
    // Entries fall into shards at random, so where the first was large the next one is not tried.
    for (let left = SMALL_ROWS - rowsRead; left > 0 && shard < SHARDS; shard += 1) {
      const small = await rowsAfter(ctx, meterId, shard).take(left);
      if (small.length === left) break;
      compare({ shard, checkpoint: null }, small);
      rowsRead += small.length;
      left -= small.length;
    }
    return { rows: rowsRead, differing, tooLarge: null, next: startOf(shard) };
  },
});

function startOf(shard: number): Place | null {
  return shard < SHARDS ? { shard, checkpoint: null } : null;
}

/** Compares again in its own snapshot and writes the counter where it still differs. Returns by how much it did. */
export const rebuild = internalMutation({
  args: placeArgs,
  returns: v.number(),
  handler: async (ctx, { meterId, shard, checkpoint }) => {
    const { rows, isAll } = await pageAfter(ctx, meterId, shard, checkpoint);
    // So many new ones since the page was read: the next run compares it.
    if (!isAll) return 0;
    const counter = await ctx.db
      .query("shards")
      .withIndex("by_meter_shard", (q) => q.eq("meterId", meterId).eq("shard", shard))
      .unique();
    const before = counter?.units ?? 0;
    const units = (checkpoint?.units ?? 0) + sumUnits(rows);
    if (units === before) return 0;
    if (counter === null) await ctx.db.insert("shards", { meterId, shard, units });
    else await ctx.db.patch(counter._id, { units });
    const meter = await ctx.db.get(meterId);
    await recordAct(ctx, {
      actor: "reconciler",
      action: "counter_rebuilt",
      accountId: meter?.accountId ?? null,
      details: { meterId, shard, before, after: units },
      nowMs: Date.now(),
    });
    return units - before;
  },
});

export const noteTooLarge = internalMutation({
  args: { meterId: v.id("meters"), shard: v.number() },
  returns: v.null(),
  handler: async (ctx, { meterId, shard }) => {
    const meter = await ctx.db.get(meterId);
    await openReview(ctx, {
      kind: "audit_too_large",
      subject: `${meterId}/${shard}`,
      accountId: meter?.accountId ?? null,
      detail: `more than ${PAGE_ROWS} new entries in counter ${shard}: not compared with its rows`,
      nowMs: Date.now(),
    });
    return null;
  },
});

type Reader = Pick<QueryCtx, "db">;

async function countersFrom(ctx: Reader, meterId: Id<"meters">, shard: number): Promise<Map<number, number>> {
  const counters = await ctx.db
    .query("shards")
    .withIndex("by_meter_shard", (q) => q.eq("meterId", meterId).gte("shard", shard))
    .take(SHARDS);
  return new Map(counters.map((counter) => [counter.shard, counter.units]));
}

function rowsAfter(ctx: Reader, meterId: Id<"meters">, shard: number, untilCreationTime = 0) {
  return ctx.db
    .query("entries")
    .withIndex("by_meter_shard", (q) =>
      q.eq("meterId", meterId).eq("shard", shard).gt("_creationTime", untilCreationTime),
    );
}

/** The rows behind a checkpoint, as many as one page takes. */
async function pageAfter(
  ctx: Reader,
  meterId: Id<"meters">,
  shard: number,
  checkpoint: Checkpoint | null,
): Promise<{ rows: Doc<"entries">[]; isAll: boolean }> {
  const rows = rowsAfter(ctx, meterId, shard, checkpoint?.untilCreationTime);
  const { page, isDone } = await rows.paginate({ numItems: PAGE_ROWS, cursor: null });
  return { rows: page, isAll: isDone };
}

/** The settled rows of a full page without those of its last creation time, of which there may be more behind it. */
function beforeTheLast(rows: readonly Doc<"entries">[], settledBeforeMs: number): Doc<"entries">[] {
  const lastTime = rows.at(-1)?._creationTime ?? 0;
  return rows.filter((row) => row._creationTime < lastTime && row._creationTime <= settledBeforeMs);
}
