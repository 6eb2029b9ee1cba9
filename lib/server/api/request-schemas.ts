import { z } from "zod";
import { LEASE_MS_MAX, LEASE_MS_MIN } from "../../gate/lease.ts";
import { JOBS_PER_MINUTE_MAX } from "../../gate/rate.ts";
import { KEY_LENGTH_MAX, KIND_LENGTH_MAX, RUNNER_STEP_MS_MAX, RUNNER_STEPS_MAX } from "../../gate/request.ts";
import { FEATURE_TOKENS } from "../../gate/types.ts";
import { ENTRY_CURSOR } from "../../ledger/entry-order.ts";
import { FEATURE_CLICKS } from "../../ledger/meter.ts";
import { UNITS_MAX } from "../../shared/units.ts";
import { jobStatus, outcome, scope } from "./answer-schemas.ts";

/**
 * What the API takes, as zod schemas: the source of validation and of the OpenAPI document. They are strict: a field
 * that is not known here is a fault, so that a misspelt one is not passed over.
 */

const NAME_LENGTH_MAX = 200;
const PAGE_LIMIT_MAX = 100;
export const PAGE_LIMIT_DEFAULT = 50;
/** Only keeps nonsense small: the rules of a link, which name what is wrong, are in lib/ledger. */
const LINK_TEXT_MAX = 8_192;

const units = (minimum: number, description: string) =>
  z.number().int().min(minimum).max(UNITS_MAX).describe(description);

/** The form of an instant; the backend reads it. */
const ISO_INSTANT =
  /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?))?$/;

/** False for the 31st of February, which a Date would take as a day in March. */
function isCalendarDay(instant: string): boolean {
  const day = instant.slice(0, "2026-01-31".length);
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** Text that a person or a program chose; control characters would break logs and lists. */
const text = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    // eslint-disable-next-line no-control-regex -- the point of the pattern
    .regex(/^[^\u0000-\u001f\u007f]*$/, "Must not hold control characters");

const kind = text(KIND_LENGTH_MAX);
const fence = z.number().int().min(0).max(UNITS_MAX).describe("The fence of the job as last answered");

const runner = z
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
/** A preview takes what an admission takes, so that a caller can ask first with the very same request. */
export const previewBody = admitBody.partial({ key: true });
export const chargeBody = z.strictObject({
  step: z.number().int().min(1).max(UNITS_MAX).describe("Steps are numbered from 1; a repeat charges once"),
  units: units(0, "Units that this step used"),
  fence,
});
/** A worker that takes over has no fence yet: the answer gives it one. */
export const heartbeatBody = z
  .strictObject({
    fence: fence.optional().describe("The fence as last answered; needed unless taking over"),
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
const givenLimit = z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX);
const pageLimit = givenLimit.default(PAGE_LIMIT_DEFAULT);
export const jobsQuery = z.strictObject({
  status: jobStatus.optional(),
  kind: kind.optional(),
  cursor,
  limit: pageLimit,
});
export const estimatesQuery = z.strictObject({ kind: kind.optional() });
export const pageQuery = z.strictObject({ cursor, limit: pageLimit });
export const entriesQuery = z.strictObject({
  cycle: z
    .string()
    .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, "Must be the name of a cycle, such as 2026-10")
    .optional()
    .describe("The month a cycle starts in, UTC; left out it is the current one"),
  feature: z.enum([FEATURE_CLICKS, FEATURE_TOKENS]).optional().describe("Left out: every feature"),
  all: z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional()
    .describe("Also the rows that count for nothing, such as clicks of bots"),
  cursor: z.string().regex(ENTRY_CURSOR, "Is not from an answer to this query").optional(),
  limit: givenLimit.optional().describe(`Rows of a page, ${PAGE_LIMIT_DEFAULT} when left out; JSON only`),
  format: z
    .enum(["json", "csv", "ndjson"])
    .optional()
    .describe("Left out: as the Accept header says, else JSON"),
});
export const findLinkQuery = z.strictObject({ code: text(64) });
export const noQuery = z.strictObject({});

export const accountBody = z.strictObject({
  name: text(NAME_LENGTH_MAX),
  email: z.email().max(254).optional(),
  limitUnits: units(0, "Limit of each cycle; null is unlimited").nullable().optional(),
  jobsPerMinute: z.number().int().min(0).max(JOBS_PER_MINUTE_MAX).optional(),
  cycleAnchor: z
    .string()
    .regex(ISO_INSTANT, "Must be an ISO date, or a date-time with a zone")
    .refine(isCalendarDay, "Must name a day that exists")
    .optional()
    .describe("The instant at which cycles start, such as 2026-01-31T23:30+11:00"),
});
export const rateBody = z.strictObject({ jobsPerMinute: z.number().int().min(0).max(JOBS_PER_MINUTE_MAX) });
export const apiKeyBody = z.strictObject({
  name: text(NAME_LENGTH_MAX).default("API key"),
  scopes: z
    .array(scope)
    .min(1)
    .max(scope.options.length)
    .default([...scope.options]),
});
export const limitBody = z.strictObject({
  feature: z.literal(FEATURE_TOKENS).optional(),
  limitUnits: units(0, "Limit of each cycle; null is unlimited").nullable(),
});

const linkTarget = z
  .string()
  .max(LINK_TEXT_MAX)
  .describe("http or https; after the host it is kept byte for byte");
const linkFields = {
  title: z.string().max(LINK_TEXT_MAX).optional(),
  capUnits: units(1, "Billable clicks that the link may have; null is any number").nullable().optional(),
  overCapTarget: linkTarget
    .nullable()
    .optional()
    .describe("Where clicks over the cap lead; null is a 410 page"),
};
export const linkBody = z.strictObject({
  target: linkTarget,
  code: z
    .string()
    .max(LINK_TEXT_MAX)
    .optional()
    .describe("1 to 64 of A-Z a-z 0-9 _ -, kept as typed; random when left out"),
  ...linkFields,
});
export const linkChanges = z.strictObject({
  target: linkTarget.optional(),
  isActive: z.boolean().optional(),
  ...linkFields,
});
/** Judged by lib/server/qr.ts. */
export const qrQuery = z.strictObject({
  size: z.string().optional().describe("Width and height in pixels, 64 to 2048; default 256"),
  margin: z.string().optional().describe("Light modules on each side, 0 to 16; default 4"),
  level: z.string().optional().describe("Error correction: L, M, Q or H; default M"),
});
const instantMs = z.coerce.number().int().min(0).max(UNITS_MAX).optional();
export const linkStatsQuery = z.strictObject({
  fromMs: instantMs.describe("Start of the span; a week before its end when left out"),
  untilMs: instantMs.describe("End of the span, not included; now when left out"),
});
