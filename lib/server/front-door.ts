import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { checkCustomCode } from "../ledger/code.ts";
import { problemResponse } from "./api/answers.ts";
import { API_PREFIX, handleApi } from "./api/router.ts";
import { guarded } from "./guarded.ts";
import { healthResponse } from "./health-response.ts";
import type { Answer, PlainRequest } from "./http.ts";
import { metricsResponse } from "./metrics.ts";
import { type CommonHeaders, commonHeaders, sendAnswer, toRequest } from "./node-http.ts";
import { logLine } from "./process-deps.ts";
import { processRedirects } from "./redirect-deps.ts";
import { siteRedirect } from "./site.ts";
import { handleWebhook } from "./webhooks/process.ts";

/** One line of the fast lane: paths that are answered without Next.js, by the handlers that its routes use too. */
export interface FastRoute {
  /** `pathname` is as it was sent, without the query. */
  readonly matches: (pathname: string, method: string) => boolean;
  readonly handle: (request: PlainRequest) => Promise<Answer>;
}

/**
 * Plain segments only. What has an empty segment, dots for a folder, a percent sign or a slash at its end is Next's
 * to redirect, decode or refuse, so that both doors give it the same answer.
 */
const PLAIN_PATH = /^(?:\/\w[\w.~-]*)+$/;
/** The methods of `app/api/v1`; any other is refused by Next. */
const API_METHODS = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);

const apiRoute: FastRoute = {
  matches: (pathname, method) =>
    (pathname === API_PREFIX || pathname.startsWith(`${API_PREFIX}/`)) &&
    API_METHODS.has(method) &&
    PLAIN_PATH.test(pathname),
  handle: guarded(handleApi),
};

const healthRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/health" && (method === "GET" || method === "HEAD"),
  handle: healthResponse,
};

const metricsRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/metrics" && (method === "GET" || method === "HEAD"),
  handle: guarded(metricsResponse),
};

/** A word that is reserved in any case is Next's: a page of the app, or nothing. */
const linkRoute: FastRoute = {
  matches: (pathname, method) =>
    (method === "GET" || method === "HEAD") && checkCustomCode(pathname.slice(1)).kind === "ok",
  handle: (request) => processRedirects().handle(request),
};

const webhookRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/webhooks/kinde" && method === "POST",
  handle: handleWebhook,
};

export const fastRoutes: readonly FastRoute[] = [
  apiRoute,
  healthRoute,
  metricsRoute,
  webhookRoute,
  linkRoute,
];

export interface FrontDoorOptions {
  readonly routes: readonly FastRoute[];
  /** The one address that sign-in works at; screens asked for at another host are sent there. */
  readonly siteUrl: string | undefined;
  /** Sent with every answer of the fast lane; the rest has its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes everything that no route matches. */
  readonly rest: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
}

/** The listener of a Node server: routes that match first, the rest for everything else. Never throws. */
export function createFrontDoor({ routes, siteUrl, headers, rest }: FrontDoorOptions): RequestListener {
  const common = commonHeaders(headers);
  return (incoming, outgoing) => {
    // A connection that breaks is no news here; the body stream and the answer see it themselves.
    outgoing.on("error", ignore);
    const { url = "/", method = "GET" } = incoming;
    const queryAt = url.indexOf("?");
    const pathname = queryAt === -1 ? url : url.slice(0, queryAt);
    const route = routes.find((candidate) => candidate.matches(pathname, method));
    if (route !== undefined) {
      void answer(route, incoming, outgoing, common);
      return;
    }
    const search = queryAt === -1 ? "" : url.slice(queryAt);
    const elsewhere = siteRedirect(incoming.headers.host ?? null, { pathname, search }, siteUrl);
    if (elsewhere === null) void pass(rest, incoming, outgoing);
    else outgoing.writeHead(307, [...common.flat, "location", elsewhere]).end();
  };
}

async function answer(
  route: FastRoute,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  headers: CommonHeaders,
): Promise<void> {
  let response: Answer;
  try {
    response = await route.handle(toRequest(incoming));
  } catch (error) {
    const errorId = logFault(error);
    response = problemResponse(
      "internal",
      `An unexpected error happened. Quote ${errorId} when you report it.`,
      {
        extra: { errorId },
      },
    );
  }
  await sendAnswer(response, outgoing, headers);
}

async function pass(
  rest: FrontDoorOptions["rest"],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  try {
    await rest(incoming, outgoing);
  } catch (error) {
    logFault(error);
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(500).end();
  }
}

function logFault(error: unknown): string {
  const errorId = randomUUID();
  logLine({
    event: "internal_error",
    errorId,
    name: error instanceof Error ? error.name : typeof error,
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? error.stack : undefined,
  });
  return errorId;
}

const ignore = (): void => undefined;
