import { z } from "zod";

/**
 * What the API takes and answers, as zod schemas: the source of validation, of the OpenAPI document and of the types
 * of the Convex calls. Request bodies are strict (an unknown field is a fault); answers are open, so that a field can
 * be added without breaking a client.
 */

const UNITS_MAX = Number.MAX_SAFE_INTEGER;
const LEASE_MS_MIN = 10_000;
const LEASE_MS_MAX = 120_000;
const KEY_LENGTH_MAX = 200;
const KIND_LENGTH_MAX = 64;
const NAME_LENGTH_MAX = 200;
const RUNNER_STEPS_MAX = 10_000;
const RUNNER_STEP_MS_MAX = 60_000;
const JOBS_PER_MINUTE_MAX = 10_000_000;
const PAGE_LIMIT_MAX = 100;
const PAGE_LIMIT_DEFAULT = 50;

const units = (minimum: number, description: string) =>
  z.number().int().min(minimum).max(UNITS_MAX).describe(description);
const ms = (description: string) => z.number().describe(description);
/** Text that a person or a program chose; control characters would break logs and lists. */
const text = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    // eslint-disable-next-line no-control-regex -- the point of the pattern
    .regex(/^[^\u0000-\u001f\u007f]*$/, "Must not hold control characters");

export const scope = z.enum(["jobs:read", "jobs:write", "usage:read"]);
export const jobStatus = z.enum(["running", "completed", "failed", "cancelled", "capped", "expired"]);
export const outcome = z.enum(["completed", "failed", "cancelled"]);
const kind = text(KIND_LENGTH_MAX);
const fence = z.number().int().min(0).max(UNITS_MAX).describe("The fence of the job as last answered");

// Parts of answers.

export const runnerView = z
  .object({
    steps: z.number().int(),
    stepUnits: z.number().int(),
    stepMs: z.number(),
    endAs: outcome,
  })
  .describe("The built-in step runner of a job");

export const job = z
  .object({
    id: z.string(),
    key: z.string(),
    kind: z.string(),
    feature: z.string(),
    status: jobStatus,
    requestedUnits: z.number().int(),
    heldUnits: z.number().int().describe("Size of the hold, also after its end"),
    usedUnits: z.number().int(),
    returnedUnits: z.number().int().describe("Held minus used once the job has ended, else 0"),
    overCapUnits: z.number().int().describe("Use reported beyond the hold, recorded and not charged"),
    step: z.number().int().describe("The last charged step"),
    fence: z.number().int(),
    leaseMs: z.number().int(),
    leaseExpiresAtMs: ms("The instant at which the lease ends"),
    cycle: z.string().describe("The cycle that admitted the job, named by its month"),
    startedAtMs: ms("Instant of the admission"),
    endedAtMs: z.number().nullable(),
    runner: runnerView.nullable(),
  })
  .describe("One admitted job");

export const limit = z
  .object({
    limitUnits: z.number().int().nullable().describe("null is unlimited"),
    readAtMs: ms("When the limit was read from its provider"),
    stale: z.boolean().describe("True when the provider could not be read and the last limit serves"),
    provider: z.enum(["fixed", "kinde"]),
  })
  .describe("The limit that the answer was checked against");

const roomNumbers = {
  requestedUnits: z.number().int(),
  usedUnits: z.number().int(),
  heldUnits: z.number().int(),
  limitUnits: z.number().int(),
  freeUnits: z.number().int(),
  nextCycleStartMs: z.number(),
};

export const refusal = z
  .discriminatedUnion("code", [
    z.object({ code: z.literal("limit_reached"), ...roomNumbers }),
    z.object({
      code: z.literal("held_by_running_jobs"),
      ...roomNumbers,
      earliestLeaseExpiresAtMs: z.number(),
    }),
    z.object({ code: z.literal("limit_unknown"), retryAfterMs: z.number() }),
    z.object({ code: z.literal("rate_limited"), limitPerMinute: z.number(), retryAfterMs: z.number() }),
    z.object({
      code: z.literal("out_of_range"),
      field: z.string(),
      minimum: z.number(),
      maximum: z.number(),
      message: z.string(),
    }),
    z.object({ code: z.literal("key_conflict"), message: z.string() }),
  ])
  .describe("Why a job may not start, with the numbers of that moment");

export const account = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  createdAtMs: z.number(),
  cycleAnchorMs: z.number().describe("Cycles start at this instant of each month, UTC"),
  cycleAnchorSource: z.string(),
  jobsPerMinute: z.number().int(),
  provider: z.enum(["fixed", "kinde"]),
});

export const apiKey = z
  .object({
    id: z.string(),
    prefix: z.string().describe("First characters of the key, to tell keys apart"),
    name: z.string(),
    scopes: z.array(scope),
    createdAtMs: z.number(),
    revokedAtMs: z.number().nullable(),
    lastUsedAtMs: z.number().nullable(),
  })
  .describe("An API key without its secret");

// Answers.

export const jobAnswer = z.object({ job });
export const admitAnswer = z.object({ job, replayed: z.boolean(), limit });
export const chargeAnswer = z.object({
  job,
  chargedUnits: z.number().int(),
  capped: z.boolean().describe("True when the step passed the hold and the job was settled as capped"),
  replayed: z.boolean(),
});
export const settleAnswer = z.object({ job, replayed: z.boolean() });
export const previewAnswer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("would_admit"), heldUnits: z.number().int() }),
  z.object({ kind: z.literal("would_refuse"), refusal }),
]);
export const jobPage = z.object({ jobs: z.array(job), cursor: z.string().nullable() });
export const usage = z.object({
  accountId: z.string(),
  feature: z.string(),
  cycle: z.object({ name: z.string(), startMs: z.number(), endMs: z.number() }),
  usedUnits: z.number().int(),
  heldUnits: z.number().int(),
  limit: limit.nullable(),
  freeUnits: z.number().int().nullable().describe("null when the limit is unlimited or unknown"),
  running: z.array(job),
});
export const estimate = z.object({
  kind: z.string(),
  jobs: z.number().int(),
  p50UsedUnits: z.number(),
  p90UsedUnits: z.number(),
  p99UsedUnits: z.number(),
  p50UsedShare: z.number(),
  p90UsedShare: z.number(),
  cappedShare: z.number(),
  lockedUnits: z.number(),
  suggestedUnits: z.number().int(),
});
export const estimatesAnswer = z.object({ kinds: z.array(estimate) });
export const accountAnswer = z.object({ account });
export const accountPage = z.object({ accounts: z.array(account), cursor: z.string().nullable() });
export const apiKeyAnswer = z.object({ apiKey });
export const apiKeyList = z.object({ apiKeys: z.array(apiKey) });
export const newApiKeyAnswer = z.object({
  apiKey,
  secret: z.string().describe("The key itself. It is shown this once and cannot be read again"),
});
export const limitSetAnswer = z.object({
  accountId: z.string(),
  feature: z.string(),
  limitUnits: z.number().int().nullable(),
});
export const limitRemovedAnswer = z.object({ accountId: z.string(), removed: z.literal(true) });
export const rateAnswer = z.object({ accountId: z.string(), jobsPerMinute: z.number().int() });
export const sweepAnswer = z.object({
  expired: z.number().int(),
  batches: z.number().int(),
  broken: z.number().int(),
});
export const auditAnswer = z.object({ budgets: z.number().int(), repaired: z.number().int() });

// Requests.

export const runner = z
  .strictObject({
    steps: z.number().int().min(1).max(RUNNER_STEPS_MAX),
    stepUnits: units(0, "Units charged by each step"),
    stepMs: z.number().int().min(0).max(RUNNER_STEP_MS_MAX),
    endAs: outcome.optional(),
  })
  .describe("Runs the job on the built-in step runner, one scheduled mutation a step");

export const admitBody = z.strictObject({
  key: text(KEY_LENGTH_MAX).describe("Chosen by the caller and kept across its retries"),
  units: units(1, "Units to hold"),
  acceptUnits: units(1, "Smallest hold to accept when there is not room for all, as a hard cap").optional(),
  kind: kind.optional(),
  leaseMs: z.number().int().min(LEASE_MS_MIN).max(LEASE_MS_MAX).optional(),
  runner: runner.optional(),
});
export const previewBody = z.strictObject({
  units: units(1, "Units to hold"),
  acceptUnits: units(1, "Smallest hold to accept").optional(),
});
export const chargeBody = z.strictObject({
  step: z.number().int().min(1).max(UNITS_MAX).describe("Steps are numbered from 1; a repeat charges once"),
  units: units(0, "Units that this step used"),
  fence,
});
export const heartbeatBody = z
  .strictObject({
    fence: fence.optional(),
    takeOver: z.boolean().optional().describe("Moves the fence on, so that an older worker loses the job"),
  })
  .refine((body) => body.takeOver === true || body.fence !== undefined, {
    path: ["fence"],
    message: "This field is needed unless takeOver is true",
  });
export const extendBody = z.strictObject({ units: units(1, "Units to add to the hold"), fence });
export const settleBody = z.strictObject({
  outcome,
  usedUnits: units(0, "Use in all; never lowers what was charged").optional(),
  fence: fence.optional(),
});
export const noBody = z.strictObject({});

const cursor = z.string().min(1).max(2000).optional().describe("The cursor of the page before");
const pageLimit = z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT);
export const jobsQuery = z.strictObject({
  status: jobStatus.optional(),
  kind: kind.optional(),
  cursor,
  limit: pageLimit,
});
export const estimatesQuery = z.strictObject({ kind: kind.optional() });
export const pageQuery = z.strictObject({ cursor, limit: pageLimit });
export const noQuery = z.strictObject({});

export const accountBody = z.strictObject({
  name: text(NAME_LENGTH_MAX),
  email: z.email().max(254).optional(),
  limitUnits: units(0, "Limit of each cycle; null is unlimited").nullable().optional(),
  jobsPerMinute: z.number().int().min(1).max(JOBS_PER_MINUTE_MAX).optional(),
  cycleAnchor: z.iso.datetime({ offset: true }).optional().describe("The instant at which cycles start"),
});
export const rateBody = z.strictObject({ jobsPerMinute: z.number().int().min(1).max(JOBS_PER_MINUTE_MAX) });
export const apiKeyBody = z.strictObject({
  name: text(NAME_LENGTH_MAX).default("API key"),
  scopes: z.array(scope).min(1).max(3).default(["jobs:read", "jobs:write", "usage:read"]),
});
export const limitBody = z.strictObject({
  feature: z.literal("tokens").optional(),
  limitUnits: units(0, "Limit of each cycle; null is unlimited").nullable(),
});
