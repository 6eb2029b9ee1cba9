import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Answer, PlainRequest } from "./http.ts";

/** Stands in for an origin that no handler may build on. */
const ORIGIN = "http://localhost";

/**
 * How long a client may take to send a request, head and all of it, and how often that is looked at. A body has 2 MiB
 * at most, which is 70 KB a second. Node's own defaults leave a connection that sends nothing open for a minute, and
 * one that sends its body byte by byte for five.
 */
export const REQUEST_TIMES = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
} as const satisfies ServerOptions;

/** A server of the web process. Who is slower than `times` gets a 408, and the connection is closed. */
export function createWebServer(listener: RequestListener, times: ServerOptions = REQUEST_TIMES): Server {
  return createServer(times, listener);
}

/** The request of a Node server as handlers take it. `incoming.url` begins with a slash. */
export function toRequest(incoming: IncomingMessage): PlainRequest {
  return {
    method: incoming.method ?? "GET",
    url: `${ORIGIN}${incoming.url}`,
    headers: {
      get(name) {
        const value = incoming.headers[name.toLowerCase()];
        return typeof value === "string" ? value : null;
      },
    },
    // Whoever stops reading half-way still has an answer to send: the connection stays, Node drops the rest.
    body: hasBody(incoming) ? incoming.iterator({ destroyOnReturn: false }) : null,
  };
}

/** Whether a body follows, by the rules of HTTP/1.1. As in fetch, a GET or HEAD has none that anybody reads. */
function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Headers that every answer carries unless it has its own of that name. */
export interface CommonHeaders {
  /** Names and values in turn. */
  readonly flat: readonly string[];
  /** In lower case, as answers write theirs. */
  readonly names: ReadonlySet<string>;
}

export function commonHeaders(headers: Readonly<Record<string, string>>): CommonHeaders {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  return { flat: Object.entries(headers).flat(), names };
}

/** The common headers and then the own ones, of which each takes the place of a common one. */
function withOwn({ flat, names }: CommonHeaders, own: readonly (readonly [string, string])[]): string[] {
  const replaced = own.filter(([name]) => names.has(name)).map(([name]) => name);
  if (replaced.length === 0) return [...flat, ...own.flat()];
  const kept = flat.filter((_, index) => !replaced.includes(flat[index - (index % 2)]!.toLowerCase()));
  return [...kept, ...own.flat()];
}

/**
 * Sends an answer through a Node server, with the common headers. A finished answer is one write.
 * A `Response` streams and waits while the client is slow. A client that has gone ends it quietly. Never rejects.
 */
export async function sendAnswer(
  answer: Answer,
  outgoing: ServerResponse,
  headers: CommonHeaders,
): Promise<void> {
  try {
    if (answer instanceof Response) return await sendResponse(answer, outgoing, headers);
    const { status, text } = answer;
    const own = Object.entries(answer.headers);
    // Without its length a body is sent in chunks, in two writes instead of one.
    if (text !== null) own.push(["content-length", String(Buffer.byteLength(text))]);
    outgoing.writeHead(status, withOwn(headers, own)).end(text ?? undefined);
  } catch {
    // The head may be sent, so an answer that breaks can only be cut: the client sees that it is incomplete.
    outgoing.destroy();
  }
}

async function sendResponse(
  response: Response,
  outgoing: ServerResponse,
  headers: CommonHeaders,
): Promise<void> {
  outgoing.writeHead(response.status, withOwn(headers, [...response.headers]));
  const reader = response.body?.getReader();
  // A client that goes ends a read that waits for its source, too.
  outgoing.once("close", () => void reader?.cancel().catch(() => undefined));
  if (outgoing.req.method === "HEAD") await reader?.cancel();
  else if (reader) await copy(reader, outgoing);
  outgoing.end();
}

async function copy(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (!outgoing.write(value)) await drained(outgoing);
  }
}

/** Resolves when more may be written, or when nobody takes it any more. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}
