import { z } from "zod";
import { pageQuery } from "./request-schemas.ts";

/** What the calls about billing events take and answer. Requests are strict, answers are open. */

const status = z.enum(["received", "processing", "applied", "ignored", "failed", "dead", "quarantined"]);

export const eventsQuery = pageQuery;
export const allEventsQuery = pageQuery.extend({ status: status.optional() });

export const billingEvent = z
  .object({
    id: z.string(),
    eventId: z.string().nullable().describe("As the provider signed it; null for a body that is no event"),
    type: z.string().nullable(),
    accountId: z.string().nullable().describe("null while it is not known whose it is"),
    occurredAtMs: z.number().nullable(),
    receivedAtMs: z.number(),
    lastSeenAtMs: z.number().describe("When its last copy came"),
    status,
    result: z.string().nullable().describe("What became of it, in words"),
    error: z.string().nullable(),
    attempts: z.number().int(),
    nextAttemptAtMs: z.number().nullable(),
    seenCount: z.number().int().describe("Deliveries so far, copies included"),
  })
  .describe("A billing event as it was received");

export const eventPage = z.object({ events: z.array(billingEvent), cursor: z.string().nullable() });
export const eventAnswer = z.object({ event: billingEvent });
export const eventDetail = z.object({
  event: billingEvent,
  payload: z.string().describe("The signed body, indented"),
  isPayloadCut: z.boolean(),
  receipts: z
    .array(
      z.object({
        atMs: z.number(),
        webhookId: z.string().nullable(),
        kid: z.string().describe("The key that signed the delivery"),
        isCopy: z.boolean(),
        flags: z.array(z.string()),
      }),
    )
    .describe("One for each delivery, the newest first"),
});
