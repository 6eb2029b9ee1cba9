import { stream } from "convex-helpers/server/stream";
import { type Infer, v } from "convex/values";

import type { Doc } from "./_generated/dataModel";
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

const cursorValidator = v.union(v.string(), v.null());
/** Part of what a row says, whatever its case. */
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
    const rows = stream(ctx.db, schema)
      .query("reviews")
      .withIndex("by_status", (q) => q.eq("status", status))
      .order("desc")
      .filterWith(async (review) => {
        if (kind !== undefined && review.kind !== kind) return false;
        const owner = part === undefined ? null : await ownerOf(review.accountId);
        return hasPart([review.detail, review.subject, review.note, owner?.name], part);
      });
    const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    const found = [];
    for (const row of page.page) found.push({ ...viewReview(row), account: await ownerOf(row.accountId) });
    return { reviews: found, cursor: nextCursor(page) };
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
    const table = stream(ctx.db, schema).query("inboxEvents");
    const all =
      status === undefined
        ? table.order("desc")
        : table.withIndex("by_status", (q) => q.eq("status", status)).order("desc");
    const rows = all.filterWith(async (row: Doc<"inboxEvents">) => {
      const owner = part === undefined ? null : await ownerOf(row.accountId);
      const { type, eventId, webhookId, error, result } = row;
      return hasPart([type, eventId, webhookId, error, result, owner?.name], part);
    });
    const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    const found = [];
    for (const row of page.page) found.push({ ...viewEvent(row), account: await ownerOf(row.accountId) });
    return { events: found, cursor: nextCursor(page) };
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
    const rows = stream(ctx.db, schema)
      .query("audit")
      .order("desc")
      .filterWith(async (line) => {
        if (action !== undefined && line.action !== action) return false;
        if (part === undefined) return true;
        const owner = await ownerOf(line.accountId);
        return hasPart([line.actor, owner?.name, line.accountId, JSON.stringify(line.details)], part);
      });
    const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    const lines: Infer<typeof auditLineValidator>[] = [];
    for (const { _id: id, actor, action: done, accountId, details, atMs } of page.page) {
      lines.push({ id, actor, action: done, account: await ownerOf(accountId), details, atMs });
    }
    return { lines, cursor: nextCursor(page) };
  },
});

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
    const rows = stream(ctx.db, schema)
      .query("driftEvidence")
      .order("desc")
      .filterWith(async (row) => {
        if (outcome !== undefined && row.outcome !== outcome) return false;
        if (part === undefined) return true;
        const owner = await ownerOf(row.accountId);
        return hasPart([owner?.name, row.beforePlanKey, row.providerPlanKey, row.accountId], part);
      });
    const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    const evidence = [];
    for (const row of page.page) {
      const { _id: id, beforePlanKey, providerPlanKey, firstSentAtMs, secondSentAtMs, atMs } = row;
      const seen = { id, account: await ownerOf(row.accountId), providerPlanKey, firstSentAtMs };
      const endedAgreements = row.endedAgreementIds.length;
      evidence.push({ ...seen, endedAgreements, beforePlanKey, secondSentAtMs, outcome: row.outcome, atMs });
    }
    return { evidence, cursor: nextCursor(page) };
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
