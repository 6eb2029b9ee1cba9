import { mergedStream, stream } from "convex-helpers/server/stream";
import { type ObjectType, v } from "convex/values";

import { FEATURE_TOKENS } from "../lib/gate/types";
import { cycleAt, cycleByName } from "../lib/ledger/cycle";
import { FEATURE_CLICKS } from "../lib/ledger/meter";
import type { Doc } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { entryReader, type EntryView, entryViewValidator } from "./entryRows";
import { accountQuery, operatorQuery, refuse } from "./functions";
import { findAccount, hasPart, nextCursor } from "./rows";
import schema from "./schema";

/** The ledger as its screen shows it: the newest row first, which `entries.list` of the API does not have. */

const PAGE = 25;
/** A page looks through this many rows at most; one with a filter may be short and still have a next one. */
const ROWS_READ_MAX = 1_000;

/** The first cycle in which anything was counted, so that no earlier one is offered; null before the first entry. */
export const firstCycle = accountQuery({
  scope: "usage:read",
  args: {},
  returns: v.union(v.string(), v.null()),
  handler: async (ctx) => {
    const names: string[] = [];
    for (const feature of [FEATURE_CLICKS, FEATURE_TOKENS]) {
      const meter = await ctx.db
        .query("meters")
        .withIndex("by_account_feature_cycle", (q) =>
          q.eq("accountId", ctx.principal.accountId).eq("feature", feature),
        )
        .first();
      if (meter !== null) names.push(meter.cycle);
    }
    return names.toSorted()[0] ?? null;
  },
});

const filterArgs = {
  /** The name of a cycle. Left out: the current one. */
  cycle: v.optional(v.string()),
  feature: v.optional(v.union(v.literal(FEATURE_CLICKS), v.literal(FEATURE_TOKENS))),
  /** Also the rows that count for nothing. */
  all: v.boolean(),
  linkId: v.optional(v.string()),
  /** Part of the code of a link or of the key of a job, whatever its case. */
  text: v.optional(v.string()),
  cursor: v.union(v.string(), v.null()),
};
const pageReturns = v.object({
  cycle: v.object({ name: v.string(), startMs: v.number(), endMs: v.number() }),
  entries: v.array(entryViewValidator),
  cursor: v.union(v.string(), v.null()),
});

export const recent = accountQuery({
  scope: "usage:read",
  args: filterArgs,
  returns: pageReturns,
  handler: (ctx, filter) => readPage(ctx, ctx.principal.account, filter),
});

/** The same of any account, for an operator whom its customer asks why. */
export const ofAccount = operatorQuery({
  args: { accountId: v.string(), ...filterArgs },
  returns: v.object({ entries: v.array(entryViewValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { accountId, ...filter }) => {
    const account = await findAccount(ctx, accountId);
    if (account === null) return { entries: [], cursor: null };
    const { entries, cursor } = await readPage(ctx, account, filter);
    return { entries, cursor };
  },
});

async function readPage(
  ctx: QueryCtx,
  account: Doc<"accounts">,
  { cycle: named, feature, all, linkId, text, cursor }: ObjectType<typeof filterArgs>,
) {
  const cycle =
    named === undefined
      ? cycleAt(account.cycleAnchorMs, Date.now())
      : (cycleByName(account.cycleAnchorMs, named) ?? refuse("invalid", "cycle is not the name of a cycle"));
  const view = entryReader(ctx);
  const features = feature === undefined ? [FEATURE_CLICKS, FEATURE_TOKENS] : [feature];
  const rows = mergedStream(
    features.map((one) =>
      stream(ctx.db, schema)
        .query("entries")
        .withIndex("by_account_feature_cycle", (q) =>
          q.eq("accountId", account._id).eq("feature", one).eq("cycle", cycle.name),
        )
        .order("desc"),
    ),
    ["atMs", "_creationTime"],
  ).filterWith(async (row) => {
    if (!(all || row.units !== 0) || !isOfLink(row, linkId)) return false;
    return text === undefined || hasPart([nameOf(await view(row))], text);
  });
  const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
  const entries = [];
  for (const row of page.page) entries.push(await view(row));
  const { name, startMs, endMs } = cycle;
  return { cycle: { name, startMs, endMs }, entries, cursor: nextCursor(page) };
}

function isOfLink({ origin }: Doc<"entries">, linkId: string | undefined): boolean {
  return linkId === undefined || (origin.kind === "click" && origin.linkId === linkId);
}

/** What an entry is known by: the code, the key, or what it corrects. */
function nameOf({ key, origin }: EntryView): string {
  return origin.kind === "click" ? origin.code : origin.kind === "job" ? origin.jobKey : key;
}
