/**
 * Convex's HTTP API (facts §4) over an engine, for ConvexHttpClient and convex/nextjs. Binds loopback, and
 * answers only requests whose Host header names loopback, so no web page can reach it by DNS tricks. HTTP
 * actions are served below `/http`, and on a port of their own when there is one.
 *
 * WebSocket upgrades go to `sync/`.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { backUp } from "./backup-route.ts";
import { callerOf } from "./caller.ts";
import { FunctionError, RequestError } from "./errors.ts";
import type { Engine } from "./engine.ts";
import { serveHttpAction } from "./http-actions.ts";
import { readJson, sendJson, sendText } from "./http-body.ts";
import { checkLoopbackHost, checkLoopbackOrigin } from "./loopback.ts";
import { toCleanJson } from "./clean-json.ts";
import type { Caller, UdfType } from "./invocation.ts";
import type { CallResult } from "./runtime.ts";
import { authenticateWith } from "./sync/authenticate.ts";
import { SyncServer } from "./sync/sync-server.ts";
import type { JsonObject, JsonValue } from "./values/json.ts";

export interface ServerOptions {
  host: string;
  port: number;
  /** A second port, whose every path is an HTTP action's. */
  sitePort?: number;
  /** Lets its holder run internal functions; absent, nobody can. */
  adminKey?: string;
  /** Lets its holder have the database copied into a file; absent, nobody can. */
  backupKey?: string;
}

export interface RunningServer {
  port: number;
  /** Null when no second port was asked for. */
  sitePort: number | null;
  close(): Promise<void>;
}

type Format = "convex_encoded_json" | "json";

interface CallBody {
  path: string;
  args: JsonObject;
  format: Format;
}

const CALL_ROUTES: Record<string, UdfType | null> = {
  "/api/query": "query",
  "/api/query_at_ts": "query",
  "/api/mutation": "mutation",
  "/api/action": "action",
  "/api/function": null,
};

export async function startServer(engine: Engine, options: ServerOptions): Promise<RunningServer> {
  const server = createServer((request, response) => {
    void serve(engine, options, request, response);
  });
  server.keepAliveTimeout = 65_000;
  const site = options.sitePort === undefined ? null : createSiteServer(engine, options);
  await listen(server, options.host, options.port, "--port (npm start: --convex-port)");
  try {
    if (site !== null) await listen(site, options.host, options.sitePort!, "--site-port");
  } catch (error) {
    server.close();
    throw error;
  }
  const sync = new SyncServer(engine, {
    authenticate: authenticateWith(options.adminKey, (token) => engine.authenticator.verifyToken(token)),
    nowMs: Date.now,
  });
  server.on("upgrade", (request, socket, head) => sync.upgrade(request, socket, head));
  return {
    port: portOf(server),
    sitePort: site === null ? null : portOf(site),
    async close() {
      sync.close();
      await Promise.all([stop(server), ...(site === null ? [] : [stop(site)])]);
    },
  };
}

function createSiteServer(engine: Engine, options: ServerOptions): Server {
  const site = createServer((request, response) => {
    void (async () => {
      checkLoopbackHost(request);
      const { pathname, search } = parseUrl(request.url ?? "/");
      await serveHttpAction(engine, options.adminKey, pathname + search, request, response);
    })().catch((error: unknown) => sendFailure(engine, response, error));
  });
  site.keepAliveTimeout = 65_000;
  return site;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

function listen(server: Server, host: string, port: number, option: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? new Error(`Port ${port} is in use. Choose another with ${option}.`)
          : error,
      );
    });
    server.listen(port, host, () => resolve());
  });
}

async function serve(
  engine: Engine,
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    checkLoopbackHost(request);
    const url = parseUrl(request.url ?? "/");
    const path = url.pathname;
    if (path === "/http" || path.startsWith("/http/")) {
      const sitePath = `${path.slice("/http".length) || "/"}${url.search}`;
      return await serveHttpAction(engine, options.adminKey, sitePath, request, response);
    }
    checkLoopbackOrigin(request);
    if (path.startsWith("/api/")) allowOrigin(request, response);
    if (request.method === "OPTIONS") {
      response.writeHead(204);
      response.end();
      return;
    }
    await route(engine, options, path, url, request, response);
  } catch (error) {
    sendFailure(engine, response, error);
  }
}

/** A deployment URL that ends in a slash makes clients ask for `//api/...`. */
function parseUrl(target: string): URL {
  try {
    return new URL(target.replace(/^\/+/, "/"), "http://localhost");
  } catch {
    throw new RequestError(400, "BadRequest", "The request target is not a URL.");
  }
}

async function route(
  engine: Engine,
  options: ServerOptions,
  path: string,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === "GET" && path in PLAIN_PAGES) return sendText(response, 200, PLAIN_PAGES[path]!);
  if (request.method === "GET" && path === "/api/query") {
    const caller = await callerOf(engine, options.adminKey, request);
    return answer(engine, response, bodyFromUrl(url), caller, "query");
  }
  if (request.method !== "POST")
    throw new RequestError(404, "NotFound", `No route for ${request.method} ${path}.`);
  if (path === "/api/query_ts")
    return sendJson(response, 200, JSON.stringify({ ts: encodeTs(engine.timestamp) }));
  if (path === "/api/backup") return backUp(engine, options.backupKey, request, response);
  if (path === "/api/query_batch") return answerBatch(engine, response, request, options);
  if (path.startsWith("/api/run/")) {
    const caller = await callerOf(engine, options.adminKey, request);
    const [file, name] = splitRunPath(path.slice("/api/run/".length));
    const body = parseBody(await readJson(request), "json", `${file}:${name}`);
    return answer(engine, response, body, caller, null);
  }
  if (!(path in CALL_ROUTES)) throw new RequestError(404, "NotFound", `No route for POST ${path}.`);
  const caller = await callerOf(engine, options.adminKey, request);
  await answer(engine, response, parseBody(await readJson(request), "json"), caller, CALL_ROUTES[path]!);
}

const PLAIN_PAGES: Record<string, string> = {
  "/": "This Convex deployment is running. It is served by local-convex.",
  "/version": "local-convex",
  "/instance_name": "local-convex",
  "/instance_version": "local-convex",
};

async function answer(
  engine: Engine,
  response: ServerResponse,
  body: CallBody,
  caller: Caller,
  kind: UdfType | null,
): Promise<void> {
  sendJson(response, 200, (await runCall(engine, body, caller, kind)).text);
}

async function answerBatch(
  engine: Engine,
  response: ServerResponse,
  request: IncomingMessage,
  options: ServerOptions,
): Promise<void> {
  const caller = await callerOf(engine, options.adminKey, request);
  const body = (await readJson(request)) as { queries?: unknown } | null;
  if (!Array.isArray(body?.queries)) throw new RequestError(400, "BadRequest", "`queries` must be an array.");
  const queries = body.queries.map((query) => parseBody(query, "json"));
  // All on one snapshot. With concurrency 1 they run back to back, so a second round is rare.
  for (;;) {
    const answers = await Promise.all(queries.map((query) => runCall(engine, query, caller, "query")));
    const snapshots = new Set(answers.map((call) => call.ts).filter((ts) => ts !== null));
    if (snapshots.size > 1) continue;
    const results = answers.map((call) => call.text).join(",");
    return sendJson(response, 200, `{"results":[${results}]}`);
  }
}

/** The response text of one call, with the timestamp it ran at. A function that failed is an answer too. */
async function runCall(
  engine: Engine,
  body: CallBody,
  caller: Caller,
  kind: UdfType | null,
): Promise<{ text: string; ts: bigint | null }> {
  try {
    const result = await engine.run(body.path, body.args, caller, kind);
    return { text: successText(result, body.format), ts: result.ts };
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    const requestId = randomBytes(8).toString("hex");
    const text: Record<string, unknown> = {
      status: "error",
      errorMessage: `[Request ID: ${requestId}] Server Error\n${error.message}`,
    };
    if (error.data !== undefined) {
      text["errorData"] = body.format === "json" ? toCleanJson(error.data as JsonValue) : error.data;
    }
    if (error.logLines.length > 0) text["logLines"] = error.logLines;
    return { text: JSON.stringify(text), ts: null };
  }
}

function successText(result: CallResult, format: Format): string {
  const value =
    format === "json"
      ? JSON.stringify(toCleanJson(JSON.parse(result.valueText) as JsonValue))
      : result.valueText;
  const logs = result.logLines.length === 0 ? "" : `,"logLines":${JSON.stringify(result.logLines)}`;
  return `{"status":"success","value":${value}${logs}}`;
}

function parseBody(body: unknown, defaultFormat: Format, fixedPath?: string): CallBody {
  if (body === null || typeof body !== "object" || Array.isArray(body)) {
    throw new RequestError(400, "BadRequest", "The body must be a JSON object.");
  }
  const { path = fixedPath, args = {}, format = defaultFormat } = body as Record<string, unknown>;
  if (typeof path !== "string") throw new RequestError(400, "BadRequest", "`path` must be a string.");
  if (format !== "json" && format !== "convex_encoded_json") {
    throw new RequestError(400, "BadRequest", `Unknown format ${JSON.stringify(format)}.`);
  }
  const first: unknown = Array.isArray(args) ? (args[0] ?? {}) : args;
  if (first === null || typeof first !== "object" || Array.isArray(first)) {
    throw new RequestError(400, "BadRequest", "`args` must be an object or an array of one object.");
  }
  return { path, args: first as JsonObject, format };
}

function bodyFromUrl(url: URL): CallBody {
  let args: unknown;
  try {
    args = JSON.parse(url.searchParams.get("args") ?? "{}");
  } catch {
    throw new RequestError(400, "BadRequest", "`args` is not valid JSON.");
  }
  const format = url.searchParams.get("format") ?? undefined;
  return parseBody(
    { path: url.searchParams.get("path"), args, ...(format === undefined ? {} : { format }) },
    "json",
  );
}

function splitRunPath(path: string): [file: string, name: string] {
  const parts = path.split("/");
  const name = parts.pop()!;
  return [parts.join("/"), name];
}

/** Pages of this machine may read the answers; `checkLoopbackOrigin` has refused all others. */
function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-allow-credentials", "true");
  response.setHeader("vary", "origin");
  if (request.method !== "OPTIONS") return;
  response.setHeader("access-control-allow-headers", request.headers["access-control-request-headers"] ?? "");
  response.setHeader("access-control-allow-methods", "GET, POST, OPTIONS, PATCH, DELETE, PUT");
  response.setHeader("access-control-max-age", "86400");
}

function encodeTs(ts: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(ts);
  return bytes.toString("base64");
}

function sendFailure(engine: Engine, response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    engine.report("http", error);
    response.destroy();
    return;
  }
  const known = error instanceof RequestError;
  if (!known) engine.report("http", error);
  const failure = known
    ? error
    : new RequestError(500, "InternalServerError", "Your request couldn't be completed.");
  if (failure.status === 413) response.setHeader("connection", "close");
  sendJson(response, failure.status, JSON.stringify({ code: failure.code, message: failure.message }));
}
