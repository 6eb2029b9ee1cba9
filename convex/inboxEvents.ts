import { type Infer, v } from "convex/values";

import { parseJson } from "../lib/inbox/event";
import { msOfNs } from "../lib/inbox/event-time";
import { replay as replayEvent } from "../lib/inbox/worker";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import { accountMutation, accountQuery, operatorMutation, operatorQuery, refuse } from "./functions";
import { loadPayload, progressOf } from "./inboxRows";
import { deliveryFlagValidator, eventStatusValidator } from "./inboxValidators";
import { nextCursor } from "./rows";
import { notFoundValidator } from "./validators";

/** Stored billing events as their customer and operators see them, and the replay of one. */

/** How a replay stands in the audit, and the actor of one that a customer asked for. */
export const EVENT_REPLAYED = "event_replayed";
export const CUSTOMER = "customer";

const LIST_LIMIT_MAX = 100;
const RECEIPTS_SHOWN_MAX = 200;
/** A body that is longer is shown cut: it is there to be looked at, not to be taken away. */
const PAYLOAD_SHOWN_MAX = 20_000;

export const eventViewValidator = v.object({
  id: v.string(),
  eventId: v.union(v.string(), v.null()),
  type: v.union(v.string(), v.null()),
  accountId: v.union(v.string(), v.null()),
  occurredAtMs: v.union(v.number(), v.null()),
  receivedAtMs: v.number(),
  lastSeenAtMs: v.number(),
  status: eventStatusValidator,
  /** What became of it: the note of an applied one, the reason of an ignored one. */
  result: v.union(v.string(), v.null()),
  error: v.union(v.string(), v.null()),
  attempts: v.number(),
  nextAttemptAtMs: v.union(v.number(), v.null()),
  seenCount: v.number(),
});

const pageValidator = v.object({
  events: v.array(eventViewValidator),
  cursor: v.union(v.string(), v.null()),
});

const listArgs = { cursor: v.union(v.string(), v.null()), limit: v.number() };

/** Newest first. */
export const list = accountQuery({
  scope: "usage:read",
  args: listArgs,
  returns: pageValidator,
  handler: async (ctx, { cursor, limit }) => {
    checkLimit(limit);
    const page = await ctx.db
      .query("inboxEvents")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .paginate({ numItems: limit, cursor });
    return viewPage(page);
  },
});

/** All events, or those of one status; newest first. */
export const listAll = operatorQuery({
  args: { ...listArgs, status: v.optional(eventStatusValidator) },
  returns: pageValidator,
  handler: async (ctx, { cursor, limit, status }) => {
    checkLimit(limit);
    const query =
      status === undefined
        ? ctx.db.query("inboxEvents")
        : ctx.db.query("inboxEvents").withIndex("by_status", (q) => q.eq("status", status));
    return viewPage(await query.order("desc").paginate({ numItems: limit, cursor }));
  },
});

export const detailValidator = v.object({
  event: eventViewValidator,
  payload: v.string(),
  isPayloadCut: v.boolean(),
  receipts: v.array(
    v.object({
      atMs: v.number(),
      webhookId: v.union(v.string(), v.null()),
      kid: v.string(),
      isCopy: v.boolean(),
      flags: v.array(deliveryFlagValidator),
    }),
  ),
});

/** One event with its body and its newest receipts. */
export const get = operatorQuery({
  args: { id: v.string() },
  returns: v.union(detailValidator, v.null()),
  handler: async (ctx, { id }) => {
    const row = await findEvent(ctx, id);
    return row === null ? null : await viewDetail(ctx, row);
  },
});

const replayedValidator = v.union(
  v.object({ kind: v.literal("queued"), event: eventViewValidator }),
  v.object({ kind: v.literal("running"), event: eventViewValidator }),
  v.object({ kind: v.literal("forbidden"), event: eventViewValidator }),
  notFoundValidator,
);
type Replayed = Infer<typeof replayedValidator>;

/** Makes an own event due again. It goes through the same guards, so one that was applied changes nothing. */
export const replay = accountMutation({
  scope: "events:replay",
  args: { id: v.string() },
  returns: replayedValidator,
  handler: async (ctx, { id }) => {
    const row = await findEvent(ctx, id);
    // Somebody else's event is not there at all.
    if (row === null || row.accountId !== ctx.principal.accountId) return { kind: "not_found" as const };
    return await queue(ctx, row, "customer", CUSTOMER);
  },
});

export const replayAny = operatorMutation({
  args: { id: v.string() },
  returns: replayedValidator,
  handler: async (ctx, { id }) => {
    const row = await findEvent(ctx, id);
    return row === null ? { kind: "not_found" as const } : await queue(ctx, row, "operator", ctx.actor);
  },
});

export async function viewDetail(
  ctx: Pick<QueryCtx, "db">,
  row: Doc<"inboxEvents">,
): Promise<Infer<typeof detailValidator>> {
  const payload = readable(await loadPayload(ctx, row._id));
  const receipts = await ctx.db
    .query("receipts")
    .withIndex("by_event", (q) => q.eq("inboxEventId", row._id))
    .order("desc")
    .take(RECEIPTS_SHOWN_MAX);
  return {
    event: viewEvent(row),
    payload: payload.slice(0, PAYLOAD_SHOWN_MAX),
    isPayloadCut: payload.length > PAYLOAD_SHOWN_MAX,
    receipts: receipts.map(({ atMs, webhookId, kid, isCopy, flags }) => {
      return { atMs, webhookId, kid, isCopy, flags };
    }),
  };
}

async function queue(
  ctx: MutationCtx,
  row: Doc<"inboxEvents">,
  by: "customer" | "operator",
  actor: string,
): Promise<Replayed> {
  const nowMs = Date.now();
  const replayed = replayEvent(progressOf(row), by, nowMs);
  if (replayed.kind !== "queued") return { kind: replayed.kind, event: viewEvent(row) };
  await ctx.db.patch(row._id, replayed.progress);
  const details = { eventKey: row.eventKey, before: row.status };
  await recordAct(ctx, { actor, action: EVENT_REPLAYED, accountId: row.accountId, details, nowMs });
  await ctx.scheduler.runAfter(0, internal.inboxWorker.kick, {});
  return { kind: "queued", event: viewEvent({ ...row, ...replayed.progress }) };
}

export async function findEvent(ctx: Pick<QueryCtx, "db">, id: string): Promise<Doc<"inboxEvents"> | null> {
  const eventId = ctx.db.normalizeId("inboxEvents", id);
  return eventId === null ? null : await ctx.db.get(eventId);
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
    refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
  }
}

function viewPage(page: { page: Doc<"inboxEvents">[]; isDone: boolean; continueCursor: string }) {
  return { events: page.page.map(viewEvent), cursor: nextCursor(page) };
}

export function viewEvent(row: Doc<"inboxEvents">): Infer<typeof eventViewValidator> {
  const { _id: id, eventId, type, accountId, occurredAtNs, receivedAtMs, lastSeenAtMs, ...progress } = row;
  const { status, result, error, attempts, nextAttemptAtMs, seenCount } = progress;
  const occurredAtMs = occurredAtNs === null ? null : msOfNs(occurredAtNs);
  const identity = { id, eventId, type, accountId, occurredAtMs, receivedAtMs, lastSeenAtMs };
  return { ...identity, status, result, error, attempts, nextAttemptAtMs, seenCount };
}

/** Indented when it is JSON. */
function readable(payload: string): string {
  const json = parseJson(payload);
  return json === undefined ? payload : JSON.stringify(json, null, 2);
}
