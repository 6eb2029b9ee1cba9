import { type Infer, v } from "convex/values";

import { periodAt, returnCredit, takeCredit } from "../lib/inbox/allowance";
import { checkReminder, isSameRequest, judgeCancel, roomFor } from "../lib/inbox/reminders";
import { assert, must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "./_generated/server";
import { creditsOfPeriod, insertCredit } from "./creditRows";
import { settleFacts } from "./customers";
import { accountMutation, accountQuery, refuse } from "./functions";
import { internalAction } from "./patience";
import { nextCursor } from "./rows";
import { withRun } from "./runs";
import { notFoundValidator } from "./validators";

/**
 * Messages to one's later self. One costs a credit of the month it is written in, is delivered in the app once, and
 * gives its credit back when it is cancelled before.
 */

const LIST_LIMIT_MAX = 100;
const BATCH = 100;
/** What one run delivers at most; the next one is a minute away. */
const BATCHES_MAX = 100;

const NOT_FOUND = { kind: "not_found" as const };

export const statusValidator = v.union(v.literal("waiting"), v.literal("delivered"), v.literal("cancelled"));

export const reminderValidator = v.object({
  id: v.string(),
  key: v.string(),
  text: v.string(),
  dueAtMs: v.number(),
  status: statusValidator,
  period: v.string(),
  createdAtMs: v.number(),
  deliveredAtMs: v.union(v.number(), v.null()),
  cancelledAtMs: v.union(v.number(), v.null()),
  readAtMs: v.union(v.number(), v.null()),
});

const createdValidator = v.union(
  v.object({ kind: v.literal("created"), reminder: reminderValidator, replayed: v.boolean() }),
  v.object({
    kind: v.literal("refused"),
    code: v.literal("no_credits"),
    balanceUnits: v.number(),
    allowanceUnits: v.number(),
    nextPeriodStartMs: v.number(),
  }),
  v.object({ kind: v.literal("key_conflict") }),
  v.object({
    kind: v.literal("invalid"),
    errors: v.array(v.object({ path: v.string(), message: v.string() })),
  }),
);

/** Writes a reminder and takes its credit, or neither. The grant of the month is written first when it is missing. */
export const create = accountMutation({
  scope: "reminders:write",
  args: { key: v.string(), text: v.string(), dueAtMs: v.number() },
  returns: createdValidator,
  handler: async (ctx, request): Promise<Infer<typeof createdValidator>> => {
    const { account, accountId } = ctx.principal;
    const nowMs = Date.now();
    const known = await findByKey(ctx, accountId, request.key);
    // A repeat is told what its first call did, also when it comes after the reminder was due.
    if (known !== null) {
      return isSameRequest(known, request)
        ? { kind: "created", reminder: viewReminder(known), replayed: true }
        : { kind: "key_conflict" };
    }
    const errors = checkReminder(request, nowMs);
    if (errors.length > 0) return { kind: "invalid", errors };
    const period = periodAt(nowMs);
    await settleFacts(ctx, account, [period], nowMs);
    const credits = await creditsOfPeriod(ctx, accountId, period);
    const room = roomFor(period, credits);
    if (room.kind === "too_many") {
      return { kind: "invalid", errors: [{ path: "", message: room.message }] };
    }
    if (room.kind === "no_credits") {
      const { leftUnits: balanceUnits, grantedUnits: allowanceUnits, nextPeriodStartMs } = room.balance;
      return { kind: "refused", code: "no_credits", balanceUnits, allowanceUnits, nextPeriodStartMs };
    }
    const reminderId = await ctx.db.insert("reminders", {
      accountId,
      ...request,
      status: "waiting",
      period,
      createdAtMs: nowMs,
      deliveredAtMs: null,
      cancelledAtMs: null,
      readAtMs: null,
      deliveryId: null,
    });
    const taken = takeCredit(period, reminderId, credits);
    assert(taken.kind === "taken", "the balance was looked at before");
    await insertCredit(ctx, accountId, taken.row, nowMs);
    const deliveryId = await ctx.scheduler.runAt(request.dueAtMs, internal.reminders.deliver, { reminderId });
    await ctx.db.patch(reminderId, { deliveryId });
    const reminder = must(await ctx.db.get(reminderId), "a reminder that was just written");
    return { kind: "created", reminder: viewReminder(reminder), replayed: false };
  },
});

/** Before it is due, and the credit goes back to the month it was taken from. Asking again changes nothing. */
export const cancel = accountMutation({
  scope: "reminders:write",
  args: { reminderId: v.string() },
  returns: v.union(
    v.object({ kind: v.literal("cancelled"), reminder: reminderValidator }),
    v.object({ kind: v.literal("too_late"), reminder: reminderValidator }),
    notFoundValidator,
  ),
  handler: async (ctx, { reminderId }) => {
    const nowMs = Date.now();
    const row = await findOwn(ctx, ctx.principal.accountId, reminderId);
    if (row === null) return NOT_FOUND;
    const verdict = judgeCancel(row, nowMs);
    if (verdict === "too_late") return { kind: "too_late" as const, reminder: viewReminder(row) };
    const after = verdict === "already" ? row : await cancelReminder(ctx, row, nowMs);
    return { kind: "cancelled" as const, reminder: viewReminder(after) };
  },
});

/** Waiting ones by what is due next; otherwise the latest due first. */
export const list = accountQuery({
  scope: "usage:read",
  args: { cursor: v.union(v.string(), v.null()), limit: v.number(), status: v.optional(statusValidator) },
  returns: v.object({ reminders: v.array(reminderValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor, limit, status }) => {
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const { accountId } = ctx.principal;
    const table = ctx.db.query("reminders");
    const query =
      status === undefined
        ? table.withIndex("by_account", (q) => q.eq("accountId", accountId))
        : table.withIndex("by_account_status", (q) => q.eq("accountId", accountId).eq("status", status));
    const page = await query
      .order(status === "waiting" ? "asc" : "desc")
      .paginate({ numItems: limit, cursor });
    return { reminders: page.page.map(viewReminder), cursor: nextCursor(page) };
  },
});

/** Notes when a delivered reminder was first read. */
export const markRead = accountMutation({
  scope: "reminders:write",
  args: { reminderId: v.string() },
  returns: v.union(
    v.object({ kind: v.literal("read"), reminder: reminderValidator }),
    v.object({ kind: v.literal("not_delivered"), reminder: reminderValidator }),
    notFoundValidator,
  ),
  handler: async (ctx, { reminderId }) => {
    const row = await findOwn(ctx, ctx.principal.accountId, reminderId);
    if (row === null) return NOT_FOUND;
    if (row.status !== "delivered") return { kind: "not_delivered" as const, reminder: viewReminder(row) };
    const readAtMs = row.readAtMs ?? Date.now();
    if (row.readAtMs === null) await ctx.db.patch(row._id, { readAtMs });
    return { kind: "read" as const, reminder: viewReminder({ ...row, readAtMs }) };
  },
});

/** Scheduled with the reminder, for its instant. */
export const deliver = internalMutation({
  args: { reminderId: v.id("reminders") },
  returns: v.null(),
  handler: async (ctx, { reminderId }) => {
    const nowMs = Date.now();
    await deliverReminder(ctx, must(await ctx.db.get(reminderId), `reminder ${reminderId} is gone`), nowMs);
    return null;
  },
});

/** By cron: delivers what is overdue because its scheduled function was lost. */
export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await withRun(ctx, "reminders", async () => {
      const counts = { delivered: 0, batches: 0 };
      while (counts.batches < BATCHES_MAX) {
        const delivered: number = await ctx.runMutation(internal.reminders.deliverDue, {});
        if (delivered === 0) break;
        counts.delivered += delivered;
        counts.batches += 1;
      }
      return counts;
    });
    return null;
  },
});

/** One batch of overdue reminders, the longest overdue first; how many there were. */
export const deliverDue = internalMutation({
  args: {},
  returns: v.number(),
  handler: async (ctx) => {
    const nowMs = Date.now();
    const due = await ctx.db
      .query("reminders")
      .withIndex("by_status_due", (q) => q.eq("status", "waiting").lte("dueAtMs", nowMs))
      .take(BATCH);
    for (const row of due) await deliverReminder(ctx, row, nowMs);
    return due.length;
  },
});

/** Cancels what waits on an account that was deleted, in batches that schedule each other. */
export const cancelAll = internalMutation({
  args: { accountId: v.id("accounts") },
  returns: v.null(),
  handler: async (ctx, { accountId }) => {
    const nowMs = Date.now();
    const waiting = await ctx.db
      .query("reminders")
      .withIndex("by_account_status", (q) => q.eq("accountId", accountId).eq("status", "waiting"))
      .take(BATCH);
    for (const row of waiting) await cancelReminder(ctx, row, nowMs);
    if (waiting.length === BATCH)
      await ctx.scheduler.runAfter(0, internal.reminders.cancelAll, { accountId });
    return null;
  },
});

/** Once: whoever comes second finds it delivered. One that falls due while its account is being deleted is cancelled. */
async function deliverReminder(ctx: MutationCtx, row: Doc<"reminders">, nowMs: number): Promise<void> {
  if (row.status !== "waiting") return;
  const account = must(await ctx.db.get(row.accountId), `account ${row.accountId} is gone`);
  if (account.deletedAtMs === null)
    await ctx.db.patch(row._id, { status: "delivered", deliveredAtMs: nowMs });
  else await cancelReminder(ctx, row, nowMs);
}

/** Of a waiting reminder. */
async function cancelReminder(
  ctx: MutationCtx,
  row: Doc<"reminders">,
  nowMs: number,
): Promise<Doc<"reminders">> {
  assert(row.status === "waiting", `reminder ${row._id} has ended`);
  const fields = { status: "cancelled" as const, cancelledAtMs: nowMs, deliveryId: null };
  await ctx.db.patch(row._id, fields);
  const entryKey = `reminder:${row._id}`;
  const taken = await ctx.db
    .query("credits")
    .withIndex("by_account_key", (q) => q.eq("accountId", row.accountId).eq("entryKey", entryKey))
    .unique();
  const { period, units, reason, planKey } = must(taken, `the credit line ${entryKey} is gone`);
  await insertCredit(ctx, row.accountId, returnCredit({ period, units, reason, entryKey, planKey }), nowMs);
  await cancelDelivery(ctx, row.deliveryId);
  return { ...row, ...fields };
}

/** A function that is gone, or runs at this moment, is left alone: it finds the reminder cancelled. */
async function cancelDelivery(ctx: MutationCtx, deliveryId: Doc<"reminders">["deliveryId"]): Promise<void> {
  const delivery = deliveryId === null ? null : await ctx.db.system.get(deliveryId);
  if (delivery?.state.kind === "pending") await ctx.scheduler.cancel(delivery._id);
}

function findByKey(
  ctx: Pick<QueryCtx, "db">,
  accountId: Id<"accounts">,
  key: string,
): Promise<Doc<"reminders"> | null> {
  return ctx.db
    .query("reminders")
    .withIndex("by_account_key", (q) => q.eq("accountId", accountId).eq("key", key))
    .unique();
}

/** Somebody else's reminder is not there at all. */
async function findOwn(
  ctx: Pick<QueryCtx, "db">,
  accountId: Id<"accounts">,
  reminderId: string,
): Promise<Doc<"reminders"> | null> {
  const id = ctx.db.normalizeId("reminders", reminderId);
  const row = id === null ? null : await ctx.db.get(id);
  return row?.accountId === accountId ? row : null;
}

export function viewReminder(row: Doc<"reminders">): Infer<typeof reminderValidator> {
  const { _id: id, key, text, dueAtMs, status, period, createdAtMs, ...ends } = row;
  const { deliveredAtMs, cancelledAtMs, readAtMs } = ends;
  return { id, key, text, dueAtMs, status, period, createdAtMs, deliveredAtMs, cancelledAtMs, readAtMs };
}
