import { v } from "convex/values";

import { parseJson } from "../lib/inbox/event";
import { decideIntake, eventKeyOf, type StoredIdentity } from "../lib/inbox/intake";
import { readEvent } from "../lib/inbox/read-event";
import { newProgress, withCopy } from "../lib/inbox/worker";
import { must } from "../lib/shared/assert";
import { SECOND_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { serverMutation } from "./functions";
import { knownAccount } from "./customers";
import { findEventByKey, progressOf, reportDead, savePayload } from "./inboxRows";
import { deliveryFlagValidator, parsedBodyValidator } from "./inboxValidators";

/** Stores what the endpoint has verified. A delivery is answered with 200 only after this has committed. */

const deliveryArgs = {
  body: parsedBodyValidator,
  payload: v.string(),
  payloadHash: v.string(),
  webhookId: v.union(v.string(), v.null()),
  kid: v.string(),
};

export const deliver = serverMutation({
  args: deliveryArgs,
  returns: v.object({
    kind: v.union(v.literal("stored"), v.literal("copy")),
    flags: v.array(deliveryFlagValidator),
  }),
  handler: async (ctx, delivery) => {
    const nowMs = Date.now();
    const isAwake = await wakesSoon(ctx, nowMs);
    const { kind, flags, isDue } = await store(ctx, delivery, nowMs);
    // A copy that brings nothing forward starts nothing either: a burst of them must not wake the worker each time.
    if (isDue && !isAwake) await ctx.scheduler.runAfter(0, internal.inboxWorker.kick, {});
    return { kind, flags: [...flags] };
  },
});

/** A kick is at work within this time. An older event that still waits has lost its own. */
const KICK_MS = 2 * SECOND_MS;

/**
 * The worker was woken for another event a moment ago and has not claimed it yet. Its claim then comes after this
 * transaction, or the two conflict, so it finds what is stored here as well: a burst wakes the worker once, not once
 * an event. Only up to the oldest due event is read, so deliveries do not conflict with each other's rows.
 */
async function wakesSoon(ctx: MutationCtx, nowMs: number): Promise<boolean> {
  const oldest = await ctx.db
    .query("inboxEvents")
    .withIndex("by_due", (q) => q.gte("nextAttemptAtMs", 0).lte("nextAttemptAtMs", nowMs))
    .first();
  return oldest !== null && oldest.attempts === 0 && oldest.receivedAtMs > nowMs - KICK_MS;
}

export interface StoredDelivery {
  readonly kind: "stored" | "copy";
  readonly flags: Doc<"receipts">["flags"];
  readonly inboxEventId: Id<"inboxEvents">;
  /** The worker has something to do now. */
  readonly isDue: boolean;
}

/** One delivery in one transaction: the event or one more copy of it, and a receipt. */
export async function store(
  ctx: MutationCtx,
  delivery: {
    readonly body: Parameters<typeof eventKeyOf>[0]["body"];
    readonly payload: string;
    readonly payloadHash: string;
    readonly webhookId: string | null;
    readonly kid: string;
  },
  nowMs: number,
): Promise<StoredDelivery> {
  const { body, payloadHash, webhookId, kid } = delivery;
  const sameKey = await findEventByKey(ctx, eventKeyOf(delivery));
  const sameWebhook = webhookId === null ? null : await findByWebhook(ctx, webhookId);
  const intake = decideIntake(delivery, identityOf(sameKey), identityOf(sameWebhook), nowMs);
  const flags = [...intake.flags];
  const receipt = { webhookId, kid, flags, atMs: nowMs };
  if (intake.kind === "copy") {
    const row = must(await findEventByKey(ctx, intake.eventKey), `no event ${intake.eventKey}`);
    const progress = withCopy(progressOf(row), nowMs);
    await ctx.db.patch(row._id, { ...progress, lastSeenAtMs: nowMs });
    await ctx.db.insert("receipts", { inboxEventId: row._id, isCopy: true, ...receipt });
    const isDue = progress.nextAttemptAtMs !== row.nextAttemptAtMs;
    return { kind: "copy", flags, inboxEventId: row._id, isDue };
  }
  const isEvent = body.kind === "event";
  const fields = {
    eventKey: intake.eventKey,
    eventId: isEvent ? body.eventId : null,
    type: isEvent ? body.type : null,
    webhookId,
    payloadHash,
    occurredAtNs: isEvent ? body.occurredAtNs : null,
    accountId: await ownerOf(ctx, delivery.payload),
    receivedAtMs: nowMs,
    lastSeenAtMs: nowMs,
    ...newProgress(intake.status, intake.reason, nowMs),
  };
  const inboxEventId = await ctx.db.insert("inboxEvents", fields);
  await savePayload(ctx, inboxEventId, delivery.payload);
  await ctx.db.insert("receipts", { inboxEventId, isCopy: false, ...receipt });
  if (intake.status === "dead") await reportDead(ctx, fields, intake.reason, nowMs);
  return { kind: "stored", flags, inboxEventId, isDue: intake.status === "received" };
}

/** Whose an event is, if its customer is known already: they see it, and may replay it, before it was ever applied. */
async function ownerOf(ctx: MutationCtx, payload: string): Promise<Id<"accounts"> | null> {
  const event = readEvent(parseJson(payload));
  return event.kind === "read" ? ((await knownAccount(ctx, event.subject))?._id ?? null) : null;
}

async function findByWebhook(ctx: MutationCtx, webhookId: string): Promise<Doc<"inboxEvents"> | null> {
  return await ctx.db
    .query("inboxEvents")
    .withIndex("by_webhook", (q) => q.eq("webhookId", webhookId))
    .first();
}

function identityOf(row: Doc<"inboxEvents"> | null): StoredIdentity | null {
  if (row === null) return null;
  const { eventKey, eventId, payloadHash } = row;
  return { eventKey, eventId, payloadHash };
}
