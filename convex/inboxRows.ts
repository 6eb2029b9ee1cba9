import type { EventProgress } from "../lib/inbox/worker";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { openReview } from "./reviews";

/** Stored events: their rows, their bodies in parts, and what a person is told of one that died. */

type Reader = Pick<QueryCtx, "db">;

/** Characters of one part. At three bytes each it stays under the megabyte of a row. */
const PART_LENGTH = 250_000;
/** Two mebibytes are nine parts. */
const PARTS_MAX = 32;

export function progressOf(row: Doc<"inboxEvents">): EventProgress {
  const { status, attempts, fence, nextAttemptAtMs, seenCount, result, error, appliedAtMs } = row;
  return { status, attempts, fence, nextAttemptAtMs, seenCount, result, error, appliedAtMs };
}

export function findEventByKey(ctx: Reader, eventKey: string): Promise<Doc<"inboxEvents"> | null> {
  return ctx.db
    .query("inboxEvents")
    .withIndex("by_event_key", (q) => q.eq("eventKey", eventKey))
    .unique();
}

export async function savePayload(
  ctx: MutationCtx,
  inboxEventId: Id<"inboxEvents">,
  payload: string,
): Promise<void> {
  for (const [part, text] of partsOf(payload).entries()) {
    await ctx.db.insert("inboxPayloads", { inboxEventId, part, text });
  }
}

export async function loadPayload(ctx: Reader, inboxEventId: Id<"inboxEvents">): Promise<string> {
  const parts = await ctx.db
    .query("inboxPayloads")
    .withIndex("by_event", (q) => q.eq("inboxEventId", inboxEventId))
    .take(PARTS_MAX);
  return parts.map(({ text }) => text).join("");
}

/** A pair of code units that is one character is never cut in two: half of one is no text. */
function partsOf(payload: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < payload.length;) {
    const last = payload.charCodeAt(from + PART_LENGTH - 1);
    const length = last >= 0xd800 && last <= 0xdbff ? PART_LENGTH - 1 : PART_LENGTH;
    parts.push(payload.slice(from, from + length));
    from += length;
  }
  return parts;
}

/** A dead event waits for a person; a review says so, and the alert that goes with it. */
export async function reportDead(
  ctx: MutationCtx,
  row: Pick<Doc<"inboxEvents">, "eventKey" | "type" | "accountId">,
  reason: string | null,
  nowMs: number,
): Promise<void> {
  const detail = `${row.type ?? "A body that is no event"}: ${reason ?? "no reason is known"}`;
  await openReview(ctx, {
    kind: "dead_event",
    subject: row.eventKey,
    accountId: row.accountId,
    detail,
    nowMs,
  });
}
