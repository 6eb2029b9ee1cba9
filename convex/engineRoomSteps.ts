import { type Infer, v } from "convex/values";

import { parseBody, parseJson } from "../lib/inbox/event";
import { applyNaively } from "../lib/inbox/naive";
import { holdsLease } from "../lib/inbox/worker";
import { assert, must } from "../lib/shared/assert";
import { SECOND_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import {
  type ActionCtx,
  internalMutation,
  internalQuery,
  type MutationCtx,
  type QueryCtx,
} from "./_generated/server";
import { writeEffects } from "./effects";
import { bodiesOf, planAndBalance } from "./engineRoomRows";
import { store } from "./inbox";
import { progressOf } from "./inboxRows";
import { type planAndBalanceValidator, scenarioStepFields } from "./inboxValidators";
import { claimOne, decide, work } from "./inboxWorker";
import { internalAction } from "./patience";

/**
 * The deliveries of an Engine Room run. Each is claimed in the transaction that stores it, so it is never due for the
 * live worker. Only the event whose worker stopped is, five seconds later like any other; whoever runs it to the end
 * then, it comes out the same.
 */

/** Receipts of these deliveries are told from those of real ones by it: no key has signed them. */
const KID = "engine-room";
/** How long a step waits for an event that another worker holds: longer than a lease. */
const LOOK_EVERY_MS = 100;
const LOOKS_MAX = (40 * SECOND_MS) / LOOK_EVERY_MS;

/** All deliveries, one after another. */
export const drive = internalAction({
  args: { runId: v.id("engineRoomRuns") },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    try {
      const script: Scripted[] = await ctx.runQuery(internal.engineRoomSteps.script, { runId });
      for (const step of script) await takeStep(ctx, runId, step);
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      await ctx.runMutation(internal.engineRoomSteps.giveUp, { runId, failure });
      throw error;
    } finally {
      await ctx.scheduler.runAfter(0, internal.labPurge.removeSurplus, {});
    }
    return null;
  },
});

const scriptedValidator = v.object({ ...scenarioStepFields, payload: v.string() });
type Scripted = Infer<typeof scriptedValidator>;

export const script = internalQuery({
  args: { runId: v.id("engineRoomRuns") },
  returns: v.array(scriptedValidator),
  handler: async (ctx, { runId }) => {
    const run = await loadRun(ctx, runId);
    const bodies = bodiesOf(run);
    return run.script.map((step) => ({ ...step, payload: JSON.stringify(bodies[step.event]) }));
  },
});

const deliveredValidator = v.object({
  inboxEventId: v.id("inboxEvents"),
  isCopy: v.boolean(),
  /** Of the claim; null when there is nothing to do, or another worker does it. */
  fence: v.union(v.number(), v.null()),
});
type Delivered = Infer<typeof deliveredValidator>;

async function takeStep(
  ctx: ActionCtx,
  runId: Id<"engineRoomRuns">,
  { payload, stops }: Scripted,
): Promise<void> {
  const payloadHash = await sha256Hex(payload);
  const delivery = { payload, payloadHash };
  const delivered: Delivered = await ctx.runMutation(internal.engineRoomSteps.deliver, delivery);
  const { inboxEventId, isCopy, fence } = delivered;
  if (stops) {
    await stopHalfWay(ctx, runId, {
      inboxEventId,
      isCopy,
      fence: must(fence, "a first delivery is claimed"),
    });
    return;
  }
  if (fence !== null) await work(ctx, { inboxEventId, fence });
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const done: boolean = await ctx.runMutation(internal.engineRoomSteps.record, {
      runId,
      inboxEventId,
      isCopy,
      hasClaimed: fence !== null,
    });
    if (done) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error("another worker holds the event and does not let go of it");
}

/** The worker writes the first effects and dies before the others, so that its transaction is rolled back. */
async function stopHalfWay(
  ctx: ActionCtx,
  runId: Id<"engineRoomRuns">,
  { inboxEventId, isCopy, fence }: Delivered & { fence: number },
): Promise<void> {
  try {
    await ctx.runMutation(internal.engineRoomSteps.applyHalf, { inboxEventId, fence });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const stopped = { inboxEventId, fence, error: message };
    await ctx.runMutation(internal.engineRoomSteps.recordStop, { runId, isCopy, ...stopped });
    return;
  }
  throw new Error("the attempt that stops did not stop");
}

/** As the live endpoint stores a delivery, with the claim in the same transaction. */
export const deliver = internalMutation({
  args: { payload: v.string(), payloadHash: v.string() },
  returns: deliveredValidator,
  handler: async (ctx, { payload, payloadHash }) => {
    const nowMs = Date.now();
    const body = parseBody(parseJson(payload));
    assert(body.kind === "event", "a delivery of the scenario is an event");
    const webhookId = body.eventId;
    const delivery = { body, payload, payloadHash, webhookId, kid: KID };
    const { inboxEventId, kind } = await store(ctx, delivery, nowMs);
    const fence = await claimOne(ctx, await loadEvent(ctx, inboxEventId), nowMs);
    return { inboxEventId, isCopy: kind === "copy", fence };
  },
});

/** Writes what comes before the credits and then throws. Nothing of it stays. */
export const applyHalf = internalMutation({
  args: { inboxEventId: v.id("inboxEvents"), fence: v.number() },
  returns: v.null(),
  handler: async (ctx, { inboxEventId, fence }) => {
    const nowMs = Date.now();
    const row = await loadEvent(ctx, inboxEventId);
    assert(holdsLease(progressOf(row), fence, nowMs), "the lease of an event that was just claimed is held");
    const { account, decision } = await decide(ctx, row, nowMs);
    const second = decision.effects.findIndex(({ kind }) => kind === "credit");
    assert(second > 0, "a plan change that is new writes a plan, and then credits");
    await writeEffects(ctx, account, decision.effects.slice(0, second), nowMs);
    throw new Error("the worker stopped between its two writes");
  },
});

/** The failure and its step in one transaction: the next attempt is five seconds away and cannot come between. */
export const recordStop = internalMutation({
  args: {
    runId: v.id("engineRoomRuns"),
    inboxEventId: v.id("inboxEvents"),
    isCopy: v.boolean(),
    fence: v.number(),
    error: v.string(),
  },
  returns: v.null(),
  handler: async (ctx, { runId, isCopy, inboxEventId, fence, error }): Promise<null> => {
    await ctx.runMutation(internal.inboxWorker.fail, { inboxEventId, fence, error });
    await recordStep(ctx, runId, await loadEvent(ctx, inboxEventId), { isCopy, hasClaimed: true });
    return null;
  },
});

/** Records the step, unless a worker is still at its event: then it says false. */
export const record = internalMutation({
  args: {
    runId: v.id("engineRoomRuns"),
    inboxEventId: v.id("inboxEvents"),
    isCopy: v.boolean(),
    hasClaimed: v.boolean(),
  },
  returns: v.boolean(),
  handler: async (ctx, { runId, inboxEventId, isCopy, hasClaimed }) => {
    const event = await loadEvent(ctx, inboxEventId);
    if (event.status === "processing" || event.status === "received") return false;
    await recordStep(ctx, runId, event, { isCopy, hasClaimed });
    return true;
  },
});

async function recordStep(
  ctx: MutationCtx,
  runId: Id<"engineRoomRuns">,
  { status, result, error }: Doc<"inboxEvents">,
  delivery: { isCopy: boolean; hasClaimed: boolean },
): Promise<void> {
  const run = await loadRun(ctx, runId);
  const step = must(run.script[run.steps.length], "a delivery of the script");
  const naive = naively(run, step);
  const pipeline = await planAndBalance(ctx, run);
  const done = { ...step, naive, pipeline, ...delivery, status, result, error };
  await ctx.db.patch(runId, { naive, steps: [...run.steps, done] });
}

function naively(
  { naive, planKey, upgradeUnits, start: { planKey: freePlanKey } }: Doc<"engineRoomRuns">,
  step: Parameters<typeof applyNaively>[1],
): Infer<typeof planAndBalanceValidator> {
  const plan = naive.planKey === planKey ? "pro" : "free";
  const after = applyNaively({ plan, balance: naive.balanceUnits }, step, upgradeUnits);
  return { planKey: after.plan === "pro" ? planKey : freePlanKey, balanceUnits: after.balance };
}

export const giveUp = internalMutation({
  args: { runId: v.id("engineRoomRuns"), failure: v.string() },
  returns: v.null(),
  handler: async (ctx, { runId, failure }) => {
    // Fifty newer runs have removed it.
    if ((await ctx.db.get(runId)) !== null) await ctx.db.patch(runId, { failure });
    return null;
  },
});

async function loadRun(ctx: Pick<QueryCtx, "db">, runId: Id<"engineRoomRuns">) {
  return must(await ctx.db.get(runId), `Engine Room run ${runId} is gone`);
}

async function loadEvent(ctx: Pick<QueryCtx, "db">, inboxEventId: Id<"inboxEvents">) {
  return must(await ctx.db.get(inboxEventId), `event ${inboxEventId} is gone`);
}

async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
