import { v } from "convex/values";

import { classifyClick, type ClickClass, unitsOf } from "../lib/ledger/classify";
import { type CheckedClick, CLICKS_MAX, checkClick } from "../lib/ledger/click";
import { FEATURE_CLICKS, meterFinder, meterKey, type MeteredAccount } from "../lib/ledger/meter";
import { HOUR_MS } from "../lib/shared/durations";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { serverMutation } from "./functions";
import { type EntryInput, meteredAccount, recordNewEntries, unbooked } from "./ledger";
import { addBilledUnits, addStats, billedUnitsOf, LINK_SHARDS } from "./linkRows";

/** Clicks on their way into the ledger. */

/** Only that it is an object of the right fields; lib/ledger/click.ts judges them, so that a bad one is refused for good. */
const sentClick = v.object({
  key: v.string(),
  linkId: v.string(),
  accountId: v.string(),
  atMs: v.number(),
  served: v.string(),
  class: v.string(),
  rule: v.string(),
  referrer: v.union(v.string(), v.null()),
  agent: v.union(v.string(), v.null()),
});

/**
 * Writes clicks of one link: entries, counters, stats and the mark of the meter, in one transaction. A key that is
 * there adds nothing, whatever else comes with it. `count` clicks at the head of the batch are in the ledger now; fewer
 * than all when the next one belongs to another meter. `refused`: none of them can ever be written as they are.
 */
export const record = serverMutation({
  args: { linkId: v.string(), accountId: v.string(), clicks: v.array(sentClick) },
  returns: v.union(
    v.object({ kind: v.literal("written"), count: v.number() }),
    v.object({ kind: v.literal("refused"), reason: v.string() }),
  ),
  handler: async (ctx, args) => {
    const link = await findLink(ctx, args.linkId);
    if (link === null) return refused("there is no such link");
    // The account of the link counts, not the one that a cache remembers.
    const account = await survivorOf(ctx, link.accountId);
    if (account === null) return refused("the link belongs to no account");
    if (args.clicks.length < 1 || args.clicks.length > CLICKS_MAX) {
      return refused(`a batch has 1 to ${CLICKS_MAX} clicks`);
    }
    const clicks: CheckedClick[] = [];
    for (const sent of args.clicks) {
      const click = sent.linkId === args.linkId ? checkClick(sent) : null;
      if (click === null) return refused("the batch holds what is no click of this link");
      clicks.push(click);
    }
    const metered = await meteredAccount(ctx, account);
    const head = headOf(metered, clicks);
    const entries = await classified(ctx, link, await unbooked(ctx, head));
    await recordNewEntries(ctx, account, metered, FEATURE_CLICKS, entries, Date.now());
    await count(ctx, link, entries);
    return { kind: "written" as const, count: head.length };
  },
});

function refused(reason: string) {
  return { kind: "refused" as const, reason };
}

async function findLink(ctx: MutationCtx, linkId: string): Promise<Doc<"links"> | null> {
  const id = ctx.db.normalizeId("links", linkId);
  return id === null ? null : await ctx.db.get(id);
}

/** The account itself, or the one that it was merged into. */
async function survivorOf(
  ctx: MutationCtx,
  accountId: Doc<"links">["accountId"],
): Promise<Doc<"accounts"> | null> {
  const account = await ctx.db.get(accountId);
  const mergedInto = account?.mergedIntoAccountId ?? null;
  return mergedInto === null ? account : await ctx.db.get(mergedInto);
}

/** The clicks up to the first one of another meter, so that one transaction touches one meter and one shard. */
function headOf(metered: MeteredAccount, clicks: readonly CheckedClick[]): CheckedClick[] {
  const meterOf = meterFinder(metered, FEATURE_CLICKS);
  const nameOf = ({ atMs }: CheckedClick) => meterKey(meterOf(atMs));
  const first = clicks[0] === undefined ? "" : nameOf(clicks[0]);
  const end = clicks.findIndex((click) => nameOf(click) !== first);
  return clicks.slice(0, end === -1 ? clicks.length : end);
}

type ClickEntry = EntryInput & { readonly origin: { readonly kind: "click"; readonly class: ClickClass } };

/** The final class of each click, one after the other: with a cap, those billed before it count. */
async function classified(
  ctx: MutationCtx,
  link: Doc<"links">,
  clicks: readonly CheckedClick[],
): Promise<ClickEntry[]> {
  const { inactiveSinceMs, capUnits } = link;
  let billedUnits = capUnits === null ? 0 : await billedUnitsOf(ctx, link._id);
  return clicks.map(({ key, atMs, served, seen, referrer, agent }) => {
    const verdict = classifyClick({ atMs, served, seen }, { inactiveSinceMs, capUnits, billedUnits });
    const units = unitsOf(verdict.class);
    billedUnits += units;
    return { key, atMs, units, origin: { kind: "click", linkId: link._id, ...verdict, referrer, agent } };
  });
}

async function count(ctx: MutationCtx, link: Doc<"links">, entries: readonly ClickEntry[]): Promise<void> {
  const shard = Math.floor(Math.random() * LINK_SHARDS);
  const units = entries.reduce((sum, entry) => sum + entry.units, 0);
  await addBilledUnits(ctx, link._id, shard, units);
  const counts = new Map<string, { hourMs: number; class: ClickClass; count: number }>();
  for (const { atMs, origin } of entries) {
    const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
    const name = `${hourMs} ${origin.class}`;
    const known = counts.get(name) ?? { hourMs, class: origin.class, count: 0 };
    counts.set(name, { ...known, count: known.count + 1 });
  }
  for (const counted of counts.values()) await addStats(ctx, { linkId: link._id, shard, ...counted });
}
