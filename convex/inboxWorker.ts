import { type Infer, v } from "convex/values";

import { parseJson } from "../lib/inbox/event";
import { type Decision, decideEvent } from "../lib/inbox/handlers";
import { readEvent } from "../lib/inbox/read-event";
import {
  CLAIM_BATCH_MAX,
  claim as claimEvent,
  fail as failEvent,
  finish,
  holdsLease,
  LEASE_MS,
  renew as renewEvent,
} from "../lib/inbox/worker";
import { SECOND_MS } from "../lib/shared/durations";
import { must } from "../lib/shared/assert";
import { allowances } from "./allowances";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, type MutationCtx } from "./_generated/server";
import { customerState, findSubject } from "./customers";
import { writeEffects } from "./effects";
import { loadPayload, progressOf, reportDead } from "./inboxRows";
import { eventStatusValidator } from "./inboxValidators";
import { internalAction } from "./patience";
import { withRun } from "./runs";

/** The way of stored events: claimed by event time, applied one at a time, each in one transaction. */

/** Due events that a claim looks through for the oldest. */
const LOOK_AHEAD = 4 * CLAIM_BATCH_MAX;
/** A run ends before the next one of the cron begins to matter. */
const RUN_MS = 50 * SECOND_MS;
const ERROR_LENGTH_MAX = 500;
/** With less than half of it left a lease is renewed before the work that needs it. */
const RENEW_AFTER_MS = LEASE_MS / 2;

const claimedValidator = v.object({ inboxEventId: v.id("inboxEvents"), fence: v.number() });
type Claimed = Infer<typeof claimedValidator>;

/** By cron, so that a lost kick, a wait that is over and an ended lease are found. */
export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await withRun(ctx, "inbox", () => drain(ctx));
    return null;
  },
});

/** Right after a delivery. The cron's row tells how the worker is; a kick would write it once a delivery. */
export const kick = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await drain(ctx);
    return null;
  },
});

async function drain(ctx: ActionCtx): Promise<{ applied: number; failed: number; lost: number }> {
  const untilMs = Date.now() + RUN_MS;
  const counts = { applied: 0, failed: 0, lost: 0 };
  while (Date.now() < untilMs) {
    const claimed: Claimed[] = await ctx.runMutation(internal.inboxWorker.claim, {});
    if (claimed.length === 0) break;
    let renewFromMs = Date.now() + RENEW_AFTER_MS;
    for (const [index, one] of claimed.entries()) {
      // The last ones wait for those before them, under a lease that began with the claim of all.
      if (Date.now() >= renewFromMs) {
        await ctx.runMutation(internal.inboxWorker.renew, { claimed: claimed.slice(index) });
        renewFromMs = Date.now() + RENEW_AFTER_MS;
      }
      counts[await work(ctx, one)] += 1;
    }
  }
  return counts;
}

/** One attempt. An event that cannot be applied does not hold up the others. */
export async function work(ctx: ActionCtx, claimed: Claimed): Promise<"applied" | "failed" | "lost"> {
  try {
    const done: { kind: "finished" | "lost" } = await ctx.runMutation(internal.inboxWorker.apply, claimed);
    return done.kind === "finished" ? "applied" : "lost";
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await ctx.runMutation(internal.inboxWorker.fail, {
      ...claimed,
      error: message.slice(0, ERROR_LENGTH_MAX),
    });
    return "failed";
  }
}

/** Takes up to 25 due events, the oldest event time first. */
export const claim = internalMutation({
  args: {},
  returns: v.array(claimedValidator),
  handler: async (ctx) => {
    const nowMs = Date.now();
    const due = await ctx.db
      .query("inboxEvents")
      .withIndex("by_due", (q) => q.gte("nextAttemptAtMs", 0).lte("nextAttemptAtMs", nowMs))
      .take(LOOK_AHEAD);
    const oldestFirst = due.toSorted((one, other) => compareTimes(one.occurredAtNs, other.occurredAtNs));
    const claimed: Claimed[] = [];
    for (const row of oldestFirst.slice(0, CLAIM_BATCH_MAX)) {
      const fence = await claimOne(ctx, row, nowMs);
      if (fence !== null) claimed.push({ inboxEventId: row._id, fence });
    }
    return claimed;
  },
});

/** The number of the claim; null when the event is not due or its last attempt ended with its worker. */
export async function claimOne(
  ctx: MutationCtx,
  row: Doc<"inboxEvents">,
  nowMs: number,
): Promise<number | null> {
  const result = claimEvent(progressOf(row), nowMs);
  if (result.kind === "not_due") return null;
  await ctx.db.patch(row._id, result.progress);
  if (result.kind === "claimed") return result.fence;
  await reportDead(ctx, row, result.progress.error, nowMs);
  return null;
}

/** The whole lease again for events whose turn comes late; how many there were that no other worker has by now. */
export const renew = internalMutation({
  args: { claimed: v.array(claimedValidator) },
  returns: v.number(),
  handler: async (ctx, { claimed }) => {
    const nowMs = Date.now();
    let renewed = 0;
    for (const { inboxEventId, fence } of claimed) {
      const row = must(await ctx.db.get(inboxEventId), `event ${inboxEventId} is gone`);
      const progress = renewEvent(progressOf(row), fence, nowMs);
      if (progress === null) continue;
      await ctx.db.patch(inboxEventId, progress);
      renewed += 1;
    }
    return renewed;
  },
});

/** Every effect of an event and its mark, or none: the lease is checked in the transaction that writes them. */
export const apply = internalMutation({
  args: claimedValidator.fields,
  returns: v.object({ kind: v.union(v.literal("finished"), v.literal("lost")) }),
  handler: async (ctx, { inboxEventId, fence }) => {
    const nowMs = Date.now();
    const row = must(await ctx.db.get(inboxEventId), `event ${inboxEventId} is gone`);
    if (!holdsLease(progressOf(row), fence, nowMs)) return { kind: "lost" as const };
    await finishEvent(ctx, row, fence, nowMs);
    return { kind: "finished" as const };
  },
});

/** Writes the effects of an event whose lease is held, and what became of it. */
export async function finishEvent(
  ctx: MutationCtx,
  row: Doc<"inboxEvents">,
  fence: number,
  nowMs: number,
): Promise<void> {
  const { account, decision } = await decide(ctx, row, nowMs);
  const after = await writeEffects(ctx, account, decision.effects, nowMs);
  const progress = must(finish(progressOf(row), fence, decision.outcome, nowMs), "the lease is held");
  const accountId = after?._id ?? row.accountId;
  await ctx.db.patch(row._id, { ...progress, accountId });
  if (progress.status === "dead") await reportDead(ctx, { ...row, accountId }, progress.error, nowMs);
}

/** What an event comes to for its customer, over all that is known of them in this transaction. */
export async function decide(
  ctx: MutationCtx,
  row: Doc<"inboxEvents">,
  nowMs: number,
): Promise<{ account: Doc<"accounts"> | null; decision: Decision }> {
  const event = readEvent(parseJson(await loadPayload(ctx, row._id)));
  const account = event.kind === "read" ? await findSubject(ctx, event.subject, nowMs) : null;
  return { account, decision: decideEvent(event, await customerState(ctx, account), allowances()) };
}

export const fail = internalMutation({
  args: { ...claimedValidator.fields, error: v.string() },
  returns: v.union(eventStatusValidator, v.null()),
  handler: async (ctx, { inboxEventId, fence, error }) => {
    const nowMs = Date.now();
    const row = must(await ctx.db.get(inboxEventId), `event ${inboxEventId} is gone`);
    const progress = failEvent(progressOf(row), fence, error, nowMs);
    // Another worker has it by now, and tells what becomes of it.
    if (progress === null) return null;
    await ctx.db.patch(row._id, progress);
    if (progress.status === "dead") await reportDead(ctx, row, error, nowMs);
    else await ctx.scheduler.runAt(must(progress.nextAttemptAtMs, "a wait"), internal.inboxWorker.kick, {});
    return progress.status;
  },
});

/** Events without a time come first: they are ignored or dead at once. */
function compareTimes(one: bigint | null, other: bigint | null): number {
  const [a, b] = [one ?? -1n, other ?? -1n];
  return a === b ? 0 : a < b ? -1 : 1;
}
