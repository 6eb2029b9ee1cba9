import { z } from "zod";
import { OVERDUE_BLOCK_DAYS_MAX } from "../../gate/overdue.ts";
import { pageQuery } from "./request-schemas.ts";

/** What the operator's calls about billing state take and answer. Requests are strict, answers are open. */

const id = z.string().min(1).max(100);
const cursor = z.string().nullable();

export const driftQuery = pageQuery.extend({ accountId: id.optional().describe("Left out: all accounts") });
export const alertsQuery = pageQuery.extend({
  status: z.enum(["waiting", "sent", "given_up"]).optional().describe("Left out: all"),
});
export const settingsBody = z.strictObject({
  overdueBlockDays: z
    .number()
    .int()
    .min(0)
    .max(OVERDUE_BLOCK_DAYS_MAX)
    .nullable()
    .describe("New jobs are refused once an invoice is overdue for so many days; null: never"),
});

export const driftAnswer = z.object({
  status: z
    .enum(["good", "failed", "running"])
    .describe("failed: the provider could not be read of everybody; running: it goes on in the background"),
  counts: z.record(z.string(), z.number()),
  accounts: z
    .array(
      z.object({
        accountId: z.string(),
        outcome: z.enum(["same", "sighted", "waiting", "repaired", "skipped", "unclear", "gone", "failed"]),
        beforePlanKey: z.string().nullable(),
        providerPlanKey: z.string().nullable(),
        error: z.string().nullable(),
      }),
    )
    .describe("Of one account what came of it; of all accounts those that are not as they should be"),
});

export const driftPage = z.object({
  evidence: z.array(
    z.object({
      id: z.string(),
      accountId: z.string(),
      beforePlanKey: z.string(),
      providerPlanKey: z.string().nullable().describe("Null: no plan"),
      endedAgreementIds: z.array(z.string()),
      firstSentAtMs: z.number(),
      secondSentAtMs: z.number(),
      outcome: z.enum(["repaired", "gone"]),
      atMs: z.number(),
    }),
  ),
  cursor,
});

export const alertPage = z.object({
  isConfigured: z.boolean().describe("Whether there is an address that alerts go to"),
  alerts: z.array(
    z.object({
      id: z.string(),
      kind: z.string(),
      subject: z.string(),
      detail: z.string(),
      status: z.enum(["waiting", "sent", "given_up"]),
      attempts: z.number(),
      nextAttemptAtMs: z.number().nullable(),
      error: z.string().nullable(),
      createdAtMs: z.number(),
      sentAtMs: z.number().nullable(),
    }),
  ),
  cursor,
});

export const settingsAnswer = z.object({ overdueBlockDays: z.number().nullable() });
