import { v } from "convex/values";

import { parseRequest } from "../lib/gate/request";
import { assert, must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import { internalMutation, type MutationCtx } from "./_generated/server";
import { admitJob } from "./admission";
import { chargeJob, settleJob } from "./jobEvents";
import { loadLane, readBooks, writeStep } from "./labRows";

/**
 * The lanes of a Concurrency Lab run. A plain one reads the total, runs its steps and counts at the end; it touches
 * the lab's tables only. A held one is an ordinary job that the lab works on: it goes through the gate as a job of any
 * worker does. Each step is recorded in the transaction that took it.
 */

const laneArgs = { labLaneId: v.id("labLanes") };

/** The check most products begin with: is the total still below the limit? Nothing remembers the answer. */
export const startPlain = internalMutation({
  args: laneArgs,
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    const { plainSpentUnits: countedUnits, limitUnits } = run;
    const fits = countedUnits + run.units <= limitUnits;
    await ctx.db.patch(lane._id, { status: fits ? "running" : "refused" });
    const readFreeUnits = Math.max(0, limitUnits - countedUnits);
    const kind = fits ? "started" : "refused";
    await writeStep(ctx, lane, { kind, readFreeUnits, units: 0, countedUnits, heldUnits: 0 });
    if (fits) await ctx.scheduler.runAfter(run.stepMs, internal.labSteps.stepPlain, { labLaneId });
    return null;
  },
});

export const stepPlain = internalMutation({
  args: laneArgs,
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    const { units: jobUnits, steps, stepMs, plainSpentUnits } = run;
    const step = lane.step + 1;
    const spent = { readFreeUnits: null, units: jobUnits / steps, heldUnits: 0 };
    await writeStep(ctx, lane, { kind: "charged", ...spent, countedUnits: plainSpentUnits });
    if (step < steps) {
      await ctx.db.patch(lane._id, { step });
      await ctx.scheduler.runAfter(stepMs, internal.labSteps.stepPlain, { labLaneId });
      return null;
    }
    const countedUnits = plainSpentUnits + jobUnits;
    await ctx.db.patch(lane._id, { step, status: "finished" });
    await ctx.db.patch(run._id, { plainSpentUnits: countedUnits });
    await writeStep(ctx, lane, { kind: "ended", ...spent, units: 0, countedUnits });
    return null;
  },
});

/** A held lane is admitted like any job; the lane only remembers which job it is. */
export const startHeld = internalMutation({
  args: laneArgs,
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    const account = await accountOf(ctx, run);
    const before = await readBooks(ctx, account);
    const readFreeUnits = Math.max(0, run.limitUnits - before.countedUnits - before.heldUnits);
    const request = parseRequest({ key: `lane-${lane.lane}`, units: run.units, kind: "lab" });
    assert(!("code" in request), "the lab checked its numbers at the start");
    const answer = await admitJob(ctx, account, request, Date.now());
    if (answer.kind === "admitted") {
      const jobId = ctx.db.normalizeId("jobs", answer.job.id);
      await ctx.db.patch(lane._id, { status: "gated", jobId });
      await ctx.scheduler.runAfter(run.stepMs, internal.labSteps.stepHeld, { labLaneId });
    } else {
      // The limit was read when the run began, seconds ago: only a run that waited a minute gets past the gate's word.
      const refusal =
        answer.kind === "refused" ? answer.refusal : { code: "limit_unknown" as const, retryAfterMs: 0 };
      await ctx.db.patch(lane._id, { status: "refused", refusal });
    }
    const kind = answer.kind === "admitted" ? "started" : "refused";
    const after = await readBooks(ctx, account);
    await writeStep(ctx, lane, { kind, readFreeUnits, units: 0, ...after });
    return null;
  },
});

/** The lab as a worker: it charges a step, and after the last one it settles. */
export const stepHeld = internalMutation({
  args: laneArgs,
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    const account = await accountOf(ctx, run);
    const job = must(
      await ctx.db.get(must(lane.jobId, "a lane that was admitted has a job")),
      "the job is gone",
    );
    const { fence } = job;
    const step = lane.step + 1;
    const charge = { step, units: run.units / run.steps, fence };
    const answer = await chargeJob(ctx, job, charge, Date.now());
    if (answer.kind !== "charged") {
      // The engine stood still for longer than a lease, and the sweeper ended the job.
      const books = await readBooks(ctx, account);
      await writeStep(ctx, lane, { kind: "stopped", readFreeUnits: null, units: 0, ...books });
      return null;
    }
    await ctx.db.patch(lane._id, { step });
    const spent = { readFreeUnits: null, units: answer.chargedUnits };
    await writeStep(ctx, lane, { kind: "charged", ...spent, ...(await readBooks(ctx, account)) });
    if (step < run.steps) {
      await ctx.scheduler.runAfter(run.stepMs, internal.labSteps.stepHeld, { labLaneId });
      return null;
    }
    const charged = must(await ctx.db.get(job._id), "the job was just charged");
    await settleJob(ctx, charged, { outcome: "completed", usedUnits: 0, fence }, Date.now());
    await writeStep(ctx, lane, { kind: "ended", ...spent, units: 0, ...(await readBooks(ctx, account)) });
    return null;
  },
});

async function accountOf(ctx: MutationCtx, run: Doc<"labRuns">): Promise<Doc<"accounts">> {
  return must(await ctx.db.get(run.accountId), `lab run ${run._id} has no account`);
}
