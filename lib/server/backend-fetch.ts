import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

/**
 * An idle connection is given up before the other side does (Node servers wait 5 s), so that a request does not meet
 * a connection that is just being closed.
 */
const IDLE_TIMEOUT_MS = 3_000;

/** No maximum of connections: how many calls overlap is for the backend to bound. */
const agentOptions = { keepAlive: true, maxSockets: Infinity, maxFreeSockets: 256, timeout: IDLE_TIMEOUT_MS };
const agents = { http: new HttpAgent(agentOptions), https: new HttpsAgent(agentOptions) };

/** The other side gave no answer. `cause` is the error of the connection. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
}

/**
 * The part of `fetch` that `ConvexHttpClient` uses, on `node:http`: a POST with a text body, answered with `ok`,
 * `status`, `text()` and `json()`. Node's own fetch, inside Next, costs about twice the processor time a call, most
 * of it in streams and abort signals that a call with a small body does not need. Throws `NoAnswerError`.
 */
export function createBackendFetch(timeoutMs: number): typeof fetch {
  const backendFetch = (address: string, init: { headers: Record<string, string>; body: string }) =>
    new Promise<Pick<Response, "ok" | "status" | "text" | "json">>((resolve, reject) => {
      const isSecure = address.startsWith("https:");
      const send = isSecure ? httpsRequest : httpRequest;
      const headers = { ...init.headers, "content-length": Buffer.byteLength(init.body) };
      const request = send(address, {
        method: "POST",
        headers,
        agent: isSecure ? agents.https : agents.http,
      });
      const timer = setTimeout(() => request.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
      const fail = (cause: Error): void => {
        clearTimeout(timer);
        reject(new NoAnswerError(cause.message, { cause }));
      };
      request.on("error", fail);
      request.on("response", (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        response.on("error", fail);
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          clearTimeout(timer);
          const status = response.statusCode ?? 0;
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({
            ok: status >= 200 && status < 300,
            status,
            text: () => Promise.resolve(text),
            json: () => Promise.resolve().then((): unknown => JSON.parse(text)),
          });
        });
      });
      request.end(init.body);
    });
  return backendFetch as unknown as typeof fetch;
}
