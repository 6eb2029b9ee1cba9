import { v } from "convex/values";

import { phaseOf, reactionTo } from "../lib/gate/job-state";
import { viewJob } from "../lib/gate/job-view";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import { internalMutation, type MutationCtx } from "./_generated/server";
import { accountMutation } from "./functions";
import { chargeJob, expireNow, settleJob } from "./jobEvents";
import { findOwnJob } from "./rows";
import { jobViewValidator, notFoundValidator, notRunningValidator } from "./validators";

/**
 * The step runner: one scheduled mutation a step, each of which charges and schedules the next. It is a worker like
 * any other: it holds no right that a worker over HTTP does not have, and a step that is lost leaves the job to its
 * lease. It never retries a step; Convex runs a scheduled mutation exactly once.
 */

export const step = internalMutation({
  args: { jobId: v.id("jobs"), step: v.number(), fence: v.number() },
  returns: v.null(),
  handler: async (ctx, { jobId, step, fence }) => {
    const job = await ctx.db.get(jobId);
    if (job === null || job.runner === null) return null;
    const { steps, stepUnits, stepMs, endAs } = job.runner;
    const nowMs = Date.now();
    const answer = await chargeJob(ctx, job, { step, units: stepUnits, fence }, nowMs);
    if (answer.kind !== "charged" || answer.capped || answer.replayed) return null;
    if (step < steps) {
      const runnerStepId = await ctx.scheduler.runAfter(stepMs, internal.runner.step, {
        jobId,
        step: step + 1,
        fence,
      });
      await ctx.db.patch(jobId, { runnerStepId });
      return null;
    }
    const charged = await ctx.db.get(jobId);
    if (charged !== null) await settleJob(ctx, charged, { outcome: endAs, usedUnits: 0, fence }, nowMs);
    return null;
  },
});

/** Takes the worker away, as a crash would: the scheduled step goes, and the hold stays until its lease ends. */
export const kill = accountMutation({
  scope: "jobs:write",
  args: { jobId: v.string() },
  returns: v.union(
    v.object({ kind: v.literal("killed"), job: jobViewValidator }),
    notRunningValidator,
    notFoundValidator,
  ),
  handler: async (ctx, { jobId }) => {
    const job = await findOwnJob(ctx, ctx.principal.accountId, jobId);
    if (job === null) return { kind: "not_found" as const };
    const reaction = reactionTo(phaseOf(job, Date.now()), "kill");
    if (reaction === "expire") {
      return { kind: "not_running" as const, job: viewJob(job._id, await expireNow(ctx, job, Date.now())) };
    }
    // A job that a worker over HTTP runs has no step here to take away, and neither has one killed before.
    if (reaction !== "apply" || job.runnerStepId === null) {
      return { kind: "not_running" as const, job: viewJob(job._id, job) };
    }
    await cancelStep(ctx, job);
    return { kind: "killed" as const, job: viewJob(job._id, job) };
  },
});

async function cancelStep(ctx: MutationCtx, job: Doc<"jobs">): Promise<void> {
  if (job.runnerStepId === null) return;
  await ctx.scheduler.cancel(job.runnerStepId);
  await ctx.db.patch(job._id, { runnerStepId: null });
}
