import { DAY_MS } from "../../shared/durations.ts";
import { convexApi } from "../convex-functions.ts";
import type { Answer, PlainResponse } from "../http.ts";
import { parseQrOptions, qrPng, type QrOptions, qrSvg } from "../qr.ts";
import { ApiProblem, invalidResponse, jsonResponse, problemResponse } from "./answers.ts";
import { type CallerBackend, route, type Route } from "./route.ts";
import * as answers from "./answer-schemas.ts";
import * as requests from "./request-schemas.ts";

const { links } = convexApi;
const TAG = "Links";
const STATS_SPAN_MS = 7 * DAY_MS;

type Params = Readonly<Record<string, string>>;
const linkId = (params: Params): string => params.linkId ?? "";

const noLink = (): PlainResponse => problemResponse("not_found", "This account has no such link.");

/** The two pictures differ in how they are drawn and in nothing else. */
const qrRoute = (
  format: "svg" | "png",
  contentType: string,
  draw: (url: string, options: QrOptions) => Answer,
): Route =>
  route({
    method: "GET",
    path: `/links/{linkId}/qr.${format}`,
    operationId: format === "svg" ? "getQrSvg" : "getQrPng",
    summary: `The QR code of a link as ${format.toUpperCase()}`,
    tag: TAG,
    auth: "account",
    scope: "links:read",
    acceptsSession: true,
    query: requests.qrQuery,
    answers: { 200: { description: "The picture", contentType } },
    async handle({ params, query, backend }) {
      const parsed = parseQrOptions(new URLSearchParams(query));
      if (parsed.kind === "refused") return invalidResponse(parsed.errors);
      const link = await readLink(backend, params);
      return draw(link.url, parsed.options);
    },
  });

/** Throws `ApiProblem` when the account has no such link. */
async function readLink(backend: CallerBackend, params: Params) {
  const link = await backend.query(links.get, { linkId: linkId(params) });
  if (link === null) throw new ApiProblem("not_found", "This account has no such link.");
  return link;
}

const pictureHeaders = (contentType: string) => ({
  "content-type": contentType,
  "cache-control": "private, no-store",
});

/** What a program can do with the short links of its account. */
export const linkRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/links",
    operationId: "createLink",
    summary: "Create a short link",
    tag: TAG,
    auth: "account",
    scope: "links:write",
    body: requests.linkBody,
    answers: { 201: { description: "The link", schema: answers.linkAnswer } },
    problems: ["out_of_range", "code_taken"],
    async handle({ body, backend }) {
      const answer = await backend.mutation(links.create, body);
      if (answer.kind === "invalid") return invalidResponse(answer.errors);
      if (answer.kind === "code_taken") {
        const detail = `The code ${answer.code} is taken. A code is never given twice, also after its link is deleted.`;
        return problemResponse("code_taken", detail);
      }
      return jsonResponse({ link: answer.link }, 201);
    },
  }),
  route({
    method: "GET",
    path: "/links",
    operationId: "listLinks",
    summary: "List short links, newest first",
    tag: TAG,
    auth: "account",
    scope: "links:read",
    query: requests.pageQuery,
    answers: { 200: { description: "A page of links", schema: answers.linkPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(links.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "GET",
    path: "/links/{linkId}",
    operationId: "getLink",
    summary: "Read a short link",
    tag: TAG,
    auth: "account",
    scope: "links:read",
    answers: { 200: { description: "The link", schema: answers.linkAnswer } },
    async handle({ params, backend }) {
      return jsonResponse({ link: await readLink(backend, params) });
    },
  }),
  route({
    method: "PATCH",
    path: "/links/{linkId}",
    operationId: "updateLink",
    summary: "Change a short link; redirects follow within five seconds",
    tag: TAG,
    auth: "account",
    scope: "links:write",
    body: requests.linkChanges,
    answers: { 200: { description: "The link as it is now", schema: answers.linkAnswer } },
    problems: ["out_of_range"],
    async handle({ params, body, backend }) {
      const answer = await backend.mutation(links.update, { linkId: linkId(params), ...body });
      if (answer.kind === "invalid") return invalidResponse(answer.errors);
      return answer.kind === "not_found" ? noLink() : jsonResponse({ link: answer.link });
    },
  }),
  route({
    method: "DELETE",
    path: "/links/{linkId}",
    operationId: "removeLink",
    summary: "Delete a short link for good; its code is never given again",
    tag: TAG,
    auth: "account",
    scope: "links:write",
    answers: { 200: { description: "The link is deleted", schema: answers.linkRemovedAnswer } },
    async handle({ params, backend }) {
      const id = linkId(params);
      const answer = await backend.mutation(links.remove, { linkId: id });
      return answer.kind === "not_found" ? noLink() : jsonResponse({ linkId: id, removed: true });
    },
  }),
  route({
    method: "GET",
    path: "/links/{linkId}/stats",
    operationId: "getLinkStats",
    summary: "Clicks of a link by hour and class",
    tag: TAG,
    auth: "account",
    scope: "links:read",
    query: requests.linkStatsQuery,
    answers: { 200: { description: "Clicks by hour", schema: answers.linkStatsAnswer } },
    problems: ["out_of_range"],
    async handle({ params, query, backend, deps }) {
      const { untilMs = deps.nowMs() } = query;
      const { fromMs = Math.max(0, untilMs - STATS_SPAN_MS) } = query;
      const answer = await backend.query(links.stats, { linkId: linkId(params), fromMs, untilMs });
      if (answer.kind === "invalid") return invalidResponse(answer.errors);
      if (answer.kind === "not_found") return noLink();
      return jsonResponse({ hours: answer.hours, nextFromMs: answer.nextFromMs });
    },
  }),
  qrRoute("svg", "image/svg+xml", (url, options) => {
    return { status: 200, headers: pictureHeaders("image/svg+xml"), text: qrSvg(url, options) };
  }),
  qrRoute("png", "image/png", (url, options) => {
    const drawn = qrPng(url, options);
    if (drawn.kind === "refused") return invalidResponse([drawn.error]);
    return new Response(drawn.png, { headers: pictureHeaders("image/png") });
  }),
];
