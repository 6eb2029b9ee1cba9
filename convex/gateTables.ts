import { defineTable } from "convex/server";
import { v } from "convex/values";

import {
  jobFields,
  labStepFields,
  limitUnitsValidator,
  providerValidator,
  refusalValidator,
} from "./validators";

/** Tables of the gate: limits, budgets, jobs and the labs that show them. */
export const gateTables = {
  /**
   * The cached limit of an account and feature. Written by the refresh (limits.ts), by the gate when it grants the
   * refresh lease, and by operators who set a fixed limit.
   */
  limits: defineTable({
    accountId: v.id("accounts"),
    feature: v.string(),
    provider: providerValidator,
    limitUnits: limitUnitsValidator,
    /** The plan that the provider named together with the limit. */
    planKey: v.union(v.string(), v.null()),
    readAtMs: v.union(v.number(), v.null()),
    refreshFence: v.number(),
    refreshLeaseExpiresAtMs: v.union(v.number(), v.null()),
    refreshFailedAtMs: v.union(v.number(), v.null()),
    refreshFailure: v.union(v.string(), v.null()),
    refreshRequiredAtMs: v.union(v.number(), v.null()),
  }).index("by_account_feature", ["accountId", "feature"]),

  /** The fixed provider's own table: what an operator set. The gate never reads it, only the refresh does. */
  fixedLimits: defineTable({
    accountId: v.id("accounts"),
    feature: v.string(),
    limitUnits: limitUnitsValidator,
    setAtMs: v.number(),
  }).index("by_account_feature", ["accountId", "feature"]),

  /** Settled use and open holds of one cycle: the serial point. Written by the gate only; repaired by the audit. */
  budgets: defineTable({
    accountId: v.id("accounts"),
    feature: v.string(),
    cycle: v.string(),
    usedUnits: v.number(),
    heldUnits: v.number(),
  }).index("by_account_feature_cycle", ["accountId", "feature", "cycle"]),

  /** Admitted jobs, running and ended. Written by the gate only. Inserted in one place: admission.ts. */
  jobs: defineTable({
    accountId: v.id("accounts"),
    ...jobFields,
    /** The runner's next step, while one is scheduled. */
    runnerStepId: v.union(v.id("_scheduled_functions"), v.null()),
  })
    // Every start and end of a job writes each of these, so there is one for each question and none to spare.
    .index("by_account_key", ["accountId", "key"])
    .index("by_account", ["accountId"])
    .index("by_account_status_lease", ["accountId", "status", "leaseExpiresAtMs"])
    .index("by_status_lease", ["status", "leaseExpiresAtMs"]),

  /**
   * Refused admissions with the numbers at that moment. Written by the gate; removed after 30 days (lib/retention).
   * A key or a number that was never acceptable is not recorded, nor is more than one rate refusal a window. Past 20 of
   * an account in a minute one more row counts the rest, with the numbers of the last (lib/gate/refusal-rows.ts).
   */
  refusals: defineTable({
    accountId: v.id("accounts"),
    key: v.string(),
    kind: v.string(),
    requestedUnits: v.number(),
    refusal: refusalValidator,
    atMs: v.number(),
    ordinal: v.number(),
    times: v.number(),
  })
    .index("by_account", ["accountId"])
    .index("by_at", ["atMs"]),

  /** One Concurrency Lab run on its own throw-away account. Written by lab.ts and labSteps.ts, removed by labPurge.ts. */
  labRuns: defineTable({
    accountId: v.id("accounts"),
    jobs: v.number(),
    units: v.number(),
    limitUnits: v.number(),
    steps: v.number(),
    stepMs: v.number(),
    /** The plain check's own count: read before a lane starts, raised when it ends. That is its whole fault. */
    plainSpentUnits: v.number(),
    startedAtMs: v.number(),
  }),

  /** The lanes of a lab run. A held lane points at its job; a plain one is nowhere but here. Written by both too. */
  labLanes: defineTable({
    labRunId: v.id("labRuns"),
    side: v.union(v.literal("plain"), v.literal("held")),
    lane: v.number(),
    status: v.union(
      v.literal("waiting"),
      v.literal("running"),
      v.literal("finished"),
      v.literal("refused"),
      v.literal("gated"),
    ),
    step: v.number(),
    jobId: v.union(v.id("jobs"), v.null()),
    refusal: v.union(refusalValidator, v.null()),
  }).index("by_run", ["labRunId", "side", "lane"]),

  /** What happened in the lanes of a lab run, in the order of its commits. Written by labSteps.ts only. */
  labSteps: defineTable({ labRunId: v.id("labRuns"), ...labStepFields }).index("by_run", ["labRunId"]),
};
