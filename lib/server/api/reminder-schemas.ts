import { z } from "zod";
import { REMINDER_TEXT_MAX, textFault } from "../../inbox/reminders.ts";
import { UNITS_MAX } from "../../shared/units.ts";
import { admitBody, pageQuery } from "./request-schemas.ts";

/** What the calls about reminders take and answer. Requests are strict, answers are open. */

const status = z.enum(["waiting", "delivered", "cancelled"]);

export const reminderBody = z.strictObject({
  key: admitBody.shape.key,
  text: z
    .string()
    .min(1)
    .max(REMINDER_TEXT_MAX)
    .refine((value) => textFault(value) === null, {
      error: ({ input }) => `The text ${textFault(String(input))}`,
    })
    // Half of a surrogate pair is no text: the database refuses it, long after this request looked fine.
    .refine((value) => !/\p{Surrogate}/u.test(value), "Must be well-formed Unicode")
    .describe("Line breaks are its only control characters"),
  dueAtMs: z.number().int().min(0).max(UNITS_MAX).describe("A second to 366 days from now"),
});
export const remindersQuery = pageQuery.extend({
  status: status
    .optional()
    .describe("Left out: all, the latest due first. Waiting ones: what is due next first"),
});

export const reminder = z
  .object({
    id: z.string(),
    key: z.string(),
    text: z.string(),
    dueAtMs: z.number(),
    status,
    period: z.string().describe("The month, UTC, whose credit it took"),
    createdAtMs: z.number(),
    deliveredAtMs: z.number().nullable(),
    cancelledAtMs: z.number().nullable(),
    readAtMs: z.number().nullable(),
  })
  .describe("A message to your later self");

export const reminderAnswer = z.object({ reminder });
export const createdAnswer = z.object({ reminder, replayed: z.boolean() });
export const reminderPage = z.object({ reminders: z.array(reminder), cursor: z.string().nullable() });
