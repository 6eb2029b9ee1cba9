import { type Infer, v } from "convex/values";

import { GATE_BATCH_MAX } from "../lib/gate/batch";
import { must } from "../lib/shared/assert";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { accountMutation, refuse } from "./functions";
import * as calls from "./gateCalls";

/** Several writes of one account in one transaction. */

const callValidator = v.union(
  v.object({ call: v.literal("admit"), ...calls.admitArgs }),
  v.object({ call: v.literal("charge"), ...calls.chargeArgs }),
  v.object({ call: v.literal("heartbeat"), ...calls.heartbeatArgs }),
  v.object({ call: v.literal("extend"), ...calls.extendArgs }),
  v.object({ call: v.literal("settle"), ...calls.settleArgs }),
);

const answerValidator = v.union(
  ...calls.admitReturns.members,
  ...calls.chargeReturns.members,
  ...calls.heartbeatReturns.members,
  ...calls.extendReturns.members,
  ...calls.settleReturns.members,
);

/**
 * Answers each call as its own mutation would, in their order, each after the ones before it. All of them are committed
 * or none: a call that throws takes the others with it, and the caller sends each alone.
 */
export const run = accountMutation({
  scope: "jobs:write",
  args: { calls: v.array(callValidator) },
  returns: v.array(answerValidator),
  handler: async (ctx, { calls: sent }) => {
    if (sent.length === 0 || sent.length > GATE_BATCH_MAX) {
      refuse("invalid", `a batch has 1 to ${GATE_BATCH_MAX} calls`);
    }
    const nowMs = Date.now();
    const { account } = ctx.principal;
    const answers: Answer[] = [];
    for (let next = 0; next < sent.length; next = answers.length) {
      const admissions = admissionsFrom(sent, next);
      if (admissions.length > 0) answers.push(...(await calls.admitEach(ctx, account, admissions, nowMs)));
      else answers.push(await runOther(ctx, account, must(sent[next], "a call to run"), nowMs));
    }
    return answers;
  },
});

type Call = Infer<typeof callValidator>;
type Answer = Infer<typeof answerValidator>;

/** The admissions from a place on, up to the first call that is none: they share what they read and write. */
function admissionsFrom(sent: readonly Call[], start: number) {
  const admissions: Omit<Extract<Call, { call: "admit" }>, "call">[] = [];
  for (const each of sent.slice(start)) {
    if (each.call !== "admit") break;
    const { call: _call, ...args } = each;
    admissions.push(args);
  }
  return admissions;
}

async function runOther(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  call: Call,
  nowMs: number,
): Promise<Answer> {
  switch (call.call) {
    case "charge":
      return await calls.charge(ctx, account, call, nowMs);
    case "heartbeat":
      return await calls.heartbeat(ctx, account, call, nowMs);
    case "extend":
      return await calls.extend(ctx, account, call, nowMs);
    case "settle":
      return await calls.settle(ctx, account, call, nowMs);
    case "admit":
      throw new Error("admissions are run together");
  }
}
