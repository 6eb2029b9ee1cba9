import { type Infer, v } from "convex/values";

/** Validators that tables and answers share. Their TypeScript twins live in lib/gate/types.ts. */

export const scopeValidator = v.union(
  v.literal("jobs:read"),
  v.literal("jobs:write"),
  v.literal("usage:read"),
  v.literal("links:read"),
  v.literal("links:write"),
  v.literal("events:replay"),
  v.literal("reminders:write"),
);
export type Scope = Infer<typeof scopeValidator>;

export const providerValidator = v.union(v.literal("fixed"), v.literal("kinde"));

export const endedStatusValidator = v.union(
  v.literal("completed"),
  v.literal("failed"),
  v.literal("cancelled"),
  v.literal("capped"),
  v.literal("expired"),
);
export const jobStatusValidator = v.union(v.literal("running"), ...endedStatusValidator.members);

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

/**
 * Of a query about the current cycle or month: an end of one that the caller's clock has passed. It changes nothing but
 * the question, since no row changes at that end and an answer may be kept; the answer goes by the server's own clock.
 */
export const afterArgs = { afterMs: v.optional(v.number()) };

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

/** The words of lib/gate/limit-state.ts. */
export const limitStateValidator = v.union(v.literal("known"), v.literal("unlimited"), v.literal("unknown"));

export const limitViewValidator = v.object({
  limitUnits: limitUnitsValidator,
  readAtMs: v.number(),
  stale: v.boolean(),
  provider: providerValidator,
});

export const clickClassValidator = v.union(
  v.literal("billable"),
  v.literal("inactive"),
  v.literal("head"),
  v.literal("prefetch"),
  v.literal("bot"),
  v.literal("over_cap"),
);

/** What a ledger entry came from; the words of lib/ledger/why.ts. */
export const entryOriginValidator = v.union(
  v.object({
    kind: v.literal("click"),
    linkId: v.id("links"),
    class: clickClassValidator,
    rule: v.string(),
    referrer: v.union(v.string(), v.null()),
    agent: v.union(v.string(), v.null()),
  }),
  v.object({ kind: v.literal("job"), jobId: v.id("jobs") }),
  v.object({ kind: v.literal("move") }),
  v.object({ kind: v.literal("take_back") }),
  v.object({ kind: v.literal("carry_over"), reviewId: v.id("reviews") }),
  v.object({ kind: v.literal("write_off"), reviewId: v.id("reviews") }),
);

/** lib/ledger/report-state.ts. */
export const reportStateValidator = v.object({
  version: v.number(),
  confirmed: v.union(v.object({ totalUnits: v.number(), atMs: v.number() }), v.null()),
  pending: v.union(
    v.object({ totalUnits: v.number(), version: v.number(), leaseExpiresAtMs: v.number() }),
    v.null(),
  ),
  lastTotalUnits: v.union(v.number(), v.null()),
  lastOutcome: v.union(v.literal("none"), v.literal("confirmed"), v.literal("failed"), v.literal("unknown")),
  unsure: v.union(
    v.object({
      sinceMs: v.number(),
      readNotBeforeMs: v.number(),
      seenAtMs: v.optional(v.number()),
      readerUntilMs: v.optional(v.number()),
    }),
    v.null(),
  ),
  resend: v.boolean(),
  attempts: v.number(),
  notBeforeMs: v.number(),
  error: v.union(v.string(), v.null()),
});

export const verdictValidator = v.union(
  v.literal("match"),
  v.literal("under_billed"),
  v.literal("over_billed"),
  v.literal("closed_cycle_drift"),
  v.literal("unreadable"),
);

export const evidenceStatusValidator = v.union(
  v.literal("proven"),
  v.literal("kept_here"),
  v.literal("repaired_and_confirmed"),
  v.literal("error"),
  v.literal("needs_review"),
  v.literal("unreadable"),
);

export const lateUsageValidator = v.object({
  ledgerUnits: v.number(),
  sentUnits: v.number(),
  lateUnits: v.number(),
  maybeSentUnits: v.union(v.number(), v.null()),
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
  v.object({ code: v.literal("payment_overdue"), overdueSinceMs: v.number(), blockedSinceMs: v.number() }),
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

/** One line in the record of a Concurrency Lab run; its twin is `LabStep` in lib/lab/replay.ts. */
export const labStepFields = {
  side: v.union(v.literal("plain"), v.literal("held")),
  lane: v.number(),
  kind: v.union(
    v.literal("started"),
    v.literal("refused"),
    v.literal("charged"),
    v.literal("ended"),
    v.literal("stopped"),
  ),
  readFreeUnits: v.union(v.number(), v.null()),
  units: v.number(),
  countedUnits: v.number(),
  heldUnits: v.number(),
  atMs: v.number(),
};
