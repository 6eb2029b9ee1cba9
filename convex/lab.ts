import { v } from "convex/values";

import { JOBS_PER_MINUTE_DEFAULT } from "../lib/gate/rate";
import { checkLab, LAB_JOBS_MAX, LAB_STEPS_OF_ALL_MAX } from "../lib/lab/bounds";
import { internal } from "./_generated/api";
import { insertAccount } from "./accounts";
import { createKey } from "./apiKeys";
import { findApiKey, operatorMutation, operatorQuery, refuse } from "./functions";
import { labRunValidator, labSummaryValidator, viewLabRun } from "./labRows";
import { nextCursor } from "./rows";
import { labStepFields } from "./validators";

/**
 * The Concurrency Lab: the same jobs at the same moment through a plain check and through the gate, on a throw-away
 * account. Its lanes are in labSteps.ts.
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
    const known = await findApiKey(ctx, keyHashNew);
    if (known !== null) {
      await ctx.db.patch(known.accountId, { isThrowAway: true });
      return null;
    }
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
    const fault = checkLab({ jobs, units, limitUnits, steps, stepMs });
    if (fault !== null) refuse("invalid", fault.message);

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
    // In turn, so that neither side has a head start.
    for (let lane = 0; lane < jobs; lane += 1) {
      for (const side of ["plain", "held"] as const) {
        const row = { labRunId, side, lane, status: "waiting" as const, step: 0, jobId: null, refusal: null };
        const labLaneId = await ctx.db.insert("labLanes", row);
        const begin = side === "plain" ? internal.labSteps.startPlain : internal.labSteps.startHeld;
        await ctx.scheduler.runAfter(0, begin, { labLaneId });
      }
    }
    return { labRunId };
  },
});

export const get = operatorQuery({
  args: { labRunId: v.string() },
  returns: v.union(labRunValidator, v.null()),
  handler: async (ctx, { labRunId }) => {
    const id = ctx.db.normalizeId("labRuns", labRunId);
    const run = id === null ? null : await ctx.db.get(id);
    return run === null ? null : await viewLabRun(ctx, run);
  },
});

/** On each side: every step, and of every job its answer and its end. */
const RECORD_MAX = 2 * (LAB_STEPS_OF_ALL_MAX + 2 * LAB_JOBS_MAX);

/** The record of a run, in the order of its commits. Empty for a run that was made before there were records. */
export const record = operatorQuery({
  args: { labRunId: v.string() },
  returns: v.array(v.object(labStepFields)),
  handler: async (ctx, args) => {
    const id = ctx.db.normalizeId("labRuns", args.labRunId);
    if (id === null) return [];
    const rows = await ctx.db
      .query("labSteps")
      .withIndex("by_run", (q) => q.eq("labRunId", id))
      .take(RECORD_MAX);
    return rows.map(({ _id, _creationTime, labRunId: _labRunId, ...step }) => step);
  },
});

/** A run reads its lanes and jobs for its row. */
const PAGE = 10;

/** Past runs, the newest first. */
export const list = operatorQuery({
  args: { cursor: v.union(v.string(), v.null()) },
  returns: v.object({ runs: v.array(labSummaryValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db.query("labRuns").order("desc").paginate({ cursor, numItems: PAGE });
    const runs = [];
    for (const row of page.page) {
      const { lanes: _lanes, ...summary } = await viewLabRun(ctx, row);
      runs.push(summary);
    }
    return { runs, cursor: nextCursor(page) };
  },
});
