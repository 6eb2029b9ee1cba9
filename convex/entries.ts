import type { IndexRange, IndexRangeBuilder } from "convex/server";
import { v } from "convex/values";

import { FEATURE_TOKENS } from "../lib/gate/types";
import { cycleAt, cycleByName } from "../lib/ledger/cycle";
import {
  entryCursorText,
  type EntryPosition,
  inEntryOrder,
  parseEntryCursor,
} from "../lib/ledger/entry-order";
import { FEATURE_CLICKS } from "../lib/ledger/meter";
import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { entryReader, entryViewValidator, whyFactsOf, whyFactsValidator } from "./entryRows";
import { accountQuery, operatorQuery, refuse } from "./functions";
import { findLinkByCode } from "./linkRows";

/** The ledger as its account sees it: the rows of a cycle in time order, and why one of them was billed. */

const LIST_LIMIT_MAX = 100;
/** Rows of a page of an export. A row is under 2 KB, and each may need one more read for its job. */
const EXPORT_PAGE = 500;
/** A page looks through this many rows at most: a cycle may hold long runs of rows that count for nothing. */
const ROWS_READ_MAX = 1_000;
/** Every feature that is metered, in order of their names. Without a feature a listing merges them by time. */
const FEATURES = [FEATURE_CLICKS, FEATURE_TOKENS] as const;

const featureValidator = v.union(v.literal(FEATURE_CLICKS), v.literal(FEATURE_TOKENS));

const listArgs = {
  /** The name of a cycle. Left out: the current one. */
  cycle: v.optional(v.string()),
  feature: v.optional(featureValidator),
  /** Also the rows that count for nothing. */
  all: v.optional(v.boolean()),
  cursor: v.union(v.string(), v.null()),
  nowMs: v.optional(v.number()),
};

const pageValidator = v.object({
  cycle: v.object({ name: v.string(), startMs: v.number(), endMs: v.number() }),
  entries: v.array(entryViewValidator),
  /** Null after the last page. A page may be short, or even empty, and have a next one. */
  cursor: v.union(v.string(), v.null()),
});

export const list = accountQuery({
  scope: "usage:read",
  args: { ...listArgs, limit: v.number() },
  returns: pageValidator,
  handler: async (ctx, { limit, ...args }) => {
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    return await readPage(ctx, ctx.principal.account, args, limit);
  },
});

/** The same rows in larger pages, for a caller that takes them all. */
export const exportPage = accountQuery({
  scope: "usage:read",
  args: listArgs,
  returns: pageValidator,
  handler: async (ctx, args) => await readPage(ctx, ctx.principal.account, args, EXPORT_PAGE),
});

const whyReturns = v.union(v.object({ entry: entryViewValidator, facts: whyFactsValidator }), v.null());

/** The facts behind one entry of the account, for lib/ledger/why.ts. Null when the account has no such entry. */
export const why = accountQuery({
  scope: "usage:read",
  args: { entryId: v.string() },
  returns: whyReturns,
  handler: async (ctx, { entryId }) => {
    const entry = await findEntry(ctx, entryId);
    return entry?.accountId === ctx.principal.accountId ? await explain(ctx, entry) : null;
  },
});

/** The same of any account, for an operator whom its customer asks why. */
export const whyForOperator = operatorQuery({
  args: { entryId: v.string() },
  returns: whyReturns,
  handler: async (ctx, { entryId }) => {
    const entry = await findEntry(ctx, entryId);
    return entry === null ? null : await explain(ctx, entry);
  },
});

async function findEntry(ctx: QueryCtx, entryId: string): Promise<Doc<"entries"> | null> {
  const id = ctx.db.normalizeId("entries", entryId);
  return id === null ? null : await ctx.db.get(id);
}

async function explain(ctx: QueryCtx, entry: Doc<"entries">) {
  return { entry: await entryReader(ctx)(entry), facts: await whyFactsOf(ctx, entry) };
}

type CycleRange = IndexRangeBuilder<
  Doc<"entries">,
  ["accountId", "feature", "cycle", "atMs", "_creationTime"],
  3
>;

/** Whose link a code is: for an operator who only knows the code. Null when nobody ever had it. */
export const ownerOfCode = operatorQuery({
  args: { code: v.string() },
  returns: v.union(v.object({ accountId: v.string(), linkId: v.string() }), v.null()),
  handler: async (ctx, { code }) => {
    const link = await findLinkByCode(ctx, code);
    return link === null ? null : { accountId: link.accountId, linkId: link._id };
  },
});

interface PageArgs {
  readonly cycle?: string;
  readonly feature?: (typeof FEATURES)[number];
  readonly all?: boolean;
  readonly cursor: string | null;
  readonly nowMs?: number;
}

async function readPage(ctx: QueryCtx, account: Doc<"accounts">, args: PageArgs, countMax: number) {
  const anchorMs = account.cycleAnchorMs;
  const cycle =
    args.cycle === undefined
      ? cycleAt(anchorMs, args.nowMs ?? Date.now())
      : (cycleByName(anchorMs, args.cycle) ?? refuse("invalid", "cycle is not the name of a cycle"));
  const after = args.cursor === null ? null : (parseEntryCursor(args.cursor) ?? refuseCursor());
  const features = args.feature === undefined ? FEATURES : [args.feature];
  const rows = inEntryOrder(
    features.map((feature) => entriesAfter(ctx, account._id, feature, cycle.name, after)),
  );

  const view = entryReader(ctx);
  const entries = [];
  let read = 0;
  let cursor: string | null = null;
  for await (const row of rows) {
    read += 1;
    if (row.units !== 0 || args.all === true) entries.push(await view(row));
    if (entries.length === countMax || read === ROWS_READ_MAX) {
      cursor = entryCursorText(positionOf(row));
      break;
    }
  }
  return { cycle: { name: cycle.name, startMs: cycle.startMs, endMs: cycle.endMs }, entries, cursor };
}

function refuseCursor(): never {
  refuse("invalid", "the cursor is not from an answer to this query");
}

const positionOf = (row: Doc<"entries">): EntryPosition => ({
  atMs: row.atMs,
  createdAtMs: row._creationTime,
  feature: row.feature,
  id: row._id,
});

/** The entries of a feature and cycle behind a position, in order. Rows are read as they are asked for. */
async function* entriesAfter(
  ctx: QueryCtx,
  accountId: Id<"accounts">,
  feature: string,
  cycle: string,
  after: EntryPosition | null,
): AsyncGenerator<Doc<"entries">> {
  const from = (range: (q: CycleRange) => IndexRange) =>
    ctx.db
      .query("entries")
      .withIndex("by_account_feature_cycle", (q) =>
        range(q.eq("accountId", accountId).eq("feature", feature).eq("cycle", cycle)),
      );
  if (after === null) {
    yield* from((q) => q);
    return;
  }
  const { atMs, createdAtMs } = after;
  // No more than a few entries share both times. Those of features before the named one were listed before it.
  const twins = await from((q) => q.eq("atMs", atMs).eq("_creationTime", createdAtMs)).collect();
  const namedAt = twins.findIndex((row) => row._id === after.id);
  if (feature >= after.feature) yield* twins.slice(namedAt + 1);
  yield* from((q) => q.eq("atMs", atMs).gt("_creationTime", createdAtMs));
  yield* from((q) => q.gt("atMs", atMs));
}
