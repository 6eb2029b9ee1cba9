import { convexApi } from "../convex-functions.ts";
import { jsonResponse, problemResponse } from "./answers.ts";
import * as schemas from "./ledger-ops-schemas.ts";
import { route, type Route } from "./route.ts";

const { evidence, ops, reviews } = convexApi;

const NO_ACCOUNT = "There is no such account.";
const NO_REVIEW = "There is no such review.";

/** What an operator does about meters: report, reconcile, decide. Each route needs the operator key. */
export const ledgerOpsRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/ops/report",
    operationId: "report",
    summary: "Send the totals of marked meters, now",
    tag: "Operations",
    auth: "operator",
    body: schemas.oneOrAllBody,
    answers: { 200: { description: "What the run did", schema: schemas.reportAnswer } },
    problems: ["not_found"],
    async handle({ body, backend }) {
      const answer = await backend.action(ops.report, body);
      if (answer.kind === "not_found") return problemResponse("not_found", NO_ACCOUNT);
      return jsonResponse({ counts: answer.counts });
    },
  }),
  route({
    method: "POST",
    path: "/ops/reconcile",
    operationId: "reconcile",
    summary: "Compare ledger and meters, repair and read back, now",
    tag: "Operations",
    auth: "operator",
    body: schemas.oneOrAllBody,
    answers: { 200: { description: "What the run found", schema: schemas.reconcileAnswer } },
    problems: ["not_found"],
    async handle({ body, backend }) {
      const answer = await backend.action(ops.reconcile, body);
      if (answer.kind === "not_found") return problemResponse("not_found", NO_ACCOUNT);
      const { status, counts, meters } = answer;
      return jsonResponse({ status, counts, meters });
    },
  }),
  route({
    method: "GET",
    path: "/ops/reviews",
    operationId: "listReviews",
    summary: "List what a person has to look at, newest first",
    tag: "Operations",
    auth: "operator",
    query: schemas.reviewsQuery,
    answers: { 200: { description: "A page of reviews", schema: schemas.reviewPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(reviews.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "POST",
    path: "/ops/reviews/{reviewId}/decide",
    operationId: "decideReview",
    summary: "Decide a review: carry late usage over, write it off, or accept",
    tag: "Operations",
    auth: "operator",
    body: schemas.decideBody,
    answers: { 200: { description: "The decided review", schema: schemas.decidedAnswer } },
    problems: ["not_found", "review_conflict"],
    async handle({ params, body, backend }) {
      const answer = await backend.mutation(reviews.decide, { reviewId: params.reviewId ?? "", ...body });
      if (answer.kind === "not_found") return problemResponse("not_found", NO_REVIEW);
      if (answer.kind === "refused") {
        return problemResponse("review_conflict", answer.message, { extra: { reason: answer.code } });
      }
      return jsonResponse({ review: answer.review, entries: answer.entries });
    },
  }),
  route({
    method: "GET",
    path: "/ops/evidence",
    operationId: "listEvidence",
    summary: "List what the reconciler found on an account, newest first",
    tag: "Operations",
    auth: "operator",
    query: schemas.evidenceQuery,
    answers: { 200: { description: "A page of evidence", schema: schemas.evidencePage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(evidence.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
];
