import { type Infer, v } from "convex/values";

import { JOBS_PER_MINUTE_DEFAULT } from "../lib/gate/rate";
import { type AllowanceCatalogue, periodAt } from "../lib/inbox/allowance";
import { changeInstant, DELIVERIES, shuffled, stepsOf } from "../lib/inbox/scenario";
import { must } from "../lib/shared/assert";
import { checkUnits } from "../lib/shared/units";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { insertAccount } from "./accounts";
import { allowances } from "./allowances";
import { settleFacts } from "./customers";
import { customerIds, pipelineValidator, planAndBalance, viewPipeline } from "./engineRoomRows";
import { operatorMutation, operatorQuery, refuse } from "./functions";
import { engineRoomStepValidator, planAndBalanceValidator, scenarioStepFields } from "./inboxValidators";

/**
 * The Engine Room: nine deliveries of three events to a throw-away account, through the code of the live inbox, and
 * beside it through a handler as tutorials show it, which touches nothing but its own two numbers in the run.
 */

const SEED_MAX = 2 ** 32 - 1;

/** Starts a run. Without a seed the deliveries come in the order of S10; with one in the order that it tells. */
export const start = operatorMutation({
  args: { seed: v.optional(v.number()) },
  returns: v.object({ runId: v.string() }),
  handler: async (ctx, { seed }) => {
    const fault = seed === undefined ? null : checkUnits("seed", seed, { maximum: SEED_MAX });
    if (fault !== null) refuse("invalid", fault.message);
    const catalogue = allowances();
    const top = topPlan(catalogue);
    if (top === null) refuse("invalid", "no plan in HOLDFAST_ALLOWANCES has more credits than the free one");

    const nowMs = Date.now();
    const changedAtMs = changeInstant(nowMs);
    const accountId = await openAccount(ctx, changedAtMs, nowMs);
    const begin = await planAndBalance(ctx, { accountId, changedAtMs });
    const order = seed === undefined ? DELIVERIES : shuffled(DELIVERIES, seed);
    const runId = await ctx.db.insert("engineRoomRuns", {
      accountId,
      seed: seed ?? null,
      ...top,
      changedAtMs,
      start: begin,
      script: [...stepsOf(order)],
      naive: begin,
      steps: [],
      failure: null,
      startedAtMs: nowMs,
    });
    const driverId = await ctx.scheduler.runAfter(0, internal.engineRoomSteps.drive, { runId });
    await ctx.db.patch(runId, { driverId });
    return { runId };
  },
});

/** The plan with the most credits, and how many more it has than the free one; null when none has more. */
function topPlan(catalogue: AllowanceCatalogue): { planKey: string; upgradeUnits: number } | null {
  const freeUnits = must(catalogue.unitsByPlan[catalogue.freePlanKey], "the free plan has an allowance");
  let top: { planKey: string; upgradeUnits: number } | null = null;
  for (const [planKey, units] of Object.entries(catalogue.unitsByPlan)) {
    const upgradeUnits = units - freeUnits;
    if (upgradeUnits > (top?.upgradeUnits ?? 0)) top = { planKey, upgradeUnits };
  }
  return top;
}

/** An account that has had a look at its balance, which is what grants it the credits of the free plan. */
async function openAccount(ctx: MutationCtx, changedAtMs: number, nowMs: number): Promise<Id<"accounts">> {
  const accountId = await insertAccount(ctx, {
    name: "Engine Room",
    email: null,
    source: "lab",
    anchorMs: null,
    jobsPerMinute: JOBS_PER_MINUTE_DEFAULT,
    limitUnits: undefined,
    nowMs,
  });
  const { userId, customerId } = customerIds(accountId);
  await ctx.db.patch(accountId, { kindeUserId: userId, customerId });
  const account = must(await ctx.db.get(accountId), "an account that was just made");
  await settleFacts(ctx, account, [periodAt(changedAtMs)], nowMs);
  return accountId;
}

const runViewValidator = v.object({
  runId: v.string(),
  seed: v.union(v.number(), v.null()),
  /** `stopped`: the engine ended in the middle of the run, and what drove it with it. */
  status: v.union(v.literal("running"), v.literal("finished"), v.literal("failed"), v.literal("stopped")),
  failure: v.union(v.string(), v.null()),
  startedAtMs: v.number(),
  freePlanKey: v.string(),
  planKey: v.string(),
  /** What that plan has more than the free one. */
  upgradeUnits: v.number(),
  /** What both sides start with. */
  start: planAndBalanceValidator,
  /** All deliveries in their order, and what became of those so far. */
  script: v.array(v.object(scenarioStepFields)),
  steps: v.array(engineRoomStepValidator),
  naive: planAndBalanceValidator,
  pipeline: pipelineValidator,
});

/** One run, live. Null for one that is not there, or not any more. */
export const get = operatorQuery({
  args: { runId: v.string() },
  returns: v.union(runViewValidator, v.null()),
  handler: async (ctx, { runId }) => {
    const id = ctx.db.normalizeId("engineRoomRuns", runId);
    const run = id === null ? null : await ctx.db.get(id);
    return run === null ? null : await viewRun(ctx, run);
  },
});

/** The newest run, live. */
export const latest = operatorQuery({
  args: {},
  returns: v.union(runViewValidator, v.null()),
  handler: async (ctx) => {
    const run = await ctx.db.query("engineRoomRuns").order("desc").first();
    return run === null ? null : await viewRun(ctx, run);
  },
});

async function viewRun(ctx: QueryCtx, run: Doc<"engineRoomRuns">): Promise<Infer<typeof runViewValidator>> {
  const { _id: runId, seed, failure, startedAtMs, planKey, upgradeUnits, start: begin, steps, naive } = run;
  return {
    runId,
    seed,
    status: await statusOf(ctx, run),
    failure,
    startedAtMs,
    freePlanKey: begin.planKey,
    planKey,
    upgradeUnits,
    start: begin,
    script: run.script,
    steps,
    naive,
    pipeline: await viewPipeline(ctx, run),
  };
}

/** An action that a dead engine was at is never run again: its job says that it failed, or after a week nothing. */
async function statusOf(
  ctx: QueryCtx,
  { failure, steps, script, driverId }: Doc<"engineRoomRuns">,
): Promise<Infer<typeof runViewValidator>["status"]> {
  if (failure !== null) return "failed";
  if (steps.length === script.length) return "finished";
  const driver = driverId === undefined ? null : await ctx.db.system.get(driverId);
  const isAtIt = driver?.state.kind === "pending" || driver?.state.kind === "inProgress";
  return isAtIt ? "running" : "stopped";
}
