import { v } from "convex/values";

import { auditBudgets, type AuditCounts } from "./audit";
import { operatorAction } from "./functions";
import { sweep as sweepLeases, type SweepCounts } from "./sweeper";

/** The periodic workers on demand: for an operator, and for the supervisor before it lets admissions in. */

export const sweep = operatorAction({
  args: {},
  returns: v.object({ expired: v.number(), batches: v.number(), broken: v.number() }),
  handler: async (ctx): Promise<SweepCounts> => await sweepLeases(ctx),
});

export const audit = operatorAction({
  args: {},
  returns: v.object({ budgets: v.number(), repaired: v.number() }),
  handler: async (ctx): Promise<AuditCounts> => await auditBudgets(ctx),
});
