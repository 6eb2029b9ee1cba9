import { convexApi } from "../convex-functions.ts";
import { invalidResponse, jsonResponse, problemResponse } from "./answers.ts";
import * as schemas from "./reminder-schemas.ts";
import { route, type Route } from "./route.ts";

const { reminders } = convexApi;
const TAG = "Reminders";

/** Messages to one's later self, each for a credit of the month. */
export const reminderRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/reminders",
    operationId: "createReminder",
    summary: "Write a reminder; it takes one credit of this month",
    tag: TAG,
    auth: "account",
    scope: "reminders:write",
    body: schemas.reminderBody,
    answers: {
      201: { description: "The reminder is written", schema: schemas.createdAnswer },
      200: {
        description: "The same key and request as before: the same reminder, no further credit",
        schema: schemas.createdAnswer,
      },
    },
    problems: ["out_of_range", "no_credits", "key_conflict"],
    async handle({ body, backend }) {
      const answer = await backend.mutation(reminders.create, body);
      switch (answer.kind) {
        case "invalid":
          return invalidResponse(answer.errors);
        case "key_conflict":
          return problemResponse("key_conflict", "The key was used for another reminder. Use a new key.");
        case "refused": {
          const { balanceUnits, allowanceUnits, nextPeriodStartMs } = answer;
          return problemResponse(
            "no_credits",
            `A reminder takes 1 credit and ${balanceUnits} of this month's ${allowanceUnits} are left. ` +
              `New ones come at ${new Date(nextPeriodStartMs).toISOString()}; cancelling a waiting reminder of this month returns its credit.`,
            { extra: { balanceUnits, allowanceUnits, nextPeriodStartMs } },
          );
        }
        case "created": {
          const { reminder, replayed } = answer;
          return jsonResponse({ reminder, replayed }, replayed ? 200 : 201);
        }
      }
    },
  }),
  route({
    method: "GET",
    path: "/reminders",
    operationId: "listReminders",
    summary: "List reminders",
    tag: TAG,
    auth: "account",
    scope: "usage:read",
    query: schemas.remindersQuery,
    answers: { 200: { description: "A page of reminders", schema: schemas.reminderPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(reminders.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "DELETE",
    path: "/reminders/{reminderId}",
    operationId: "cancelReminder",
    summary: "Cancel a reminder before it is due; its credit goes back to the month it was taken from",
    tag: TAG,
    auth: "account",
    scope: "reminders:write",
    answers: { 200: { description: "The reminder is cancelled", schema: schemas.reminderAnswer } },
    problems: ["too_late"],
    async handle({ params, backend }) {
      const answer = await backend.mutation(reminders.cancel, { reminderId: params.reminderId ?? "" });
      if (answer.kind === "not_found") {
        return problemResponse("not_found", "This account has no such reminder.");
      }
      const { reminder } = answer;
      if (answer.kind === "cancelled") return jsonResponse({ reminder });
      const detail = `It was due at ${new Date(reminder.dueAtMs).toISOString()} and cannot be cancelled any more.`;
      return problemResponse("too_late", detail, { extra: { reminder } });
    },
  }),
];
