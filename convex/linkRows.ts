import { shortLinksFrom, type ShortLinks } from "../lib/ledger/short-links";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";

/** Look-ups and counters of links, for links.ts and clicks.ts. */

type Reader = Pick<QueryCtx, "db">;

/**
 * Counters of a link: fewer than a meter has, because clicks of one link come in one batch at a time from each web
 * process, and a page of links reads all of them.
 */
export const LINK_SHARDS = 16;

/** Throws an Error when this deployment does not know where its short links live. */
export function shortLinks(): ShortLinks {
  return shortLinksFrom(process.env.HOLDFAST_SHORT_URL, process.env.KINDE_SITE_URL);
}

/** A deleted link too: its code stays taken. */
export function findLinkByCode(ctx: Reader, code: string): Promise<Doc<"links"> | null> {
  return ctx.db
    .query("links")
    .withIndex("by_code", (q) => q.eq("code", code))
    .unique();
}

/** All billable clicks that a link has. */
export async function billedUnitsOf(ctx: Reader, linkId: Id<"links">): Promise<number> {
  const counters = await ctx.db
    .query("linkTotals")
    .withIndex("by_link_shard", (q) => q.eq("linkId", linkId))
    .take(LINK_SHARDS);
  return counters.reduce((sum, { billedUnits }) => sum + billedUnits, 0);
}

export async function addBilledUnits(
  ctx: MutationCtx,
  linkId: Id<"links">,
  shard: number,
  units: number,
): Promise<void> {
  if (units === 0) return;
  const counter = await ctx.db
    .query("linkTotals")
    .withIndex("by_link_shard", (q) => q.eq("linkId", linkId).eq("shard", shard))
    .unique();
  if (counter === null) await ctx.db.insert("linkTotals", { linkId, shard, billedUnits: units });
  else await ctx.db.patch(counter._id, { billedUnits: counter.billedUnits + units });
}

export async function addStats(
  ctx: MutationCtx,
  { count, ...counted }: Omit<Doc<"linkStats">, "_id" | "_creationTime">,
): Promise<void> {
  const row = await ctx.db
    .query("linkStats")
    .withIndex("by_link_hour", (q) =>
      q
        .eq("linkId", counted.linkId)
        .eq("hourMs", counted.hourMs)
        .eq("class", counted.class)
        .eq("shard", counted.shard),
    )
    .unique();
  if (row === null) await ctx.db.insert("linkStats", { ...counted, count });
  else await ctx.db.patch(row._id, { count: row.count + count });
}
