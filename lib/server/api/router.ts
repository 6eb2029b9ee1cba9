import { retryForCaller } from "../conflict-retry.ts";
import { BackendError, type Caller } from "../convex.ts";
import type { LogEvent, ServerDeps } from "../deps.ts";
import type { Answer, PlainRequest, PlainResponse } from "../http.ts";
import { requestIdOf, withRequestId } from "../request-id.ts";
import { ApiProblem, jsonResponse, problemResponse } from "./answers.ts";
import { readJsonBody } from "./body.ts";
import { explainToSession, readCaller, UNAUTHORIZED_HEADERS } from "./caller.ts";
import { jobRoutes } from "./job-routes.ts";
import { entryRoutes } from "./entry-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { buildOpenApi } from "./openapi.ts";
import { inboxOpsRoutes } from "./inbox-ops-routes.ts";
import { linkRoutes } from "./link-routes.ts";
import { ledgerOpsRoutes } from "./ledger-ops-routes.ts";
import { operatorRoutes } from "./operator-routes.ts";
import { reminderRoutes } from "./reminder-routes.ts";
import { route, type CallerBackend, type Route } from "./route.ts";
import { validate } from "./validate.ts";

export const API_PREFIX = "/api/v1";

const BUSY_RETRY_AFTER_MS = 1000;
const UNAVAILABLE_RETRY_AFTER_MS = 2000;
/** A document id as Convex writes it. A path with anything else in its place leads nowhere. */
const DOCUMENT_ID = /^[0-9a-z]{31,37}$/;

const openApiRoute = route({
  method: "GET",
  path: "/openapi.json",
  operationId: "getOpenApi",
  summary: "This description of the API",
  tag: "Description",
  auth: "none",
  answers: { 200: { description: "An OpenAPI 3.1 document" } },
  // oxlint-disable-next-line require-await -- a handler answers with a promise
  handle: async () => jsonResponse(openApiDocument()),
});

/** Every route of the API: what is served, what is checked and what the OpenAPI document lists. */
export const routes: readonly Route[] = [
  ...jobRoutes,
  ...linkRoutes,
  ...entryRoutes,
  ...reminderRoutes,
  ...eventRoutes,
  ...operatorRoutes,
  ...ledgerOpsRoutes,
  ...inboxOpsRoutes,
  openApiRoute,
];

/** Paths that are answered without a look at who asks. */
export const openPaths: ReadonlySet<string> = new Set(
  routes.filter(({ auth }) => auth === "none").map(({ path }) => API_PREFIX + path),
);

let document: Record<string, unknown> | undefined;
/** Built at the first request for it and kept: it depends on the table alone. */
export function openApiDocument(): Record<string, unknown> {
  document ??= buildOpenApi(routes, API_PREFIX);
  return document;
}

/**
 * Answers one request below `API_PREFIX`. Never throws: what goes wrong is a problem answer. The answer and all lines of
 * the log carry the id of the request.
 */
export async function handleApi(request: PlainRequest, deps: ServerDeps): Promise<Answer> {
  const startedAtMs = deps.elapsedMs();
  const requestId = requestIdOf(request.headers, deps.newId);
  const own = { ...deps, log: (event: LogEvent) => deps.log({ ...event, requestId }) };
  const found = findRoute(request);
  let answer: Answer;
  try {
    answer = "status" in found ? found : await dispatch(found, request, own);
  } catch (error) {
    answer = errorResponse(error, own);
  }
  if (request.method === "HEAD") answer = await withoutBody(answer);
  const operation = "status" in found ? "none" : found.route.operationId;
  deps.answered({ requestId, operation, status: answer.status, elapsedMs: deps.elapsedMs() - startedAtMs });
  return withRequestId(answer, requestId);
}

async function withoutBody(answer: Answer): Promise<Answer> {
  if (!(answer instanceof Response)) return { ...answer, text: null };
  await answer.body?.cancel();
  return new Response(null, answer);
}

interface Found extends Match {
  readonly searchParams: URLSearchParams;
}

/** The route that a request asks for, or the answer where there is none. */
function findRoute(request: PlainRequest): Found | PlainResponse {
  const { pathname, searchParams } = new URL(request.url);
  const matches = matchPath(pathname.slice(API_PREFIX.length));
  if (matches.length === 0) return problemResponse("not_found", "There is nothing at this path.");
  const method = request.method === "HEAD" ? "GET" : request.method;
  const match = matches.find((candidate) => candidate.route.method === method);
  return match ? { ...match, searchParams } : otherMethod(request.method, matches);
}

async function dispatch(
  { route, params, searchParams }: Found,
  request: PlainRequest,
  deps: ServerDeps,
): Promise<Answer> {
  const caller = readCaller(route, request, deps);
  const query = validate(route.query, readQuery(searchParams));
  const body = route.body ? validate(route.body, await readJsonBody(request, route.bodyOptional)) : {};
  const { headers } = request;
  try {
    return await route.handle({ params, query, body, headers, deps, backend: callerBackend(deps, caller) });
  } catch (error) {
    throw caller.kind === "session" ? explainToSession(error) : error;
  }
}

interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const table = routes.map((line) => ({ route: line, segments: line.path.split("/").slice(1) }));

/** The routes at a path, one a method. A fixed segment wins over a parameter: `/jobs/estimates` is no job id. */
function matchPath(path: string): Match[] {
  const given = path.split("/").slice(1);
  const found: Match[] = [];
  for (const { route, segments } of table) {
    const params = segments.length === given.length ? matchSegments(segments, given) : undefined;
    if (params) found.push({ route, params });
  }
  const fixed = found.filter((match) => Object.keys(match.params).length === 0);
  return fixed.length > 0 ? fixed : found;
}

function matchSegments(segments: readonly string[], given: readonly string[]): Match["params"] | undefined {
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = given[index] ?? "";
    if (!segment.startsWith("{")) {
      if (segment !== value) return undefined;
    } else if (DOCUMENT_ID.test(value)) {
      params[segment.slice(1, -1)] = value;
    } else {
      return undefined;
    }
  }
  return params;
}

function otherMethod(method: string, matches: readonly Match[]): PlainResponse {
  const known = new Set(matches.map((match) => match.route.method as string));
  if (known.has("GET")) known.add("HEAD");
  const allow = [...known, "OPTIONS"].toSorted().join(", ");
  if (method === "OPTIONS") return { status: 204, headers: { allow }, text: null };
  return problemResponse("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

function readQuery(params: URLSearchParams): Record<string, string> {
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of params) {
    if (name in query) {
      const message = "This parameter is given more than once.";
      throw new ApiProblem("invalid", `${name}: ${message}`, { errors: [{ path: name, message }] });
    }
    query[name] = value;
  }
  return { ...query };
}

function callerBackend(deps: ServerDeps, caller: Caller): CallerBackend {
  const { convex } = deps;
  return {
    query: (ref, args) => retryForCaller(() => convex.query(ref, args, caller), deps),
    mutation: (ref, args) => retryForCaller(() => convex.mutation(ref, args, caller), deps),
    // An action is not one transaction, so it is not repeated.
    action: (ref, args) => convex.action(ref, args, caller),
  };
}

/** The answer to whatever a handler threw. */
export function errorResponse(error: unknown, deps: ServerDeps): PlainResponse {
  if (error instanceof ApiProblem) return error.toResponse();
  if (error instanceof BackendError) return backendErrorResponse(error, deps);
  return internalResponse(error, deps);
}

function backendErrorResponse(error: BackendError, deps: ServerDeps): PlainResponse {
  switch (error.fault) {
    case "conflict":
      return problemResponse("busy", "Too many requests met at this account. Repeat the request.", {
        retryAfterMs: BUSY_RETRY_AFTER_MS,
      });
    case "refused":
      return refusedCallResponse(error, deps);
    case "contract":
      return internalResponse(error, deps);
    default: {
      const errorId = deps.newId();
      deps.log({ event: "backend_failed", errorId, fault: error.fault, message: error.message });
      return problemResponse(
        "unavailable",
        "The database could not take the request. Repeat it as it is: the same key or step counts once.",
        { retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS, extra: { errorId } },
      );
    }
  }
}

/** The codes of contract errors that Convex functions throw (`lib/shared/errors.ts`), and Convex's own for cursors. */
function refusedCallResponse(error: BackendError, deps: ServerDeps): PlainResponse {
  switch (error.refusedCode) {
    case "unauthorized":
      return problemResponse("unauthorized", "This API key is not known or has been revoked.", {
        headers: UNAUTHORIZED_HEADERS,
      });
    case "forbidden":
      return problemResponse("forbidden", sentence(error.message, "This API key may not do this"));
    case "invalid": {
      const message = sentence(error.message, "The request was refused");
      return problemResponse("invalid", message, { errors: [{ path: "", message }] });
    }
    case "InvalidCursor": {
      const message = "This cursor is not from an answer to this query.";
      return problemResponse("invalid", `cursor: ${message}`, { errors: [{ path: "cursor", message }] });
    }
    default:
      return internalResponse(error, deps);
  }
}

function sentence(message: string, fallback: string): string {
  const text = message || fallback;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

/** The id is what a caller may quote and what finds the line in the log; the cause stays on this side. */
function internalResponse(error: unknown, deps: ServerDeps): PlainResponse {
  const errorId = deps.newId();
  deps.log({
    event: "internal_error",
    errorId,
    name: error instanceof Error ? error.name : typeof error,
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? error.stack : undefined,
  });
  return problemResponse("internal", `An unexpected error happened. Quote ${errorId} when you report it.`, {
    extra: { errorId },
  });
}
