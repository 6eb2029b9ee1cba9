/**
 * Convex's HTTP API (facts §4) over an engine, for ConvexHttpClient and convex/nextjs. Binds loopback, and
 * answers only requests whose Host header names loopback, so no web page can reach it by DNS tricks.
 *
 * Left for later, with their place kept: WebSocket sync (`upgrade`), JWT sign-in (`callerOf`), HTTP actions.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FunctionError, RequestError } from "./errors.ts";
import type { Engine } from "./engine.ts";
import { readJson, sendJson, sendText } from "./http-body.ts";
import { toCleanJson } from "./clean-json.ts";
import type { Caller, UdfType } from "./invocation.ts";
import type { CallResult } from "./runtime.ts";
import type { JsonObject, JsonValue } from "./values/json.ts";

export interface ServerOptions {
  host: string;
  port: number;
  /** Lets its holder run internal functions; absent, nobody can. */
  adminKey?: string;
}

export interface RunningServer {
  port: number;
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
  server.on("upgrade", (_request, socket) => {
    socket.end(
      "HTTP/1.1 501 Not Implemented\r\nConnection: close\r\n\r\nWebSocket sync is not supported yet.",
    );
  });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function listen(server: Server, options: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? new Error(
              `Port ${options.port} is in use. Choose another with --port (npm start: --convex-port).`,
            )
          : error,
      );
    });
    server.listen(options.port, options.host, () => resolve());
  });
}

async function serve(
  engine: Engine,
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (!isLoopbackHost(request.headers.host)) {
      throw new RequestError(403, "ForbiddenHost", "Only requests to a loopback host are answered.");
    }
    const url = parseUrl(request.url ?? "/");
    const path = url.pathname;
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
    const caller = callerOf(request, options);
    return answer(engine, response, bodyFromUrl(url), caller, "query");
  }
  if (request.method !== "POST")
    throw new RequestError(404, "NotFound", `No route for ${request.method} ${path}.`);
  if (path === "/api/query_ts")
    return sendJson(response, 200, JSON.stringify({ ts: encodeTs(engine.timestamp) }));
  if (path === "/api/query_batch") return answerBatch(engine, response, request, options);
  if (path.startsWith("/api/run/")) {
    const caller = callerOf(request, options);
    const [file, name] = splitRunPath(path.slice("/api/run/".length));
    const body = parseBody(await readJson(request), "json", `${file}:${name}`);
    return answer(engine, response, body, caller, null);
  }
  if (!(path in CALL_ROUTES)) throw new RequestError(404, "NotFound", `No route for POST ${path}.`);
  const caller = callerOf(request, options);
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
  const caller = callerOf(request, options);
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

/** Who is calling. Until sign-in lands every bearer token is refused, as an unknown provider would be. */
function callerOf(request: IncomingMessage, options: ServerOptions): Caller {
  const caller: Caller = {
    admin: false,
    identity: null,
    ip: request.socket.remoteAddress ?? null,
    userAgent: request.headers["user-agent"] ?? null,
  };
  const header = request.headers.authorization;
  if (header === undefined) return caller;
  if (header.startsWith("Convex ")) {
    if (!sameKey(header.slice("Convex ".length), options.adminKey)) {
      throw new RequestError(403, "BadAdminKey", "The admin key is not accepted.");
    }
    return { ...caller, admin: true };
  }
  throw new RequestError(401, "NoAuthProvider", "No auth provider found matching the given token.");
}

function sameKey(given: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function isLoopbackHost(host: string | undefined): boolean {
  const name = (host ?? "").replace(/:\d+$/, "");
  return name === "localhost" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
}

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
