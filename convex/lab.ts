import { v } from "convex/values";

import { viewJob } from "../lib/gate/job-view";
import { JOBS_PER_MINUTE_DEFAULT } from "../lib/gate/rate";
import { parseRequest } from "../lib/gate/request";
import { assert, must } from "../lib/shared/assert";
import { checkUnits } from "../lib/shared/units";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import { internalMutation, type QueryCtx } from "./_generated/server";
import { insertAccount } from "./accounts";
import { createKey } from "./apiKeys";
import { admitJob } from "./admission";
import { findApiKey, operatorMutation, operatorQuery, refuse } from "./functions";
import { jobViewValidator, refusalValidator } from "./validators";

/**
 * The Concurrency Lab: the same jobs at the same moment through a plain check and through the gate, on a throw-away
 * account. A plain lane reads the total, runs its steps and counts at the end; it touches the lab's tables only. A
 * held lane is an ordinary job with the ordinary step runner.
 */

/** Far above what one warm-up starts, so that the rate window does not end it. */
const WARM_UP_JOBS_PER_MINUTE = 10_000;

/**
 * The account of the warm-up of `npm start`, one for an installation: it is found again by its key. Its jobs run
 * through the gate as any other's, and as a lab account it never reaches a meter.
 */
export const openWarmUp = operatorMutation({
  args: { keyHashNew: v.string(), prefix: v.string() },
  returns: v.null(),
  handler: async (ctx, { keyHashNew, prefix }) => {
    if ((await findApiKey(ctx, keyHashNew)) !== null) return null;
    const name = "Start-up warm-up";
    const nowMs = Date.now();
    const accountId = await insertAccount(ctx, {
      name,
      email: null,
      source: "lab",
      anchorMs: null,
      jobsPerMinute: WARM_UP_JOBS_PER_MINUTE,
      limitUnits: null,
      nowMs,
    });
    await createKey(ctx, accountId, { keyHashNew, prefix, name, scopes: ["jobs:write"] }, "start");
    return null;
  },
});

const LANES_MAX = 20;
const STEPS_MAX = 50;
/** Lanes of one run start within one tick of the scheduler; a step has to be longer than that to be a step. */
const STEP_MS_MIN = 20;
const STEP_MS_MAX = 5_000;

export const start = operatorMutation({
  args: {
    jobs: v.number(),
    units: v.number(),
    limitUnits: v.number(),
    steps: v.number(),
    stepMs: v.number(),
  },
  returns: v.object({ labRunId: v.string() }),
  handler: async (ctx, { jobs, units, limitUnits, steps, stepMs }) => {
    const fault =
      checkUnits("jobs", jobs, { minimum: 1, maximum: LANES_MAX }) ??
      checkUnits("steps", steps, { minimum: 1, maximum: STEPS_MAX }) ??
      checkUnits("stepMs", stepMs, { minimum: STEP_MS_MIN, maximum: STEP_MS_MAX }) ??
      checkUnits("units", units, { minimum: 1 }) ??
      checkUnits("limitUnits", limitUnits);
    if (fault !== null) refuse("invalid", fault.message);
    if (units % steps !== 0) refuse("invalid", `units must divide into ${steps} equal steps`);
    if (jobs * units > Number.MAX_SAFE_INTEGER) refuse("invalid", "jobs * units must stay below 2^53");

    const nowMs = Date.now();
    const accountId = await insertAccount(ctx, {
      name: "Concurrency Lab",
      email: null,
      source: "lab",
      anchorMs: null,
      jobsPerMinute: JOBS_PER_MINUTE_DEFAULT,
      limitUnits,
      nowMs,
    });
    const labRunId = await ctx.db.insert("labRuns", {
      accountId,
      jobs,
      units,
      limitUnits,
      steps,
      stepMs,
      plainSpentUnits: 0,
      startedAtMs: nowMs,
    });
    for (const side of ["plain", "held"] as const) {
      for (let lane = 0; lane < jobs; lane += 1) {
        const row = { labRunId, side, lane, status: "waiting" as const, step: 0, jobId: null, refusal: null };
        const labLaneId = await ctx.db.insert("labLanes", row);
        await ctx.scheduler.runAfter(0, side === "plain" ? internal.lab.startPlain : internal.lab.startHeld, {
          labLaneId,
        });
      }
    }
    return { labRunId };
  },
});

/** The check most products begin with: is the total still below the limit? Nothing remembers the answer. */
export const startPlain = internalMutation({
  args: { labLaneId: v.id("labLanes") },
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    if (run.plainSpentUnits + run.units > run.limitUnits) {
      await ctx.db.patch(lane._id, { status: "refused" });
      return null;
    }
    await ctx.db.patch(lane._id, { status: "running" });
    await ctx.scheduler.runAfter(run.stepMs, internal.lab.stepPlain, { labLaneId });
    return null;
  },
});

export const stepPlain = internalMutation({
  args: { labLaneId: v.id("labLanes") },
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    const step = lane.step + 1;
    if (step < run.steps) {
      await ctx.db.patch(lane._id, { step });
      await ctx.scheduler.runAfter(run.stepMs, internal.lab.stepPlain, { labLaneId });
      return null;
    }
    await ctx.db.patch(lane._id, { step, status: "finished" });
    await ctx.db.patch(run._id, { plainSpentUnits: run.plainSpentUnits + run.units });
    return null;
  },
});

/** A held lane is admitted like any job and run by the step runner; the lane only remembers which job it is. */
export const startHeld = internalMutation({
  args: { labLaneId: v.id("labLanes") },
  returns: v.null(),
  handler: async (ctx, { labLaneId }) => {
    const { lane, run } = await loadLane(ctx, labLaneId);
    const account = must(await ctx.db.get(run.accountId), `lab run ${run._id} has no account`);
    const { units, steps, stepMs } = run;
    const runner = { steps, stepUnits: units / steps, stepMs, endAs: "completed" as const };
    const request = parseRequest({ key: `lane-${lane.lane}`, units, kind: "lab", runner });
    assert(!("code" in request), "the lab checked its numbers at the start");
    const answer = await admitJob(ctx, account, request, Date.now());
    if (answer.kind === "admitted") {
      const jobId = ctx.db.normalizeId("jobs", answer.job.id);
      await ctx.db.patch(lane._id, { status: "gated", jobId });
    } else if (answer.kind === "refused") {
      await ctx.db.patch(lane._id, { status: "refused", refusal: answer.refusal });
    } else {
      // The limit was read when the run began, seconds ago: only a run that waited a minute gets here.
      const refusal = { code: "limit_unknown" as const, retryAfterMs: 0 };
      await ctx.db.patch(lane._id, { status: "refused", refusal });
    }
    return null;
  },
});

const laneValidator = v.object({
  side: v.union(v.literal("plain"), v.literal("held")),
  lane: v.number(),
  status: v.union(v.literal("waiting"), v.literal("running"), v.literal("finished"), v.literal("refused")),
  step: v.number(),
  usedUnits: v.number(),
  job: v.union(jobViewValidator, v.null()),
  refusal: v.union(refusalValidator, v.null()),
});

export const get = operatorQuery({
  args: { labRunId: v.string() },
  returns: v.union(
    v.object({
      status: v.union(v.literal("running"), v.literal("finished")),
      limitUnits: v.number(),
      plain: v.object({ started: v.number(), spentUnits: v.number(), overUnits: v.number() }),
      held: v.object({ started: v.number(), refused: v.number(), spentUnits: v.number() }),
      lanes: v.array(laneValidator),
    }),
    v.null(),
  ),
  handler: async (ctx, { labRunId }) => {
    const id = ctx.db.normalizeId("labRuns", labRunId);
    const run = id === null ? null : await ctx.db.get(id);
    if (run === null) return null;
    const rows = await ctx.db
      .query("labLanes")
      .withIndex("by_run", (q) => q.eq("labRunId", run._id))
      .take(2 * LANES_MAX);
    const lanes = [];
    for (const row of rows) lanes.push(await viewLane(ctx, run, row));
    const plain = lanes.filter((lane) => lane.side === "plain");
    const held = lanes.filter((lane) => lane.side === "held");
    const isOver = lanes.every((lane) => lane.status === "finished" || lane.status === "refused");
    return {
      status: isOver ? ("finished" as const) : ("running" as const),
      limitUnits: run.limitUnits,
      plain: {
        started: plain.filter(hasStarted).length,
        spentUnits: run.plainSpentUnits,
        overUnits: Math.max(0, run.plainSpentUnits - run.limitUnits),
      },
      held: {
        started: held.filter(hasStarted).length,
        refused: held.filter((lane) => lane.status === "refused").length,
        spentUnits: held.reduce((sum, lane) => sum + lane.usedUnits, 0),
      },
      lanes,
    };
  },
});

function hasStarted(lane: { status: string }): boolean {
  return lane.status === "running" || lane.status === "finished";
}

async function loadLane(ctx: Pick<QueryCtx, "db">, labLaneId: Doc<"labLanes">["_id"]) {
  const lane = must(await ctx.db.get(labLaneId), `lab lane ${labLaneId} is missing`);
  const run = must(await ctx.db.get(lane.labRunId), `lab run ${lane.labRunId} is missing`);
  return { lane, run };
}

async function viewLane(ctx: Pick<QueryCtx, "db">, run: Doc<"labRuns">, row: Doc<"labLanes">) {
  const { side, lane, refusal } = row;
  const job = row.jobId === null ? null : await ctx.db.get(row.jobId);
  if (job !== null) {
    const status = job.status === "running" ? ("running" as const) : ("finished" as const);
    const { step, usedUnits } = job;
    return { side, lane, status, step, usedUnits, job: viewJob(job._id, job), refusal };
  }
  const status = row.status === "gated" ? ("running" as const) : row.status;
  const usedUnits = status === "finished" ? run.units : 0;
  return { side, lane, status, step: row.step, usedUnits, job: null, refusal };
}
