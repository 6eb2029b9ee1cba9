import type { Answered } from "../convex-functions.ts";
import { convexApi } from "../convex-functions.ts";
import type { PlainResponse } from "../http.ts";
import { jsonResponse, problemResponse } from "./answers.ts";
import * as schemas from "./event-schemas.ts";
import { route, type Route } from "./route.ts";

const { inboxEvents } = convexApi;
const TAG = "Billing events";
const QUEUED = "The event is due again. One that was applied before changes nothing";

type Params = Readonly<Record<string, string>>;
const eventId = (params: Params): string => params.eventId ?? "";

/** Billing events of the caller, and for operators those of everybody. */
export const eventRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/events",
    operationId: "listEvents",
    summary: "List the billing events of this account, newest first",
    tag: TAG,
    auth: "account",
    scope: "usage:read",
    query: schemas.eventsQuery,
    answers: { 200: { description: "A page of events", schema: schemas.eventPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(inboxEvents.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "POST",
    path: "/events/{eventId}/replay",
    operationId: "replayEvent",
    summary: "Apply a stored event again, through the same guards",
    tag: TAG,
    auth: "account",
    scope: "events:replay",
    answers: { 202: { description: QUEUED, schema: schemas.eventAnswer } },
    problems: ["event_running"],
    async handle({ params, backend }) {
      return replayResponse(await backend.mutation(inboxEvents.replay, { id: eventId(params) }));
    },
  }),
  route({
    method: "GET",
    path: "/ops/events",
    operationId: "listAllEvents",
    summary: "List billing events of all accounts, newest first",
    tag: "Operations",
    auth: "operator",
    query: schemas.allEventsQuery,
    answers: { 200: { description: "A page of events", schema: schemas.eventPage } },
    async handle({ query, backend }) {
      return jsonResponse(
        await backend.query(inboxEvents.listAll, { ...query, cursor: query.cursor ?? null }),
      );
    },
  }),
  route({
    method: "GET",
    path: "/ops/events/{eventId}",
    operationId: "getEvent",
    summary: "Read a billing event with its body and its deliveries",
    tag: "Operations",
    auth: "operator",
    answers: { 200: { description: "The event", schema: schemas.eventDetail } },
    async handle({ params, backend }) {
      const found = await backend.query(inboxEvents.get, { id: eventId(params) });
      return found === null ? noEvent() : jsonResponse(found);
    },
  }),
  route({
    method: "POST",
    path: "/ops/events/{eventId}/replay",
    operationId: "replayAnyEvent",
    summary: "Apply a stored event again, a quarantined one too",
    tag: "Operations",
    auth: "operator",
    answers: { 202: { description: QUEUED, schema: schemas.eventAnswer } },
    problems: ["event_running"],
    async handle({ params, backend }) {
      return replayResponse(await backend.mutation(inboxEvents.replayAny, { id: eventId(params) }));
    },
  }),
];

const noEvent = (): PlainResponse => problemResponse("not_found", "There is no such event.");

function replayResponse(answer: Answered<typeof inboxEvents.replay>): PlainResponse {
  switch (answer.kind) {
    case "queued":
      return jsonResponse({ event: answer.event }, 202);
    case "running":
      return problemResponse("event_running", "A worker is at it. Look again in a moment.", {
        extra: { event: answer.event },
      });
    case "forbidden":
      return problemResponse(
        "forbidden",
        "This event came late and waits for an operator, who alone can replay it.",
        { extra: { event: answer.event } },
      );
    case "not_found":
      return noEvent();
  }
}
