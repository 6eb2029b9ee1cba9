import { type Infer, v } from "convex/values";

import { viewJob } from "../lib/gate/job-view";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { LAB_JOBS_MAX } from "../lib/lab/bounds";
import { cycleAt } from "../lib/ledger/cycle";
import { must } from "../lib/shared/assert";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { findBudget } from "./rows";
import { jobViewValidator, refusalValidator, type labStepFields } from "./validators";

/** The rows of a Concurrency Lab run: its lanes, their record, and what they come to. */

type Reader = Pick<QueryCtx, "db">;

export async function loadLane(ctx: Reader, labLaneId: Id<"labLanes">) {
  const lane = must(await ctx.db.get(labLaneId), `lab lane ${labLaneId} is missing`);
  const run = must(await ctx.db.get(lane.labRunId), `lab run ${lane.labRunId} is missing`);
  return { lane, run };
}

type StepFields = { [Name in keyof typeof labStepFields]: Infer<(typeof labStepFields)[Name]> };

/** Adds a line to the record, in the transaction that did what the line says. */
export async function writeStep(
  ctx: MutationCtx,
  { labRunId, side, lane }: Doc<"labLanes">,
  step: Omit<StepFields, "side" | "lane" | "atMs">,
): Promise<void> {
  await ctx.db.insert("labSteps", { labRunId, side, lane, atMs: Date.now(), ...step });
}

/** What the account's own books say now: the row that every hold and every settlement changes. */
export async function readBooks(
  ctx: Reader,
  account: Doc<"accounts">,
): Promise<{ countedUnits: number; heldUnits: number }> {
  const { name } = cycleAt(account.cycleAnchorMs, Date.now());
  const budget = await findBudget(ctx, account._id, FEATURE_TOKENS, name);
  return { countedUnits: budget?.usedUnits ?? 0, heldUnits: budget?.heldUnits ?? 0 };
}

const laneValidator = v.object({
  side: v.union(v.literal("plain"), v.literal("held")),
  lane: v.number(),
  status: v.union(v.literal("waiting"), v.literal("running"), v.literal("finished"), v.literal("refused")),
  step: v.number(),
  usedUnits: v.number(),
  job: v.union(jobViewValidator, v.null()),
  refusal: v.union(refusalValidator, v.null()),
});

/** What a run was asked, and what both sides have come to so far. */
export const labSummaryValidator = v.object({
  labRunId: v.string(),
  status: v.union(v.literal("running"), v.literal("finished")),
  startedAtMs: v.number(),
  jobs: v.number(),
  units: v.number(),
  limitUnits: v.number(),
  steps: v.number(),
  stepMs: v.number(),
  plain: v.object({ started: v.number(), spentUnits: v.number(), overUnits: v.number() }),
  held: v.object({ started: v.number(), refused: v.number(), spentUnits: v.number() }),
});

export const labRunValidator = labSummaryValidator.extend({ lanes: v.array(laneValidator) });

export async function viewLabRun(ctx: Reader, run: Doc<"labRuns">): Promise<Infer<typeof labRunValidator>> {
  const rows = await ctx.db
    .query("labLanes")
    .withIndex("by_run", (q) => q.eq("labRunId", run._id))
    .take(2 * LAB_JOBS_MAX);
  const lanes = [];
  for (const row of rows) lanes.push(await viewLane(ctx, run, row));
  const plain = lanes.filter((lane) => lane.side === "plain");
  const held = lanes.filter((lane) => lane.side === "held");
  const isOver = lanes.every((lane) => lane.status === "finished" || lane.status === "refused");
  const { startedAtMs, jobs, units, limitUnits, steps, stepMs, plainSpentUnits } = run;
  return {
    labRunId: run._id,
    status: isOver ? "finished" : "running",
    startedAtMs,
    jobs,
    units,
    limitUnits,
    steps,
    stepMs,
    plain: {
      started: plain.filter(hasStarted).length,
      spentUnits: plainSpentUnits,
      overUnits: Math.max(0, plainSpentUnits - limitUnits),
    },
    held: {
      started: held.filter(hasStarted).length,
      refused: held.filter((lane) => lane.status === "refused").length,
      spentUnits: held.reduce((sum, lane) => sum + lane.usedUnits, 0),
    },
    lanes,
  };
}

function hasStarted(lane: { status: string }): boolean {
  return lane.status === "running" || lane.status === "finished";
}

async function viewLane(
  ctx: Reader,
  run: Doc<"labRuns">,
  row: Doc<"labLanes">,
): Promise<Infer<typeof laneValidator>> {
  const { side, lane, refusal } = row;
  const job = row.jobId === null ? null : await ctx.db.get(row.jobId);
  if (job !== null) {
    const status = job.status === "running" ? "running" : "finished";
    const { step, usedUnits } = job;
    return { side, lane, status, step, usedUnits, job: viewJob(job._id, job), refusal };
  }
  const status = row.status === "gated" ? "running" : row.status;
  const usedUnits = status === "finished" ? run.units : 0;
  return { side, lane, status, step: row.step, usedUnits, job: null, refusal };
}
