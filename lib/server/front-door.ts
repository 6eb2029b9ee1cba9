import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { isCode } from "../ledger/code.ts";
import { BODY_BYTES_MAX as WEBHOOK_BYTES_MAX } from "../inbox/verify.ts";
import { problemResponse } from "./api/answers.ts";
import { BODY_BYTES_MAX as API_BYTES_MAX } from "./api/body.ts";
import { API_PREFIX, handleApi, openPaths } from "./api/router.ts";
import { clientOf } from "./client-address.ts";
import { guarded } from "./guarded.ts";
import {
  codeGuard,
  type Guard,
  healthGuard,
  keyGuard,
  type Pass,
  signInHold,
  type Visit,
  webhookGuard,
} from "./guards.ts";
import { healthResponse } from "./health-response.ts";
import type { Answer, PlainRequest, PlainResponse } from "./http.ts";
import { metricsResponse } from "./metrics.ts";
import { type CommonHeaders, commonHeaders, sendAnswer, toRequest } from "./node-http.ts";
import { NO_STORE, noticePage } from "./notice-page.ts";
import { logLine } from "./process-deps.ts";
import { processRedirects } from "./redirect-deps.ts";
import { readPath } from "./request-path.ts";
import { siteRedirect } from "./site.ts";
import { handleWebhook } from "./webhooks/process.ts";

/** One line of the fast lane: paths that are answered without Next.js, by the handlers that its routes use too. */
export interface FastRoute {
  /** `pathname` is plain (`readPath`), without the query. */
  readonly matches: (pathname: string, method: string) => boolean;
  readonly handle: (request: PlainRequest) => Promise<Answer>;
  /** What holds back a client that fails too often. */
  readonly guard?: Guard;
}

/** The methods of `app/api/v1`; any other is refused by Next. */
const API_METHODS = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);

/** One for the API and the metrics: a key that is guessed may be tried at either. */
const keys = keyGuard(API_BYTES_MAX);

const answerApi = guarded(handleApi);

/** What anybody may read, as often as it pleases. */
const openApiRoute: FastRoute = {
  matches: (pathname, method) => openPaths.has(pathname) && API_METHODS.has(method),
  handle: answerApi,
};

const apiRoute: FastRoute = {
  matches: (pathname, method) =>
    (pathname === API_PREFIX || pathname.startsWith(`${API_PREFIX}/`)) && API_METHODS.has(method),
  handle: answerApi,
  guard: keys,
};

const healthRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/health" && (method === "GET" || method === "HEAD"),
  handle: healthResponse,
  guard: healthGuard(),
};

const metricsRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/metrics" && (method === "GET" || method === "HEAD"),
  handle: guarded(metricsResponse),
  guard: keys,
};

/** A word that is reserved in any case is Next's: a page of the app, or nothing. */
const linkRoute: FastRoute = {
  matches: (pathname, method) => (method === "GET" || method === "HEAD") && isCode(pathname.slice(1)),
  handle: (request) => processRedirects().handle(request),
  guard: codeGuard((code) => processRedirects().links.has(code)),
};

const webhookRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/webhooks/kinde" && method === "POST",
  handle: handleWebhook,
  guard: webhookGuard(WEBHOOK_BYTES_MAX),
};

export const fastRoutes: readonly FastRoute[] = [
  openApiRoute,
  apiRoute,
  healthRoute,
  metricsRoute,
  webhookRoute,
  linkRoute,
];

/** Paths of the rest that a client may not ask for without end, either. */
export interface GuardedPaths {
  readonly matches: (pathname: string) => boolean;
  /** The answer to a request that has to wait; null when it may pass. */
  readonly hold: (visit: Visit) => PlainResponse | null;
}

export const signInPaths: GuardedPaths = {
  matches: (pathname) => pathname.startsWith("/api/auth/"),
  hold: signInHold(),
};

export interface FrontDoorOptions {
  readonly routes: readonly FastRoute[];
  /** The one address that sign-in works at; screens asked for at another host are sent there. */
  readonly siteUrl: string | undefined;
  /** Sent with every answer of the fast lane; the rest has its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes everything that no route matches. */
  readonly rest: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
  readonly guardedRest?: GuardedPaths;
  /** How many proxies in front are believed about who asks; 0 unless given. */
  readonly trustedProxies?: number;
  /** A clock that does not go back, for the guards. */
  readonly elapsedMs?: () => number;
}

/** The listener of a Node server: routes that match first, the rest for everything else. Never throws. */
export function createFrontDoor(options: FrontDoorOptions): RequestListener {
  const { routes, siteUrl, headers, rest, guardedRest, trustedProxies = 0 } = options;
  const { elapsedMs = () => performance.now() } = options;
  const common = commonHeaders(headers);
  const visitOf = (request: PlainRequest, pathname: string, { socket }: IncomingMessage): Visit => ({
    request,
    pathname,
    client: () => clientOf(socket.remoteAddress, request.headers.get("x-forwarded-for"), trustedProxies),
    nowMs: elapsedMs,
  });
  return (incoming, outgoing) => {
    // A connection that breaks is no news here; the body stream and the answer see it themselves.
    outgoing.on("error", ignore);
    const { url = "/", method = "GET" } = incoming;
    const path = readPath(url);
    if (path.kind === "none") return void sendAnswer(nothingAt(url), outgoing, common);
    if (path.kind === "moved") return void sendAnswer(movedTo(path.to), outgoing, common);
    const { pathname, search } = path;
    const route = routes.find((candidate) => candidate.matches(pathname, method));
    if (route !== undefined) {
      const request = toRequest(incoming);
      void answer(route, visitOf(request, pathname, incoming), outgoing, common);
      return;
    }
    const elsewhere = siteRedirect(incoming.headers.host ?? null, { pathname, search }, siteUrl);
    if (elsewhere !== null) {
      outgoing.writeHead(307, [...common.flat, "location", elsewhere]).end();
      return;
    }
    const held = guardedRest?.matches(pathname)
      ? guardedRest.hold(visitOf(toRequest(incoming), pathname, incoming))
      : null;
    if (held !== null) return void sendAnswer(held, outgoing, common);
    void pass(rest, incoming, outgoing);
  };
}

function movedTo(location: string): PlainResponse {
  return { status: 308, headers: { location, "cache-control": NO_STORE }, text: null };
}

function nothingAt(target: string): PlainResponse {
  if (target.startsWith("/api/")) return problemResponse("not_found", "There is nothing at this path.");
  return noticePage({
    status: 404,
    title: "Nothing is here",
    text: "No page and no short link has this address. Check how it is spelt.",
    links: [{ href: "/", name: "Go to the start page" }],
  });
}

async function answer(
  route: FastRoute,
  visit: Visit,
  outgoing: ServerResponse,
  headers: CommonHeaders,
): Promise<void> {
  let response: Answer;
  try {
    const admission = route.guard?.admit(visit) ?? null;
    // Most are admitted at once: waiting for nothing would cost each of them a turn of the loop.
    const admitted = admission instanceof Promise ? await admission : admission;
    if (admitted === null) response = await route.handle(visit.request);
    else response = "status" in admitted ? admitted : await answerUnder(admitted, route);
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

/** Whatever comes of the handler, its guard is told. */
async function answerUnder(pass: Pass, { handle }: FastRoute): Promise<Answer> {
  let status = 500;
  let instead: PlainResponse | null = null;
  let response: Answer;
  try {
    response = await handle(pass.request);
    ({ status } = response);
  } finally {
    instead = pass.answered(status);
  }
  if (instead === null) return response;
  if (response instanceof Response) await response.body?.cancel();
  return instead;
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
