import { v } from "convex/values";

import { limitStateOf } from "../lib/gate/limit-state";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { FEATURE_CLICKS } from "../lib/ledger/meter";
import type { Doc } from "./_generated/dataModel";
import { entryReader, entryViewValidator } from "./entryRows";
import { accountQuery } from "./functions";
import { eventViewValidator, findEvent, viewEvent } from "./inboxEvents";
import { creditReasonValidator, planFactKindValidator } from "./inboxValidators";
import { linkValidator, view as viewLink } from "./links";
import { findLimit, nextCursor } from "./rows";
import { limitStateValidator, limitUnitsValidator, refusalValidator } from "./validators";

/**
 * What the data export of a customer reads beside the lists of the API (jobs, reminders, keys): everything the account
 * has in pages, the newest first. Only the signed-in customer may, never an API key.
 */

const ENTRIES_PAGE = 200;
const LINKS_PAGE = 100;
const LINES_PAGE = 500;
/** With bodies of 500,000 characters at most these stay within what a query may read. */
const EVENTS_PAGE = 10;
/** Parts of a body, of 250,000 characters, beside the event. A real one is a few thousand characters long. */
const BODY_PARTS_MAX = 2;
/** Parts of one body that are read at once. Two mebibytes are nine. */
const BODY_PARTS_AT_ONCE = 10;
/** A few a month, for decades. */
const FACTS_MAX = 4_000;

const cursorArgs = { cursor: v.union(v.string(), v.null()) };
const cursorValidator = v.union(v.string(), v.null());
/** Null when a body ends with the text. */
const nextPart = v.union(v.number(), v.null());

/** Use by cycle, and the limit as it was last read. */
export const usage = accountQuery({
  scope: null,
  args: {},
  returns: v.object({
    cycles: v.array(
      v.object({ feature: v.string(), cycle: v.string(), usedUnits: v.number(), heldUnits: v.number() }),
    ),
    limitState: limitStateValidator,
    limit: v.union(
      v.object({
        limitUnits: limitUnitsValidator,
        planKey: v.union(v.string(), v.null()),
        readAtMs: v.number(),
      }),
      v.null(),
    ),
  }),
  handler: async (ctx) => {
    const { accountId } = ctx.principal;
    const budgets = await ctx.db
      .query("budgets")
      .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId))
      .order("desc")
      .take(FACTS_MAX);
    const row = await findLimit(ctx, accountId);
    // A row that nothing was read into yet has no limit to tell.
    const limit =
      row === null || row.readAtMs === null
        ? null
        : { limitUnits: row.limitUnits, planKey: row.planKey, readAtMs: row.readAtMs };
    return {
      cycles: budgets.map(({ feature, cycle, usedUnits, heldUnits }) => {
        return { feature, cycle, usedUnits, heldUnits };
      }),
      limitState: limitStateOf(limit),
      limit,
    };
  },
});

/** The ledger of all cycles, one feature at a time. */
export const entries = accountQuery({
  scope: null,
  args: { ...cursorArgs, feature: v.union(v.literal(FEATURE_CLICKS), v.literal(FEATURE_TOKENS)) },
  returns: v.object({ rows: v.array(entryViewValidator), cursor: cursorValidator }),
  handler: async (ctx, { cursor, feature }) => {
    const page = await ctx.db
      .query("entries")
      .withIndex("by_account_feature_cycle", (q) =>
        q.eq("accountId", ctx.principal.accountId).eq("feature", feature),
      )
      .order("desc")
      .paginate({ numItems: ENTRIES_PAGE, cursor });
    const view = entryReader(ctx);
    const rows = [];
    for (const row of page.page) rows.push(await view(row));
    return { rows, cursor: nextCursor(page) };
  },
});

/** Also deleted ones, by when they were made: no link changes its place while the export runs. */
export const links = accountQuery({
  scope: null,
  args: cursorArgs,
  returns: v.object({
    rows: v.array(v.object({ ...linkValidator.fields, deletedAtMs: v.union(v.number(), v.null()) })),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("links")
      .withIndex("by_owner", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .paginate({ numItems: LINKS_PAGE, cursor });
    const rows = [];
    for (const link of page.page) {
      rows.push({ ...(await viewLink(ctx, link)), deletedAtMs: link.deletedAtMs });
    }
    return { rows, cursor: nextCursor(page) };
  },
});

/** Billing events with the text that was signed. What a long one has after `body` begins at `nextPart` (eventBody). */
export const events = accountQuery({
  scope: null,
  args: cursorArgs,
  returns: v.object({
    rows: v.array(v.object({ ...eventViewValidator.fields, body: v.string(), nextPart })),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("inboxEvents")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .paginate({ numItems: EVENTS_PAGE, cursor });
    const rows = [];
    for (const event of page.page) {
      const parts = await ctx.db
        .query("inboxPayloads")
        .withIndex("by_event", (q) => q.eq("inboxEventId", event._id))
        .take(BODY_PARTS_MAX + 1);
      rows.push({ ...viewEvent(event), ...bodyOf(parts, BODY_PARTS_MAX) });
    }
    return { rows, cursor: nextCursor(page) };
  },
});

/** The rest of the body of an own event, from a part on. Of an event that is not there, or somebody else's, nothing. */
export const eventBody = accountQuery({
  scope: null,
  args: { id: v.string(), from: v.number() },
  returns: v.object({ body: v.string(), nextPart }),
  handler: async (ctx, { id, from }) => {
    const event = await findEvent(ctx, id);
    if (event === null || event.accountId !== ctx.principal.accountId) return { body: "", nextPart: null };
    const parts = await ctx.db
      .query("inboxPayloads")
      .withIndex("by_event", (q) => q.eq("inboxEventId", event._id).gte("part", from))
      .take(BODY_PARTS_AT_ONCE + 1);
    return bodyOf(parts, BODY_PARTS_AT_ONCE);
  },
});

/** The first parts as one text, and where it goes on. */
function bodyOf(
  parts: readonly Doc<"inboxPayloads">[],
  count: number,
): { body: string; nextPart: number | null } {
  const body = parts
    .slice(0, count)
    .map(({ text }) => text)
    .join("");
  return { body, nextPart: parts[count]?.part ?? null };
}

/** The lines behind the credits of each month. */
export const credits = accountQuery({
  scope: null,
  args: cursorArgs,
  returns: v.object({
    rows: v.array(
      v.object({
        period: v.string(),
        units: v.number(),
        reason: creditReasonValidator,
        entryKey: v.string(),
        planKey: v.union(v.string(), v.null()),
        atMs: v.number(),
      }),
    ),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("credits")
      .withIndex("by_account_period", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .paginate({ numItems: LINES_PAGE, cursor });
    const rows = page.page.map(({ period, units, reason, entryKey, planKey, atMs }) => {
      return { period, units, reason, entryKey, planKey, atMs };
    });
    return { rows, cursor: nextCursor(page) };
  },
});

/** Of the last month; older ones are not kept. */
export const refusals = accountQuery({
  scope: null,
  args: cursorArgs,
  returns: v.object({
    rows: v.array(
      v.object({
        key: v.string(),
        kind: v.string(),
        requestedUnits: v.number(),
        refusal: refusalValidator,
        atMs: v.number(),
        times: v.number(),
      }),
    ),
    cursor: cursorValidator,
  }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("refusals")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .paginate({ numItems: LINES_PAGE, cursor });
    const rows = page.page.map(({ key, kind, requestedUnits, refusal, atMs, times }) => {
      return { key, kind, requestedUnits, refusal, atMs, times };
    });
    return { rows, cursor: nextCursor(page) };
  },
});

/** What billing events came to: plans, payments and agreements, the newest of each. */
export const billing = accountQuery({
  scope: null,
  args: {},
  returns: v.object({
    planChanges: v.array(
      v.object({
        eventId: v.string(),
        kind: planFactKindValidator,
        atNs: v.string(),
        planKey: v.union(v.string(), v.null()),
        agreementId: v.union(v.string(), v.null()),
        storedAtMs: v.number(),
      }),
    ),
    payments: v.array(
      v.object({ eventId: v.string(), kind: v.string(), atNs: v.string(), storedAtMs: v.number() }),
    ),
    agreements: v.array(
      v.object({
        agreementId: v.string(),
        planKey: v.union(v.string(), v.null()),
        fromMs: v.number(),
        untilMs: v.union(v.number(), v.null()),
      }),
    ),
  }),
  handler: async (ctx) => {
    const { accountId } = ctx.principal;
    const planChanges = await ctx.db
      .query("planChanges")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .order("desc")
      .take(FACTS_MAX);
    const payments = await ctx.db
      .query("payments")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .order("desc")
      .take(FACTS_MAX);
    const agreements = await ctx.db
      .query("agreements")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .order("desc")
      .take(FACTS_MAX);
    // Nanoseconds as text: JSON has no number that keeps them.
    return {
      planChanges: planChanges.map(({ eventId, kind, atNs, planKey, agreementId, storedAtMs }) => {
        return { eventId, kind, atNs: String(atNs), planKey, agreementId, storedAtMs };
      }),
      payments: payments.map(({ eventId, kind, atNs, storedAtMs }) => {
        return { eventId, kind, atNs: String(atNs), storedAtMs };
      }),
      agreements: agreements.map(({ agreementId, planKey, fromMs, untilMs }) => {
        return { agreementId, planKey, fromMs, untilMs };
      }),
    };
  },
});
