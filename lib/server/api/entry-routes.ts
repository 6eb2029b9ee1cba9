import { whyText, type WhyFacts } from "../../ledger/why.ts";
import type { Answered } from "../convex-functions.ts";
import { convexApi } from "../convex-functions.ts";
import { ApiProblem, jsonResponse, problemResponse } from "./answers.ts";
import { exportResponse, wantedFormat } from "./entry-export.ts";
import { route, type Route } from "./route.ts";
import * as answers from "./answer-schemas.ts";
import * as requests from "./request-schemas.ts";

const TAG = "Usage";
const { entries } = convexApi;

/** The billed rows behind the meters: listed, exported and explained. Rule source: the ledger section of the design. */
export const entryRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/usage/entries",
    operationId: "listEntries",
    summary: "List the billed rows of a cycle in time order, or export all of them",
    tag: TAG,
    auth: "account",
    acceptsSession: true,
    scope: "usage:read",
    query: requests.entriesQuery,
    answers: {
      200: {
        description:
          "A page of rows as JSON. As CSV or NDJSON the whole cycle, streamed: every row that was there when the " +
          "export began. If an export cannot be completed its connection is cut before the end of the body.",
        schema: answers.entryPage,
        texts: {
          "text/csv":
            "RFC 4180, with a header row. A text that a spreadsheet would run begins with an apostrophe.",
          "application/x-ndjson": "One row a line, each as in the JSON page",
        },
      },
    },
    async handle({ query, headers, backend, deps }) {
      const { format: asked, limit, cursor = null, ...filter } = query;
      const format = asked ?? wantedFormat(headers.get("accept"));
      if (format === "json") {
        const { cycle, ...page } = await backend.query(entries.list, {
          ...filter,
          cursor,
          limit: limit ?? requests.PAGE_LIMIT_DEFAULT,
        });
        return jsonResponse({ cycle, ...page });
      }
      if (limit !== undefined || cursor !== null) {
        const path = cursor === null ? "limit" : "cursor";
        const message = "An export is the whole cycle; only JSON comes in pages.";
        throw new ApiProblem("invalid", `${path}: ${message}`, { errors: [{ path, message }] });
      }
      // Later pages name the cycle of the first: the current one may end on the way.
      let cycle = filter.cycle;
      const readPage = async (after: string | null) => {
        const page = await backend.query(entries.exportPage, { ...filter, cycle, cursor: after });
        cycle = page.cycle.name;
        return page;
      };
      return await exportResponse(format, readPage, deps);
    },
  }),
  route({
    method: "GET",
    path: "/usage/entries/{entryId}",
    operationId: "getEntry",
    summary: "Read one row and why it was billed, or was not",
    tag: TAG,
    auth: "account",
    acceptsSession: true,
    scope: "usage:read",
    answers: { 200: { description: "The row, and the reasons in words", schema: answers.entryAnswer } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      const found = await backend.query(entries.why, { entryId: params.entryId ?? "" });
      if (found === null) return problemResponse("not_found", "This account has no such entry.");
      return jsonResponse(explained(found));
    },
  }),
  route({
    method: "GET",
    path: "/ops/links",
    operationId: "findLink",
    summary: "Find the account of a short link by its code",
    tag: "Operations",
    auth: "operator",
    query: requests.findLinkQuery,
    answers: { 200: { description: "Whose it is", schema: answers.linkOwner } },
    problems: ["not_found"],
    async handle({ query, backend }) {
      const owner = await backend.query(entries.ownerOfCode, query);
      return owner === null ? problemResponse("not_found", "Nobody has this code.") : jsonResponse(owner);
    },
  }),
];

function explained({ entry, facts }: NonNullable<Answered<typeof entries.why>>) {
  const { agreementId, feature, cycle } = entry;
  // The account is the reader; its id adds nothing to the words.
  const meter: WhyFacts["meter"] = { accountId: "", agreementId, feature, cycle };
  return { entry, ...facts, why: whyText({ ...facts, entry, meter }, timeText, (planKey) => planKey) };
}

/** UTC to the second, as in 2026-11-19 15:29:00 UTC: the API knows no zone of its reader. */
function timeText(instantMs: number): string {
  return new Date(instantMs)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}
