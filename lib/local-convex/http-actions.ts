/**
 * HTTP actions (facts §4): requests that `convex/http.ts` routes to user code, which answers with a Response.
 * Bodies stream both ways. CORS, OPTIONS and who may call are the user code's own matter.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { callerOf, anonymousCaller } from "./caller.ts";
import { FunctionError, RequestError } from "./errors.ts";
import type { Engine } from "./engine.ts";
import { toFunctionError } from "./function-call.ts";
import { sendJson, sendText } from "./http-body.ts";
import type { Caller } from "./invocation.ts";

/** Real Convex's limit for the body of a request and of an answer. */
const BODY_BYTES_MAX = 20 * 1024 * 1024;

/** What belongs to one connection or is counted anew by this server. */
const HEADERS_NOT_PASSED_ON = new Set(
  "connection keep-alive transfer-encoding upgrade content-length set-cookie".split(" "),
);

/** Answers `request` as `path` of the public site; `path` carries the query string. */
export async function serveHttpAction(
  engine: Engine,
  adminKey: string | undefined,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { runtime } = engine;
  const { http } = runtime.modules;
  if (http === null) {
    return sendText(response, 404, "This Convex deployment does not have HTTP actions enabled.");
  }
  const url = new URL(`http://${request.headers.host}${path}`);
  const match = http.lookup(url.pathname, request.method ?? "");
  if (match === null) return sendText(response, 404, "No matching routes found");
  const [handler, method, routePath] = match;
  const caller = await callerOrNobody(engine, adminKey, request);
  const body = receivedBody(request);
  const name = `${method} ${routePath}`;
  await runtime.runHttpAction(name, caller, async (requestId) => {
    let answer: Response;
    try {
      answer = await handler.invokeHttpAction(toWebRequest(url, request, body.stream));
      if (!(answer instanceof Response)) throw new TypeError("The HTTP action returned no Response.");
    } catch (error) {
      if (body.isTooLarge()) throw tooLarge();
      const failure = toFunctionError(runtime, error);
      if (!(failure instanceof FunctionError)) throw failure;
      engine.report(name, failure.message.split("\n")[0]);
      return sendFunctionError(response, requestId, failure);
    }
    await send(answer, request.method === "HEAD", response);
  });
  body.drain();
}

/** A token that is not valid here may be one of the user code's own, so it is no reason to refuse. */
async function callerOrNobody(
  engine: Engine,
  adminKey: string | undefined,
  request: IncomingMessage,
): Promise<Caller> {
  try {
    return await callerOf(engine, adminKey, request);
  } catch (error) {
    if (error instanceof RequestError && error.code !== "ForbiddenOrigin") return anonymousCaller(request);
    throw error;
  }
}

interface ReceivedBody {
  /** Null when the request has no body. */
  stream: ReadableStream<Uint8Array> | null;
  isTooLarge(): boolean;
  /** Lets the rest that nobody reads pass, so that the connection can be used again. */
  drain(): void;
}

/** The body as it arrives, no faster than it is read. @throws RequestError 413 when it says to be too long */
function receivedBody(request: IncomingMessage): ReceivedBody {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  const hasBody = encoding !== undefined || Number(length ?? 0) > 0;
  if (Number(length ?? 0) > BODY_BYTES_MAX) throw tooLarge();
  if (!hasBody || request.method === "GET" || request.method === "HEAD") {
    return { stream: null, isTooLarge: () => false, drain: () => undefined };
  }
  let bytes = 0;
  let isOpen = true;
  let onData: (chunk: Buffer) => void;
  const drain = (): void => {
    isOpen = false;
    request.off("data", onData);
    request.resume();
  };
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      onData = (chunk) => {
        bytes += chunk.length;
        if (bytes > BODY_BYTES_MAX) {
          isOpen = false;
          request.off("data", onData);
          request.pause();
          controller.error(tooLarge());
          return;
        }
        controller.enqueue(new Uint8Array(chunk));
        if ((controller.desiredSize ?? 0) <= 0) request.pause();
      };
      request.on("data", onData);
      request.once("end", () => {
        if (isOpen) controller.close();
      });
      request.once("close", () => {
        if (isOpen && !request.complete) controller.error(new Error("The request ended early."));
      });
    },
    pull: () => void request.resume(),
    cancel: drain,
  });
  return { stream, isTooLarge: () => bytes > BODY_BYTES_MAX, drain };
}

function toWebRequest(url: URL, request: IncomingMessage, body: ReadableStream<Uint8Array> | null): Request {
  const headers = new Headers();
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    headers.append(request.rawHeaders[i]!, request.rawHeaders[i + 1]!);
  }
  const { method = "GET" } = request;
  return new Request(url, { method, headers, ...(body === null ? {} : { body, duplex: "half" }) });
}

/** Passes on the answer, no faster than it is taken. */
async function send(answer: Response, isHead: boolean, response: ServerResponse): Promise<void> {
  for (const [name, value] of answer.headers) {
    if (!HEADERS_NOT_PASSED_ON.has(name)) response.setHeader(name, value);
  }
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) response.setHeader("set-cookie", cookies);
  const length = answer.headers.get("content-length");
  if (isHead && length !== null) response.setHeader("content-length", length);
  // Taken before anything is sent: a body that user code has already read is its error, not a broken answer.
  const reader = (answer.body as ReadableStream<Uint8Array> | null)?.getReader();
  response.writeHead(answer.status, answer.statusText === "" ? undefined : answer.statusText);
  if (isHead || reader === undefined) {
    response.end();
    await reader?.cancel();
    return;
  }
  response.flushHeaders();
  response.once("close", () => void reader.cancel().catch(() => undefined));
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || response.destroyed) break;
    bytes += value.length;
    if (bytes > BODY_BYTES_MAX) throw new Error(`The answer is larger than ${BODY_BYTES_MAX} bytes.`);
    if (!response.write(value)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

function sendFunctionError(response: ServerResponse, requestId: string, failure: FunctionError): void {
  const body: Record<string, unknown> = {
    code: `[Request ID: ${requestId}] Server Error: ${failure.message.split("\n")[0]}`,
    trace: failure.message,
  };
  if (failure.data !== undefined) body["data"] = failure.data;
  sendJson(response, 500, JSON.stringify(body));
}

function tooLarge(): RequestError {
  return new RequestError(413, "BodyTooLarge", `The body is larger than ${BODY_BYTES_MAX} bytes.`);
}
