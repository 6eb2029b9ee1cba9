import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { isCode } from "../ledger/code.ts";
import { problemResponse } from "./api/answers.ts";
import { API_PREFIX, handleApi } from "./api/router.ts";
import { clientOf } from "./client-address.ts";
import { guarded } from "./guarded.ts";
import { codeGuard, type Guard, healthGuard, keyGuard, signInGuard, webhookGuard } from "./guards.ts";
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
const keys = keyGuard();

const apiRoute: FastRoute = {
  matches: (pathname, method) =>
    (pathname === API_PREFIX || pathname.startsWith(`${API_PREFIX}/`)) && API_METHODS.has(method),
  handle: guarded(handleApi),
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
  guard: codeGuard(({ url }) => processRedirects().links.has(new URL(url).pathname.slice(1))),
};

const webhookRoute: FastRoute = {
  matches: (pathname, method) => pathname === "/api/webhooks/kinde" && method === "POST",
  handle: handleWebhook,
  guard: webhookGuard(),
};

export const fastRoutes: readonly FastRoute[] = [
  apiRoute,
  healthRoute,
  metricsRoute,
  webhookRoute,
  linkRoute,
];

/** Paths of the rest that a client may not ask for without end, either. */
export interface GuardedPaths {
  readonly matches: (pathname: string) => boolean;
  readonly guard: Guard;
}

export const signInPaths: GuardedPaths = {
  matches: (pathname) => pathname.startsWith("/api/auth/"),
  guard: signInGuard(),
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
  const visitOf = (request: PlainRequest, incoming: IncomingMessage, guard: Guard): Visit => {
    const forwardedFor = request.headers.get("x-forwarded-for");
    const client = clientOf(incoming.socket.remoteAddress, forwardedFor, trustedProxies);
    return new Visit(request, guard, client, elapsedMs);
  };
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
      const visit = route.guard === undefined ? null : visitOf(request, incoming, route.guard);
      void answer(route, visit, request, outgoing, common);
      return;
    }
    const elsewhere = siteRedirect(incoming.headers.host ?? null, { pathname, search }, siteUrl);
    if (elsewhere !== null) {
      outgoing.writeHead(307, [...common.flat, "location", elsewhere]).end();
      return;
    }
    if (guardedRest?.matches(pathname) === true) {
      const visit = visitOf(toRequest(incoming), incoming, guardedRest.guard);
      const refusal = visit.refusal();
      if (refusal !== null) return void sendAnswer(refusal, outgoing, common);
      visit.answered(0);
    }
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

/** One request as its guard sees it. */
class Visit {
  constructor(
    private readonly request: PlainRequest,
    private readonly guard: Guard,
    private readonly client: string,
    private readonly elapsedMs: () => number,
  ) {}

  /** The answer to a request that comes too soon; null when it may be looked at. */
  refusal(): PlainResponse | null {
    const waitMs = this.guard.waitMs(this.request, this.client, this.elapsedMs());
    return waitMs === 0 ? null : this.guard.refusal(waitMs);
  }

  answered(status: number): void {
    this.guard.answered(this.request, status, this.client, this.elapsedMs());
  }
}

async function answer(
  route: FastRoute,
  visit: Visit | null,
  request: PlainRequest,
  outgoing: ServerResponse,
  headers: CommonHeaders,
): Promise<void> {
  let response: Answer;
  try {
    const refusal = visit?.refusal() ?? null;
    response = refusal ?? (await route.handle(request));
    if (refusal === null) visit?.answered(response.status);
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
