// A small HTTP client for /api/v1: keep-alive, timeouts, and repeats that are safe because every call names its
// key or step. On node:http rather than fetch: on two cores the client shares the machine it measures.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "./cli.mjs";

/**
 * @typedef {{status: number, body: any, retryAfterMs: number | null}} Answer  `body` is the parsed JSON, or the text
 * @typedef {{method: "GET" | "POST" | "DELETE", path: string, token: string, body?: unknown}} Call
 * @typedef {{call(request: Call): Promise<Answer>, close(): void, requests: number}} ApiClient
 */

/** No answer came: the connection failed or the time ran out. `code` is the system's (ECONNREFUSED, ETIMEDOUT, ...). */
export class ConnectionError extends Error {
  /**
   * @param {string} code
   * @param {unknown} cause
   * @param {boolean} staleSocket
   */
  constructor(code, cause, staleSocket) {
    super(`no answer (${code})`, { cause });
    this.name = "ConnectionError";
    this.code = code;
    /** A kept-alive connection that the server had closed in the meantime. */
    this.staleSocket = staleSocket;
  }
}

const RETRY_WAIT_FIRST_MS = 100;
const RETRY_WAIT_MAX_MS = 1000;

/**
 * `retrySeconds`: for how long a call is repeated after connection errors and 503 answers; 0 = not at all.
 * Only calls that are safe to send twice belong here.
 * @param {{url: string, connections: number, timeoutMs: number, retrySeconds?: number}} options
 * @returns {ApiClient}
 */
export function createApiClient({ url, connections, timeoutMs, retrySeconds = 0 }) {
  const base = new URL(`${url}/api/v1`);
  const agent = new (base.protocol === "https:" ? https : http).Agent({
    keepAlive: true,
    maxSockets: connections,
    maxFreeSockets: connections,
    noDelay: true,
  });
  /** @type {ApiClient} */
  const client = {
    requests: 0,
    close: () => agent.destroy(),
    async call(request) {
      const deadline = performance.now() + retrySeconds * 1000;
      for (let attempt = 0; ; attempt++) {
        client.requests++;
        const outcome = await once(base, agent, timeoutMs, request).catch((/** @type {unknown} */ error) => {
          if (error instanceof ConnectionError) return error;
          throw error;
        });
        if (!(outcome instanceof ConnectionError) && outcome.status !== 503) return outcome;
        // A stale connection says nothing about the server: once more, at once.
        if (outcome instanceof ConnectionError && outcome.staleSocket && attempt === 0) continue;
        const waitMs = retryWaitMs(attempt, outcome instanceof ConnectionError ? null : outcome.retryAfterMs);
        if (performance.now() + waitMs > deadline) {
          if (outcome instanceof ConnectionError) throw outcome;
          return outcome;
        }
        await sleep(waitMs);
      }
    },
  };
  return client;
}

/**
 * @param {number} attempt
 * @param {number | null} retryAfterMs
 */
function retryWaitMs(attempt, retryAfterMs) {
  const growing = Math.min(RETRY_WAIT_FIRST_MS * 2 ** attempt, RETRY_WAIT_MAX_MS);
  return Math.min(retryAfterMs ?? growing, RETRY_WAIT_MAX_MS) * (0.5 + Math.random() / 2);
}

/**
 * @param {URL} base
 * @param {http.Agent} agent
 * @param {number} timeoutMs
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
function once(base, agent, timeoutMs, { method, path, token, body }) {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  /** @type {Record<string, string | number>} */
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  if (payload !== undefined) {
    headers["content-type"] = "application/json";
    headers["content-length"] = Buffer.byteLength(payload);
  }
  return new Promise((resolve, reject) => {
    const transport = base.protocol === "https:" ? https : http;
    const request = transport.request(`${base.href}${path}`, { method, agent, headers }, (response) => {
      /** @type {Buffer[]} */
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        clearTimeout(timer);
        resolve(readAnswer(response, Buffer.concat(chunks).toString("utf8")));
      });
      response.on("error", fail);
    });
    const timer = setTimeout(() => {
      request.destroy(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" }));
    }, timeoutMs);
    /** @param {Error & {code?: string}} error */
    function fail(error) {
      clearTimeout(timer);
      const code = connectionCode(error);
      reject(new ConnectionError(code, error, request.reusedSocket && code !== "ETIMEDOUT"));
    }
    request.on("error", fail);
    request.end(payload);
  });
}

/**
 * When both addresses of "localhost" refuse, Node wraps the two errors in one without a code of its own.
 * @param {Error & {code?: string, errors?: (Error & {code?: string})[]}} error
 */
function connectionCode(error) {
  return error.code ?? error.errors?.[0]?.code ?? error.message;
}

/**
 * @param {http.IncomingMessage} response
 * @param {string} text
 * @returns {Answer}
 */
function readAnswer(response, text) {
  const seconds = Number(response.headers["retry-after"]);
  const retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = text;
  }
  return { status: response.statusCode ?? 0, body, retryAfterMs };
}

/**
 * One line that says what a call got instead of what it needed, and what to do next where the answer tells.
 * @param {Call} call
 * @param {Answer} answer
 */
export function answerFault({ method, path }, { status, body }) {
  const isObject = typeof body === "object" && body !== null;
  const detail = isObject ? (body.detail ?? body.title ?? body.code) : body;
  const next = isObject && typeof body.next === "string" ? ` ${body.next}` : "";
  return `${method} /api/v1${path} answered ${status}${detail ? `: ${String(detail).slice(0, 300)}` : ""}${next}`;
}

/**
 * Calls and insists on a good answer. Throws CliError when the server is not there or answers something else.
 * @param {ApiClient} client
 * @param {Call} call
 * @returns {Promise<any>} the answer's body
 */
export async function mustCall(client, call) {
  let answer;
  try {
    answer = await client.call(call);
  } catch (error) {
    if (error instanceof ConnectionError) {
      throw new CliError(
        `the server does not answer (${error.code}); is it running? Start it with: npm start`,
        {
          cause: error,
        },
      );
    }
    throw error;
  }
  if (answer.status >= 400) throw new CliError(answerFault(call, answer));
  return answer.body;
}

/**
 * The operator key: given, or from the data directory of this machine's installation.
 * @param {{operatorKey: string | undefined, dataDir: string}} from
 * @returns {string}
 */
export function readOperatorKey({ operatorKey, dataDir }) {
  if (operatorKey !== undefined) return operatorKey;
  const path = join(resolve(dataDir), "operator-key");
  try {
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    throw new CliError(
      `no operator key in ${path} (${code}); start the server once, or give --operator-key, --data-dir or --api-key`,
      { cause },
    );
  }
}
