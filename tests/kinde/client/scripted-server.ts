import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it arrived, byte for byte where it matters. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One answer: a body with status 200, or a function that does with the response what it likes. */
export type Step = object | ((response: ServerResponse, request: SeenRequest) => void);

export interface ScriptedServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** The requests to one path. */
  to(path: string): SeenRequest[];
  /** Appends answers for a path, used up in order. */
  script(path: string, ...steps: Step[]): void;
  /** Answers every further request to the path the same way. */
  always(path: string, step: Step): void;
  /** Stops it and frees the port. Fails on requests nobody scripted and on answers nobody fetched. */
  close(): Promise<void>;
  /** Stops it without a look at what is left. */
  stop(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const seen: SeenRequest[] = [];
  const unexpected: string[] = [];
  const queues = new Map<string, Step[]>();
  const defaults = new Map<string, Step>();

  async function onRequest(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of incoming.setEncoding("utf8")) body += chunk as string;
    const url = new URL(incoming.url ?? "/", "http://localhost");
    const query = Object.fromEntries(url.searchParams);
    const method = incoming.method ?? "";
    const request = { method, path: url.pathname, query, headers: incoming.headers, body };
    seen.push(request);
    const step = queues.get(url.pathname)?.shift() ?? defaults.get(url.pathname);
    if (step === undefined) {
      unexpected.push(`${method} ${incoming.url}`);
      response.writeHead(418).end();
    } else if (typeof step === "function") {
      (step as (response: ServerResponse, request: SeenRequest) => void)(response, request);
    } else {
      json(200, step)(response);
    }
  }

  const server = createServer((incoming, response) => {
    // A client that gave up inside its own request is one of the cases; there is nobody left to answer.
    onRequest(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });

  async function stop(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    to: (path) => seen.filter((request) => request.path === path),
    script: (path, ...steps) => {
      queues.set(path, [...(queues.get(path) ?? []), ...steps]);
    },
    always: (path, step) => {
      defaults.set(path, step);
    },
    stop,
    async close() {
      await stop();
      const left = [...queues].filter(([, steps]) => steps.length > 0).map(([path]) => path);
      if (unexpected.length > 0) throw new Error(`nobody scripted: ${unexpected.join(", ")}`);
      if (left.length > 0) throw new Error(`nobody asked for: ${left.join(", ")}`);
    },
  };
}

/** Answers with a status, a JSON body and headers. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Cuts the connection before an answer. */
export function cut(response: ServerResponse): void {
  response.destroy();
}

/** Never answers. */
export function silent(): void {}

/** Starts an answer and cuts the connection inside it. */
export function cutInside(response: ServerResponse): void {
  response.writeHead(200, { "content-length": "1000", "content-type": "application/json" });
  response.write('{"code":"OK",', () => response.destroy());
}
