import { type ObjectType, v } from "convex/values";

import { parseRequest } from "../lib/gate/request";
import { must } from "../lib/shared/assert";
import { checkUnits } from "../lib/shared/units";
import { admitAt, type AdmissionDesk, closeDesk, openDesk } from "./admission";
import { extendJob } from "./extension";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { refuse } from "./functions";
import { chargeJob, heartbeatJob, settleJob } from "./jobEvents";
import { findOwnJob } from "./rows";
import {
  jobViewValidator,
  leaseLostValidator,
  limitViewValidator,
  notFoundValidator,
  notRunningValidator,
  refreshNeededValidator,
  refreshPendingValidator,
  refusedValidator,
  requestArgs,
  settleOutcomeValidator,
} from "./validators";

/**
 * What an account can write through the gate: arguments, answers, and the checks before the rules. Each is a mutation of
 * its own (gate.ts) and one of the calls that a batch takes (gateBatch.ts).
 */

export const admitArgs = { key: v.string(), ...requestArgs };
export const admitReturns = v.union(
  v.object({
    kind: v.literal("admitted"),
    job: jobViewValidator,
    replayed: v.boolean(),
    limit: limitViewValidator,
  }),
  refusedValidator,
  refreshNeededValidator,
  refreshPendingValidator,
);

type AdmitCall = ObjectType<typeof admitArgs>;

export async function admit(ctx: MutationCtx, account: Doc<"accounts">, args: AdmitCall, nowMs: number) {
  const [answer] = await admitEach(ctx, account, [args], nowMs);
  return must(answer, "an admission has an answer");
}

/** Admissions in a row, each decided after the ones before it. */
export async function admitEach(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  sent: readonly AdmitCall[],
  nowMs: number,
) {
  const desk = openDesk(ctx, account, nowMs);
  const answers: Awaited<ReturnType<typeof admitOne>>[] = [];
  for (const args of sent) answers.push(await admitOne(desk, args));
  await closeDesk(desk);
  return answers;
}

async function admitOne(desk: AdmissionDesk, args: AdmitCall) {
  const request = parseRequest(args);
  if ("code" in request) return { kind: "refused" as const, refusal: request };
  return await admitAt(desk, request);
}

export const chargeArgs = { jobId: v.string(), step: v.number(), units: v.number(), fence: v.number() };
export const chargeReturns = v.union(
  v.object({
    kind: v.literal("charged"),
    job: jobViewValidator,
    chargedUnits: v.number(),
    capped: v.boolean(),
    replayed: v.boolean(),
  }),
  v.object({ kind: v.literal("step_conflict"), job: jobViewValidator, expectedStep: v.number() }),
  leaseLostValidator,
  notRunningValidator,
  notFoundValidator,
  refusedValidator,
);

export async function charge(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { jobId, step, units, fence }: ObjectType<typeof chargeArgs>,
  nowMs: number,
) {
  const refusal = checkUnits("step", step, { minimum: 1 }) ?? checkUnits("units", units);
  if (refusal !== null) return { kind: "refused" as const, refusal };
  const job = await findOwnJob(ctx, account._id, jobId);
  if (job === null) return { kind: "not_found" as const };
  return await chargeJob(ctx, job, { step, units, fence }, nowMs);
}

export const heartbeatArgs = {
  jobId: v.string(),
  fence: v.optional(v.number()),
  takeOver: v.optional(v.boolean()),
};
export const heartbeatReturns = v.union(
  v.object({ kind: v.literal("renewed"), job: jobViewValidator }),
  leaseLostValidator,
  notRunningValidator,
  notFoundValidator,
);

export async function heartbeat(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { jobId, takeOver = false, fence }: ObjectType<typeof heartbeatArgs>,
  nowMs: number,
) {
  if (fence === undefined && !takeOver) refuse("invalid", "fence is needed unless takeOver is true");
  const job = await findOwnJob(ctx, account._id, jobId);
  if (job === null) return { kind: "not_found" as const };
  return await heartbeatJob(ctx, job, { fence: fence ?? 0, takeOver }, nowMs);
}

export const extendArgs = { jobId: v.string(), units: v.number(), fence: v.number() };
export const extendReturns = v.union(
  v.object({ kind: v.literal("extended"), job: jobViewValidator }),
  refusedValidator,
  refreshNeededValidator,
  refreshPendingValidator,
  leaseLostValidator,
  notRunningValidator,
  notFoundValidator,
);

export async function extend(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { jobId, units, fence }: ObjectType<typeof extendArgs>,
  nowMs: number,
) {
  const refusal = checkUnits("units", units, { minimum: 1 });
  if (refusal !== null) return { kind: "refused" as const, refusal };
  const job = await findOwnJob(ctx, account._id, jobId);
  if (job === null) return { kind: "not_found" as const };
  return await extendJob(ctx, account, job, { units, fence }, nowMs);
}

export const settleArgs = {
  jobId: v.string(),
  outcome: settleOutcomeValidator,
  usedUnits: v.optional(v.number()),
  fence: v.optional(v.number()),
};
export const settleReturns = v.union(
  v.object({ kind: v.literal("settled"), job: jobViewValidator, replayed: v.boolean() }),
  leaseLostValidator,
  notFoundValidator,
  refusedValidator,
);

export async function settle(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { jobId, outcome, usedUnits, fence }: ObjectType<typeof settleArgs>,
  nowMs: number,
) {
  const refusal = usedUnits === undefined ? null : checkUnits("usedUnits", usedUnits);
  if (refusal !== null) return { kind: "refused" as const, refusal };
  const job = await findOwnJob(ctx, account._id, jobId);
  if (job === null) return { kind: "not_found" as const };
  const request = { outcome, usedUnits: usedUnits ?? 0, fence: fence ?? null };
  return await settleJob(ctx, job, request, nowMs);
}
