import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { convexToJson, type Value } from "convex/values";

/** One call that reached the fake: `path` is "gate:admit", `args` the object that was sent. */
export interface FakeCall {
  readonly type: "query" | "mutation" | "action";
  readonly path: string;
  readonly args: Record<string, unknown>;
  /** The header of that name: a user's token, when the call is made with one. */
  readonly authorization: string | undefined;
}

/** How the fake answers a call: a value, an error of the function, or a failure of the request. */
export type FakeAnswer =
  | { readonly value: unknown }
  | { readonly errorData: unknown; readonly errorMessage?: string }
  | { readonly errorMessage: string }
  | { readonly status: number; readonly code: string; readonly message: string }
  | { readonly hang: true }
  | { readonly cut: true };

export interface FakeConvex {
  readonly url: string;
  readonly calls: FakeCall[];
  /** Sets the answers of a function: one after the other, the last one again and again. */
  on(path: string, ...answers: FakeAnswer[]): void;
  reset(): void;
  close(): Promise<void>;
}

/**
 * A server that speaks the part of Convex's HTTP API that `ConvexHttpClient` uses. A call that no test expects is
 * answered with an error and stays in `calls`.
 */
export async function startFakeConvex(): Promise<FakeConvex> {
  const calls: FakeCall[] = [];
  const answers = new Map<string, FakeAnswer[]>();
  const server = createServer((request, response) => {
    void answer(request, response, calls, answers);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    on: (path, ...list) => void answers.set(path, list),
    reset: () => {
      calls.length = 0;
      answers.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  calls: FakeCall[],
  answers: Map<string, FakeAnswer[]>,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
    path: string;
    args: [FakeCall["args"]];
  };
  calls.push({
    type: request.url?.slice("/api/".length) as FakeCall["type"],
    path: body.path,
    args: body.args[0],
    authorization: request.headers.authorization,
  });
  const list = answers.get(body.path) ?? [];
  const next = (list.length > 1 ? list.shift() : list[0]) ?? {
    errorMessage: `Could not find public function for '${body.path}'.`,
  };
  if ("hang" in next) return;
  if ("cut" in next) {
    request.socket.destroy();
    return;
  }
  if ("status" in next) return send(response, next.status, { code: next.code, message: next.message });
  if ("value" in next) {
    return send(response, 200, { status: "success", value: convexToJson(next.value as Value), logLines: [] });
  }
  return send(response, 200, { status: "error", errorMessage: "Server Error", ...next, logLines: [] });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
