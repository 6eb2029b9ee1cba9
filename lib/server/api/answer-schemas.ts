import { z } from "zod";
import { LIMIT_STATES } from "../../gate/limit-state.ts";
import { STANDINGS } from "../../ledger/standing.ts";

/**
 * What the API answers, as zod schemas: the source of the OpenAPI document, and what the tests hold the answers
 * against. They are open, so that a field can be added without breaking a client.
 */

const ms = (description: string) => z.number().describe(description);

export const scope = z.enum([
  "jobs:read",
  "jobs:write",
  "usage:read",
  "links:read",
  "links:write",
  "events:replay",
  "reminders:write",
]);
export const jobStatus = z.enum(["running", "completed", "failed", "cancelled", "capped", "expired"]);
export const outcome = z.enum(["completed", "failed", "cancelled"]);

/** How a reconciliation of one meter ended. */
export const evidenceStatus = z
  .enum(["proven", "kept_here", "repaired_and_confirmed", "error", "needs_review", "unreadable"])
  .describe(
    "kept_here: no provider has this meter, and our own copy of the total agrees; nothing was read there",
  );

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
    z.object({ code: z.literal("payment_overdue"), overdueSinceMs: z.number(), blockedSinceMs: z.number() }),
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

export const clickClass = z.enum(["billable", "inactive", "head", "prefetch", "bot", "over_cap"]);

const corrects = z.string().describe("The row that this one corrects");
const review = z.string().describe("The review that decided about it");
export const entryOrigin = z
  .discriminatedUnion("kind", [
    z.object({
      kind: z.literal("click"),
      linkId: z.string(),
      code: z.string(),
      class: clickClass,
      rule: z.string().describe("Why it has this class"),
      referrer: z.string().nullable(),
      agent: z.string().nullable(),
    }),
    z.object({
      kind: z.literal("job"),
      jobId: z.string(),
      jobKey: z.string(),
      budgetCycle: z.string().describe("The cycle whose limit the job was held against"),
    }),
    z.object({ kind: z.literal("move"), correctsEntryId: corrects }),
    z.object({ kind: z.literal("take_back"), correctsEntryId: corrects }),
    z.object({ kind: z.literal("carry_over"), reviewId: review }),
    z.object({ kind: z.literal("write_off"), reviewId: review }),
  ])
  .describe("What a row of the ledger came from");

export const entry = z
  .object({
    id: z.string(),
    agreementId: z
      .string()
      .nullable()
      .describe("The agreement it is billed under; null: none was in force, and nothing is sent"),
    feature: z.string(),
    cycle: z.string().describe("The cycle it is booked in, named by its month"),
    key: z.string().describe("Counts once: of a click its random key, of a job the job"),
    units: z.number().int().describe("0: not billed. Below 0: a correction"),
    atMs: ms("When it happened; of a correction, when what it corrects did"),
    bookedAtMs: ms("When the row was written"),
    origin: entryOrigin,
  })
  .describe("One row of the ledger. It is never changed");

const cycleSpan = z.object({ name: z.string(), startMs: z.number(), endMs: z.number() });

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

export const link = z
  .object({
    id: z.string(),
    code: z.string(),
    url: z.string().describe("The short address"),
    target: z.string().describe("The exact Location that is sent"),
    displayHost: z.string().describe("The host of the target for a person, in Unicode if it was typed so"),
    title: z.string(),
    capUnits: z.number().int().nullable(),
    overCapTarget: z.string().nullable(),
    isActive: z.boolean(),
    billedUnits: z.number().int().describe("Billable clicks so far"),
    createdAtMs: z.number(),
  })
  .describe("A short link");

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
  z.object({
    kind: z.literal("would_admit"),
    requestedUnits: z.number().int(),
    heldUnits: z.number().int().describe("The hold that would be given"),
    usedUnits: z.number().int(),
    freeUnits: z.number().int().nullable(),
    limit,
  }),
  z.object({ kind: z.literal("would_refuse"), refusal }),
]);
export const jobPage = z.object({ jobs: z.array(job), cursor: z.string().nullable() });
export const usage = z.object({
  accountId: z.string(),
  feature: z.string(),
  cycle: cycleSpan,
  usedUnits: z.number().int().describe("What ended jobs have used"),
  heldUnits: z
    .number()
    .int()
    .describe(
      "What running jobs hold, with what they have charged so far: each job in `running` has its own",
    ),
  limitState: z
    .enum(LIMIT_STATES)
    .describe(
      "known: limit.limitUnits is a number; unlimited: the plan has no limit; unknown: it was not read yet, or over ten minutes ago",
    ),
  limit: limit.nullable().describe("null when limitState is unknown"),
  limitAgeMs: z
    .number()
    .int()
    .nullable()
    .describe("How long ago the limit was asked for; null when limitState is unknown"),
  freeUnits: z.number().int().nullable().describe("A number when limitState is known, else null"),
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
export const entryPage = z.object({
  cycle: cycleSpan,
  entries: z.array(entry).describe("In time order. A page may be short, or empty, and have a next one"),
  cursor: z.string().nullable().describe("null after the last page"),
});
export const entryAnswer = z.object({
  entry,
  cycle: cycleSpan,
  agreement: z
    .object({ planKey: z.string().nullable(), fromMs: ms("When it began") })
    .nullable()
    .describe("The agreement of its meter; null without one"),
  cap: z
    .object({ capUnits: z.number().int(), billedUnits: z.number().int() })
    .nullable()
    .describe("The cap of the link, and the clicks billed on it in all"),
  job: z
    .object({
      status: jobStatus.exclude(["running"]),
      heldUnits: z.number().int(),
      usedUnits: z.number().int(),
      overCapUnits: z.number().int(),
    })
    .nullable()
    .describe("How the job of this row ended; null for a row of no job"),
  moved: z
    .object({
      entryId: z.string().describe("The row that moved it"),
      bookedAtMs: ms("When it was moved"),
      agreementId: z.string().nullable(),
      planKey: z.string().nullable(),
      cycle: z.string(),
    })
    .nullable()
    .describe(
      "The meter that its units were moved to, of which the totals below are; null when they were not moved",
    ),
  ledgerUnits: z.number().int().describe("The total of its meter in the ledger now"),
  confirmed: z
    .object({ totalUnits: z.number().int(), atMs: z.number() })
    .nullable()
    .describe("The last total of its meter that the provider is known to have"),
  proof: z
    .object({
      isAtProvider: z.boolean().describe("false: the account has no customer at the provider"),
      standing: z.enum(STANDINGS).describe("What can be said of the meter now"),
      reading: z
        .object({
          foundUnits: z.number().int().nullable().describe("What the provider showed, before a repair"),
          meterUnits: z.number().int().nullable().describe("What it was left at; null: not readable"),
          ledgerUnits: z.number().int().describe("What the ledger had at that time"),
          status: evidenceStatus,
          atMs: z.number().describe("When it was found last"),
          isSeenAgain: z.boolean().describe("Whether a later run has found the same again"),
        })
        .nullable(),
    })
    .describe("What the provider's own meter showed when it was read last; reading is null before that"),
  why: z
    .object({ title: z.string(), reasons: z.array(z.string()) })
    .describe("Why it was billed, or was not, in words, with times in UTC"),
});
export const linkOwner = z.object({ accountId: z.string(), linkId: z.string() });
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
  setAtMs: z.number(),
});
export const limitRemovedAnswer = z.object({ accountId: z.string(), removed: z.literal(true) });
export const sweepAnswer = z.object({
  expired: z.number().int(),
  batches: z.number().int(),
  broken: z.number().int(),
});
export const auditAnswer = z.object({ budgets: z.number().int(), repaired: z.number().int() });
export const linkAnswer = z.object({ link });
export const linkPage = z.object({ links: z.array(link), cursor: z.string().nullable() });
export const linkRemovedAnswer = z.object({ linkId: z.string(), removed: z.literal(true) });
export const linkStatsAnswer = z.object({
  hours: z.array(
    z.object({
      hourMs: z.number().describe("The first instant of the hour, UTC"),
      clicks: z.record(z.string(), z.number().int()).describe("Clicks by class; billable ones are billed"),
    }),
  ),
  nextFromMs: z.number().nullable().describe("Where to go on when the span was too full for one answer"),
});
