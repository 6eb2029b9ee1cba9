import { v } from "convex/values";

import { isForgettable } from "../lib/inbox/forget";
import { RETENTION } from "../lib/retention/rules";
import type { Doc } from "./_generated/dataModel";
import { internalMutation, type MutationCtx } from "./_generated/server";

/**
 * Removes billing events that were applied or ignored long ago, each with its body and its receipts. What they told
 * stays in facts of its own (planChanges, payments), so neither a late copy nor the next event counts anything again.
 */

const EVENTS_AT_ONCE = 100;
/** Bodies, parts and receipts: under half of the ranges that one function may read, since each delete reads again. */
const ROWS_AT_ONCE = 1_500;
/** Characters of bodies, read twice: with the longest body on top still half of what one function may read. */
const TEXT_AT_ONCE = 1_000_000;
/** As many parts as a body may have. */
const PARTS_MAX = 32;

/**
 * One batch of a status, the oldest first, behind `afterMs`: an old event that has to stay is passed, and not looked at
 * again in the same run. There are few of those: events of the labs, such that were seen again, or whose time lies ahead.
 */
export const removeDone = internalMutation({
  args: { status: v.union(v.literal("applied"), v.literal("ignored")), afterMs: v.number() },
  returns: v.object({ removed: v.number(), isLast: v.boolean(), afterMs: v.number() }),
  handler: async (ctx, { status, afterMs: startMs }) => {
    const nowMs = Date.now();
    const events = await ctx.db
      .query("inboxEvents")
      .withIndex("by_status", (q) =>
        q
          .eq("status", status)
          .gt("_creationTime", startMs)
          .lt("_creationTime", nowMs - RETENTION.inboxEvents.keptMs),
      )
      .take(EVENTS_AT_ONCE);
    const room = { rows: ROWS_AT_ONCE, text: TEXT_AT_ONCE };
    let removed = 0;
    let afterMs = startMs;
    for (const event of events) {
      if (room.rows <= 0 || room.text <= 0) return { removed, isLast: false, afterMs };
      if (await mayGo(ctx, event, nowMs)) {
        const isGone = await removeEvent(ctx, event, room);
        if (!isGone) return { removed, isLast: false, afterMs };
        removed += 1;
      }
      afterMs = event._creationTime;
    }
    return { removed, isLast: events.length < EVENTS_AT_ONCE, afterMs };
  },
});

/** While copies of it come it stays, so that no receipt goes early. Those of the labs go with their runs. */
async function mayGo(ctx: MutationCtx, event: Doc<"inboxEvents">, nowMs: number): Promise<boolean> {
  const isSeen = event.lastSeenAtMs >= nowMs - RETENTION.inboxEvents.keptMs;
  if (isSeen || !isForgettable(event, nowMs)) return false;
  const account = event.accountId === null ? null : await ctx.db.get(event.accountId);
  return account?.source !== "lab";
}

/** False when there was no room for all that hangs on it: the event goes last, so the next batch finds it again. */
async function removeEvent(
  ctx: MutationCtx,
  { _id: inboxEventId }: Doc<"inboxEvents">,
  room: { rows: number; text: number },
): Promise<boolean> {
  const receipts = await ctx.db
    .query("receipts")
    .withIndex("by_event", (q) => q.eq("inboxEventId", inboxEventId))
    .take(room.rows);
  for (const { _id: id } of receipts) await ctx.db.delete(id);
  room.rows -= receipts.length;
  if (room.rows <= 0) return false;
  const parts = await ctx.db
    .query("inboxPayloads")
    .withIndex("by_event", (q) => q.eq("inboxEventId", inboxEventId))
    .take(PARTS_MAX);
  for (const { _id: id, text } of parts) {
    await ctx.db.delete(id);
    room.text -= text.length;
  }
  await ctx.db.delete(inboxEventId);
  room.rows -= parts.length + 1;
  return true;
}
