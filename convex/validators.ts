import { type Infer, v } from "convex/values";

/** Validators that tables and answers share. Their TypeScript twins live in lib/gate/types.ts. */

export const scopeValidator = v.union(
  v.literal("jobs:read"),
  v.literal("jobs:write"),
  v.literal("usage:read"),
);
export type Scope = Infer<typeof scopeValidator>;

export const providerValidator = v.union(v.literal("fixed"), v.literal("kinde"));

export const jobStatusValidator = v.union(
  v.literal("running"),
  v.literal("completed"),
  v.literal("failed"),
  v.literal("cancelled"),
  v.literal("capped"),
  v.literal("expired"),
);

export const settleOutcomeValidator = v.union(
  v.literal("completed"),
  v.literal("failed"),
  v.literal("cancelled"),
);

export const runnerPlanValidator = v.object({
  steps: v.number(),
  stepUnits: v.number(),
  stepMs: v.number(),
  endAs: settleOutcomeValidator,
});

/** What an admission or a preview is asked. Numbers are judged by lib/gate/request.ts, not here. */
export const requestArgs = {
  units: v.number(),
  acceptUnits: v.optional(v.number()),
  kind: v.optional(v.string()),
  leaseMs: v.optional(v.number()),
  runner: v.optional(
    v.object({
      steps: v.number(),
      stepUnits: v.number(),
      stepMs: v.number(),
      endAs: v.optional(settleOutcomeValidator),
    }),
  ),
};

/** The fields of a job that lib/gate decides about. The table adds whose it is and its scheduled step. */
export const jobFields = {
  key: v.string(),
  fingerprint: v.string(),
  kind: v.string(),
  feature: v.string(),
  status: jobStatusValidator,
  requestedUnits: v.number(),
  heldUnits: v.number(),
  usedUnits: v.number(),
  overCapUnits: v.number(),
  step: v.number(),
  lastStepUnits: v.number(),
  fence: v.number(),
  leaseMs: v.number(),
  leaseExpiresAtMs: v.number(),
  cycle: v.string(),
  startedAtMs: v.number(),
  endedAtMs: v.union(v.number(), v.null()),
  runner: v.union(runnerPlanValidator, v.null()),
};

const { fingerprint: _fingerprint, lastStepUnits: _lastStepUnits, ...shownJobFields } = jobFields;
export const jobViewValidator = v.object({ id: v.string(), ...shownJobFields, returnedUnits: v.number() });

/** Null means unlimited. */
export const limitUnitsValidator = v.union(v.number(), v.null());

export const limitViewValidator = v.object({
  limitUnits: limitUnitsValidator,
  readAtMs: v.number(),
  stale: v.boolean(),
  provider: providerValidator,
});

const roomNumbers = {
  requestedUnits: v.number(),
  usedUnits: v.number(),
  heldUnits: v.number(),
  limitUnits: v.number(),
  freeUnits: v.number(),
  nextCycleStartMs: v.number(),
};

export const refusalValidator = v.union(
  v.object({ code: v.literal("limit_reached"), ...roomNumbers }),
  v.object({
    code: v.literal("held_by_running_jobs"),
    ...roomNumbers,
    earliestLeaseExpiresAtMs: v.number(),
  }),
  v.object({ code: v.literal("limit_unknown"), retryAfterMs: v.number() }),
  v.object({ code: v.literal("rate_limited"), limitPerMinute: v.number(), retryAfterMs: v.number() }),
  v.object({
    code: v.literal("out_of_range"),
    field: v.string(),
    minimum: v.number(),
    maximum: v.number(),
    message: v.string(),
  }),
  v.object({ code: v.literal("key_conflict"), message: v.string() }),
);

export const refusedValidator = v.object({ kind: v.literal("refused"), refusal: refusalValidator });
export const refreshNeededValidator = v.object({
  kind: v.literal("refresh_needed"),
  accountId: v.string(),
  feature: v.string(),
  refreshLease: v.string(),
});
export const refreshPendingValidator = v.object({
  kind: v.literal("refresh_pending"),
  retryAfterMs: v.number(),
});
export const notFoundValidator = v.object({ kind: v.literal("not_found") });
export const leaseLostValidator = v.object({ kind: v.literal("lease_lost"), job: jobViewValidator });
export const notRunningValidator = v.object({ kind: v.literal("not_running"), job: jobViewValidator });
