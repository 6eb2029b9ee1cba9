// One request, sent once: nothing here sends anything again, so that the journal knows what was sent how often.
import http from "node:http";

export interface Sent {
  readonly method: "GET" | "POST" | "PATCH";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/**
 * `answered` with the status line of the answer; `body` is null when it did not come whole or is no JSON. `cut_off`: it
 * was sent, and nobody knows what became of it. `not_sent`: nobody listened.
 */
export type Reply =
  | { readonly kind: "answered"; readonly status: number; readonly body: Record<string, unknown> | null }
  | { readonly kind: "cut_off" }
  | { readonly kind: "not_sent" };

export interface Wire {
  send(request: Sent): Promise<Reply>;
  /** Requests so far that were cut off. */
  cutOff(): number;
  close(): void;
}

/** `timeoutMs`: the longest wait for one answer. */
export function openWire(connections: number, timeoutMs: number): Wire {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections, noDelay: true });
  let cutOff = 0;
  return {
    async send(request) {
      const reply = await sendOnce(agent, timeoutMs, request);
      if (reply.kind === "cut_off") cutOff += 1;
      return reply;
    },
    cutOff: () => cutOff,
    close: () => agent.destroy(),
  };
}

function sendOnce(
  agent: http.Agent,
  timeoutMs: number,
  { method, url, headers, body }: Sent,
): Promise<Reply> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const length =
    payload === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(payload)) };
  return new Promise((resolve) => {
    let status: number | null = null;
    const end = (reply: Reply): void => {
      clearTimeout(timer);
      resolve(reply);
    };
    // A status line that came is an answer, whatever happens to the rest.
    const broken = (error: NodeJS.ErrnoException): void => {
      if (status !== null) end({ kind: "answered", status, body: null });
      else end({ kind: error.code === "ECONNREFUSED" ? "not_sent" : "cut_off" });
    };
    const request = http.request(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
      status = response.statusCode ?? 0;
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("end", () => {
        end({ kind: "answered", status: status ?? 0, body: jsonOf(Buffer.concat(chunks).toString("utf8")) });
      });
      response.once("error", broken);
      response.once("aborted", () => broken(new Error("aborted")));
    });
    const timer = setTimeout(() => {
      request.destroy(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" }));
    }, timeoutMs);
    request.once("error", broken);
    request.end(payload);
  });
}

function jsonOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
