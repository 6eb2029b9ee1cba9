import { z } from "zod";
import { UNITS_MAX } from "../../shared/units.ts";
import { evidenceStatus } from "./answer-schemas.ts";
import { pageQuery } from "./request-schemas.ts";

/** What the operator's calls about the ledger take and answer. Requests are strict, answers are open. */

const NOTE_LENGTH_MAX = 2_000;
/** Ids are letters and digits; whether there is such a row is for the backend to say. */
const id = z.string().min(1).max(100);
const units = (description: string) => z.number().int().describe(description);

export const oneOrAllBody = z.strictObject({
  accountId: id.optional().describe("Left out: all accounts"),
});
export const reviewsQuery = pageQuery.extend({ status: z.enum(["open", "decided"]).default("open") });
export const decideBody = z.strictObject({
  decision: z.enum(["carry_over", "write_off", "accept"]),
  billedUnits: z
    .number()
    .int()
    .min(0)
    .max(UNITS_MAX)
    .optional()
    .describe("What the closed meter is billed as; needed where the last write had no answer"),
  note: z.string().max(NOTE_LENGTH_MAX).optional().describe("Needed where nothing is booked"),
});
export const evidenceQuery = pageQuery.extend({ accountId: id });

const verdict = z.enum(["match", "under_billed", "over_billed", "closed_cycle_drift", "unreadable"]);

const meterResult = z
  .object({
    meterId: z.string(),
    feature: z.string(),
    cycle: z.string(),
    agreementId: z.string().nullable(),
    isAtProvider: z
      .boolean()
      .describe("false: the account has no customer at the provider, and sent and meter are our own copy"),
    ledgerUnits: units("The sum of the rows"),
    sentUnits: units("The last total that the provider confirmed").nullable(),
    meterUnits: units("What the provider showed before a repair").nullable(),
    readBackUnits: units("What it showed after one").nullable(),
    verdict,
    status: evidenceStatus,
    cause: z.string().nullable(),
    error: z.string().nullable(),
  })
  .describe("Ledger, last sent and provider of one meter");

const counts = z.record(z.string(), z.number());

export const reportAnswer = z.object({ counts });
export const reconcileAnswer = z.object({
  status: z
    .enum(["good", "failed", "running"])
    .describe("failed: a meter could not be repaired and confirmed; running: it goes on in the background"),
  counts,
  meters: z
    .array(meterResult)
    .describe("Of one account all; of all accounts those that were not proven at once"),
});

const lateUsage = z.object({
  ledgerUnits: z.number().int(),
  sentUnits: z.number().int(),
  lateUnits: z.number().int(),
  maybeSentUnits: z.number().int().nullable(),
});

export const review = z
  .object({
    id: z.string(),
    kind: z.string(),
    subject: z.string(),
    accountId: z.string().nullable(),
    detail: z.string(),
    late: lateUsage.nullable(),
    status: z.enum(["open", "decided"]),
    openedAtMs: z.number(),
    decision: z.string().nullable(),
    decidedBy: z.string().nullable(),
    decidedAtMs: z.number().nullable(),
    note: z.string().nullable(),
  })
  .describe("What a person has to look at");

export const reviewPage = z.object({ reviews: z.array(review), cursor: z.string().nullable() });
export const decidedAnswer = z.object({ review, entries: units("Ledger entries that were booked") });
export const evidencePage = z.object({
  evidence: z.array(
    meterResult.extend({
      id: z.string(),
      counterUnits: units("The counters as they were found"),
      atMs: z.number(),
      seenAtMs: z.number().describe("When a run last found the same"),
    }),
  ),
  cursor: z.string().nullable(),
});
