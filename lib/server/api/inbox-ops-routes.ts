import { convexApi } from "../convex-functions.ts";
import { jsonResponse, problemResponse } from "./answers.ts";
import * as schemas from "./inbox-ops-schemas.ts";
import { oneOrAllBody } from "./ledger-ops-schemas.ts";
import { route, type Route } from "./route.ts";

const { alerts, drift, driftRows, settings } = convexApi;

/** What an operator does about billing state: drift, alerts, what is done about debtors. Operator key. */
export const inboxOpsRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/ops/drift",
    operationId: "checkDrift",
    summary:
      "Compare plans with the provider, now; a difference is repaired when it is seen again after 5 minutes",
    tag: "Operations",
    auth: "operator",
    body: oneOrAllBody,
    answers: { 200: { description: "What the check found", schema: schemas.driftAnswer } },
    problems: ["not_found"],
    async handle({ body, backend }) {
      const answer = await backend.action(drift.check, body);
      if (answer.kind === "not_found") return problemResponse("not_found", "There is no such account.");
      const { status, counts, accounts } = answer;
      return jsonResponse({ status, counts, accounts });
    },
  }),
  route({
    method: "GET",
    path: "/ops/drift",
    operationId: "listDrift",
    summary: "List what drift checks found and did, newest first",
    tag: "Operations",
    auth: "operator",
    query: schemas.driftQuery,
    answers: { 200: { description: "A page of evidence", schema: schemas.driftPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(driftRows.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "GET",
    path: "/ops/alerts",
    operationId: "listAlerts",
    summary: "List the messages to the alert address, newest first",
    tag: "Operations",
    auth: "operator",
    query: schemas.alertsQuery,
    answers: { 200: { description: "A page of alerts", schema: schemas.alertPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(alerts.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "GET",
    path: "/ops/settings",
    operationId: "getSettings",
    summary: "Read what is set for all accounts",
    tag: "Operations",
    auth: "operator",
    answers: { 200: { description: "The settings", schema: schemas.settingsAnswer } },
    async handle({ backend }) {
      return jsonResponse(await backend.query(settings.get, {}));
    },
  }),
  route({
    method: "PUT",
    path: "/ops/settings",
    operationId: "setSettings",
    summary: "Set after how many days an overdue invoice keeps new jobs out",
    tag: "Operations",
    auth: "operator",
    body: schemas.settingsBody,
    answers: { 200: { description: "The settings as they are now", schema: schemas.settingsAnswer } },
    async handle({ body, backend }) {
      const { overdueBlockDays: days } = body;
      return jsonResponse(await backend.mutation(settings.setOverdueBlockDays, { days }));
    },
  }),
];
