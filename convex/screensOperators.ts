import { mergedStream, type QueryStream, stream } from "convex-helpers/server/stream";
import { type Infer, v } from "convex/values";

import type { Doc } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { accountsNamed, eventsNamed, reviewsNamed } from "./exactIds";
import { operatorQuery } from "./functions";
import { ownerReader, ownerValidator } from "./operatorRows";
import { hasPart, nextCursor } from "./rows";
import schema from "./schema";
import { eventViewValidator, viewEvent } from "./inboxEvents";
import { eventStatusValidator } from "./inboxValidators";
import { reviewValidator, viewReview } from "./reviews";

/** The operators' lists with their searches, the newest first and with the names of accounts. */

const PAGE = 20;
/** A page looks through this many rows at most; one with a filter may be short and still have a next one. */
const ROWS_READ_MAX = 500;
const SIGHTINGS_MAX = 50;
/** How rows of several accounts are put in one order. */
const NEWEST = ["_creationTime"];

const cursorValidator = v.union(v.string(), v.null());
/**
 * Part of what a row says, whatever its case. What names a row or its account exactly finds it whatever its age
 * (exactIds.ts).
 */
const text = v.optional(v.string());

const reviewKindValidator = schema.tables.reviews.validator.fields.kind;

export const reviews = operatorQuery({
  args: {
    status: v.union(v.literal("open"), v.literal("decided")),
    kind: v.optional(reviewKindValidator),
    text,
    cursor: cursorValidator,
  },
  returns: v.object({
    reviews: v.array(v.object({ ...reviewValidator.fields, account: ownerValidator })),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { status, kind, text: part, cursor }) => {
    const ownerOf = ownerReader(ctx);
    const isWanted = (review: Doc<"reviews">) =>
      review.status === status && (kind === undefined || review.kind === kind);
    const view = async (rows: readonly Doc<"reviews">[]) => {
      const found = [];
      for (const row of rows) found.push({ ...viewReview(row), account: await ownerOf(row.accountId) });
      return found;
    };
    const named = await reviewsNamed(ctx, part);
    if (named.length > 0) return { reviews: await view(named.filter(isWanted)), cursor: null };
    const owned = (await accountsNamed(ctx, part)).map(({ _id: id }) =>
      stream(ctx.db, schema)
        .query("reviews")
        .withIndex("by_account", (q) => q.eq("accountId", id))
        .order("desc"),
    );
    const all = stream(ctx.db, schema)
      .query("reviews")
      .withIndex("by_status", (q) => q.eq("status", status))
      .order("desc");
    const rows: QueryStream<Doc<"reviews">> = owned.length > 0 ? mergedStream(owned, NEWEST) : all;
    const page = await rows
      .filterWith(async (review) => {
        if (!isWanted(review)) return false;
        if (part === undefined || owned.length > 0) return true;
        const owner = await ownerOf(review.accountId);
        return hasPart([review.detail, review.subject, review.note, owner?.name], part);
      })
      .paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    return { reviews: await view(page.page), cursor: nextCursor(page) };
  },
});

export const events = operatorQuery({
  args: { status: v.optional(eventStatusValidator), text, cursor: cursorValidator },
  returns: v.object({
    events: v.array(v.object({ ...eventViewValidator.fields, account: ownerValidator })),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { status, text: part, cursor }) => {
    const ownerOf = ownerReader(ctx);
    const isWanted = (row: Doc<"inboxEvents">) => status === undefined || row.status === status;
    const view = async (rows: readonly Doc<"inboxEvents">[]) => {
      const found = [];
      for (const row of rows) found.push({ ...viewEvent(row), account: await ownerOf(row.accountId) });
      return found;
    };
    const named = await eventsNamed(ctx, part);
    if (named.length > 0) return { events: await view(named.filter(isWanted)), cursor: null };
    const table = stream(ctx.db, schema).query("inboxEvents");
    const owned = (await accountsNamed(ctx, part)).map(({ _id: id }) =>
      stream(ctx.db, schema)
        .query("inboxEvents")
        .withIndex("by_account", (q) => q.eq("accountId", id))
        .order("desc"),
    );
    const all =
      status === undefined
        ? table.order("desc")
        : table.withIndex("by_status", (q) => q.eq("status", status)).order("desc");
    const rows: QueryStream<Doc<"inboxEvents">> = owned.length > 0 ? mergedStream(owned, NEWEST) : all;
    const page = await rows
      .filterWith(async (row) => {
        if (!isWanted(row)) return false;
        if (part === undefined || owned.length > 0) return true;
        const owner = await ownerOf(row.accountId);
        const { type, eventId, webhookId, error, result } = row;
        return hasPart([type, eventId, webhookId, error, result, owner?.name], part);
      })
      .paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    return { events: await view(page.page), cursor: nextCursor(page) };
  },
});

const auditLineValidator = v.object({
  id: v.string(),
  actor: v.string(),
  action: v.string(),
  account: ownerValidator,
  details: schema.tables.audit.validator.fields.details,
  atMs: v.number(),
});

export const audit = operatorQuery({
  args: { action: v.optional(v.string()), text, cursor: cursorValidator },
  returns: v.object({ lines: v.array(auditLineValidator), cursor: cursorValidator }),
  handler: async (ctx, { action, text: part, cursor }) => {
    const ownerOf = ownerReader(ctx);
    const isWanted = (line: Doc<"audit">) => action === undefined || line.action === action;
    const view = async (rows: readonly Doc<"audit">[]) => {
      const lines: Infer<typeof auditLineValidator>[] = [];
      for (const { _id: id, actor, action: done, accountId, details, atMs } of rows) {
        lines.push({ id, actor, action: done, account: await ownerOf(accountId), details, atMs });
      }
      return lines;
    };
    const id = ctx.db.normalizeId("audit", part ?? "");
    const named = id === null ? null : await ctx.db.get(id);
    if (named !== null) return { lines: await view([named].filter(isWanted)), cursor: null };
    const exact = await actsOf(ctx, part);
    const rows: QueryStream<Doc<"audit">> = exact ?? stream(ctx.db, schema).query("audit").order("desc");
    const page = await rows
      .filterWith(async (line) => {
        if (!isWanted(line)) return false;
        if (part === undefined || exact !== null) return true;
        const owner = await ownerOf(line.accountId);
        return hasPart([line.actor, owner?.name, line.accountId, JSON.stringify(line.details)], part);
      })
      .paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    return { lines: await view(page.page), cursor: nextCursor(page) };
  },
});

/** What was done by whoever a text names, or to the accounts that it names, each line once; null for another text. */
async function actsOf(ctx: QueryCtx, text: string | undefined): Promise<QueryStream<Doc<"audit">> | null> {
  const actor = text?.trim() ?? "";
  if (actor === "") return null;
  const accounts = new Set((await accountsNamed(ctx, text)).map(({ _id }) => _id));
  const acts = [...accounts].map((id) =>
    stream(ctx.db, schema)
      .query("audit")
      .withIndex("by_account", (q) => q.eq("accountId", id))
      .order("desc"),
  );
  const first = await ctx.db
    .query("audit")
    .withIndex("by_actor", (q) => q.eq("actor", actor))
    .first();
  if (first === null) return acts.length === 0 ? null : mergedStream(acts, NEWEST);
  const done = stream(ctx.db, schema)
    .query("audit")
    .withIndex("by_actor", (q) => q.eq("actor", actor))
    .order("desc")
    .filterWith(async ({ accountId }) => accountId === null || !accounts.has(accountId));
  return mergedStream([done, ...acts], NEWEST);
}

const differenceFields = {
  id: v.string(),
  account: ownerValidator,
  providerPlanKey: v.union(v.string(), v.null()),
  endedAgreements: v.number(),
  firstSentAtMs: v.number(),
};

export const drift = operatorQuery({
  args: {
    outcome: v.optional(v.union(v.literal("repaired"), v.literal("gone"))),
    text,
    cursor: cursorValidator,
  },
  returns: v.object({
    evidence: v.array(
      v.object({
        ...differenceFields,
        beforePlanKey: v.string(),
        secondSentAtMs: v.number(),
        outcome: v.union(v.literal("repaired"), v.literal("gone")),
        atMs: v.number(),
      }),
    ),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { outcome, text: part, cursor }) => {
    const ownerOf = ownerReader(ctx);
    const isWanted = (row: Doc<"driftEvidence">) => outcome === undefined || row.outcome === outcome;
    const view = async (rows: readonly Doc<"driftEvidence">[]) => {
      const evidence = [];
      for (const row of rows) {
        const { _id: id, beforePlanKey, providerPlanKey, firstSentAtMs, secondSentAtMs, atMs } = row;
        const seen = { id, account: await ownerOf(row.accountId), providerPlanKey, firstSentAtMs };
        const endedAgreements = row.endedAgreementIds.length;
        const judged = { beforePlanKey, secondSentAtMs, outcome: row.outcome, atMs };
        evidence.push({ ...seen, endedAgreements, ...judged });
      }
      return evidence;
    };
    const rowId = ctx.db.normalizeId("driftEvidence", part ?? "");
    const named = rowId === null ? null : await ctx.db.get(rowId);
    if (named !== null) return { evidence: await view([named].filter(isWanted)), cursor: null };
    const owned = (await accountsNamed(ctx, part)).map(({ _id: id }) =>
      stream(ctx.db, schema)
        .query("driftEvidence")
        .withIndex("by_account", (q) => q.eq("accountId", id))
        .order("desc"),
    );
    const all = stream(ctx.db, schema).query("driftEvidence").order("desc");
    const rows: QueryStream<Doc<"driftEvidence">> = owned.length > 0 ? mergedStream(owned, NEWEST) : all;
    const page = await rows
      .filterWith(async (row) => {
        if (!isWanted(row)) return false;
        if (part === undefined || owned.length > 0) return true;
        const owner = await ownerOf(row.accountId);
        return hasPart([owner?.name, row.beforePlanKey, row.providerPlanKey, row.accountId], part);
      })
      .paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    return { evidence: await view(page.page), cursor: nextCursor(page) };
  },
});

/** Differences that were seen once; nothing is believed before the second reading. */
export const sightings = operatorQuery({
  args: {},
  returns: v.array(v.object({ ...differenceFields, planKey: v.string() })),
  handler: async (ctx) => {
    const rows = await ctx.db.query("driftSightings").order("desc").take(SIGHTINGS_MAX);
    const found = [];
    for (const { _id: id, accountId, firstSentAtMs, planKey: providerPlanKey, endedAgreementIds } of rows) {
      const account = await ctx.db.get(accountId);
      const owner = account === null ? null : { id: accountId, name: account.name };
      const seen = { id, account: owner, providerPlanKey, firstSentAtMs };
      found.push({ ...seen, endedAgreements: endedAgreementIds.length, planKey: account?.planKey ?? "" });
    }
    return found;
  },
});
