import { z } from "zod";
import { LEASE_MS_MAX, LEASE_MS_MIN } from "../../gate/lease.ts";
import { JOBS_PER_MINUTE_MAX } from "../../gate/rate.ts";
import { KEY_LENGTH_MAX, KIND_LENGTH_MAX, RUNNER_STEP_MS_MAX, RUNNER_STEPS_MAX } from "../../gate/request.ts";
import { FEATURE_TOKENS } from "../../gate/types.ts";
import { UNITS_MAX } from "../../shared/units.ts";
import { jobStatus, outcome, scope } from "./answer-schemas.ts";

/**
 * What the API takes, as zod schemas: the source of validation and of the OpenAPI document. They are strict: a field
 * that is not known here is a fault, so that a misspelt one is not passed over.
 */

const NAME_LENGTH_MAX = 200;
const PAGE_LIMIT_MAX = 100;
const PAGE_LIMIT_DEFAULT = 50;

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
    .regex(/^[^\u0000-\u001f\u007f]*$/, "Must not hold control characters")
    // Half of a surrogate pair is no text: the database refuses it, long after this request looked fine.
    .refine((value) => !/\p{Surrogate}/u.test(value), "Must be well-formed Unicode");

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
export const heartbeatBody = z.strictObject({
  fence: fence.describe("The fence as last answered; any number when taking over"),
  takeOver: z.boolean().optional().describe("Moves the fence on, so that an older worker loses the job"),
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
  scopes: z.array(scope).min(1).max(3).default(["jobs:read", "jobs:write", "usage:read"]),
});
export const limitBody = z.strictObject({
  feature: z.literal(FEATURE_TOKENS).optional(),
  limitUnits: units(0, "Limit of each cycle; null is unlimited").nullable(),
});
