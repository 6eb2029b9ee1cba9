import { ConvexHttpClient } from "convex/browser";
import { ConvexError } from "convex/values";
import { createBackendFetch, NoAnswerError } from "./backend-fetch.ts";
import type { Answered, PublicFunction, Sent } from "./convex-functions.ts";

/** Longest wait for a query or mutation: well over the second that conflict retries of the backend may take. */
export const CALL_TIMEOUT_MS = 5_000;
/**
 * A call that has waited this long for its turn is not sent any more: with the timeout of what it waits for, or its
 * own, it has its answer within `QUEUE_WAIT_MS_MAX + CALL_TIMEOUT_MS`, also when the backend answers nobody.
 */
export const QUEUE_WAIT_MS_MAX = 2_000;
/** Actions talk to the outside world and sweep in batches. */
const ACTION_TIMEOUT_MS = 30_000;

/**
 * Why a call gave no value.
 * `conflict`: the backend gave up on it before a commit, so repeating it is safe. · `refused`: the function threw a
 * ConvexError, `refusedCode` is its code. · `failed`: it threw anything else; nothing was committed.
 * · `contract`: it was called with arguments it does not take, a fault of ours. · `unreachable`: no answer; whether it was
 * committed is not known, unless the message says that it was not sent.
 */
export type BackendFault = "conflict" | "refused" | "failed" | "contract" | "unreachable";

/** A call that gave no value. It keeps no `cause`: what Convex throws may quote the arguments, the secret among them. */
export class BackendError extends Error {
  override readonly name = "BackendError";
  readonly fault: BackendFault;
  readonly refusedCode: string | undefined;

  constructor(fault: BackendFault, message: string, options: { refusedCode?: string } = {}) {
    super(message);
    this.fault = fault;
    this.refusedCode = options.refusedCode;
  }
}

/**
 * In whose name a call is made: the server's alone, that of a key it vouches for by the key's hash, or that of a
 * signed-in user, whose token the backend checks itself and for whom this server vouches nothing.
 */
export type Caller =
  | { readonly kind: "server" }
  | { readonly kind: "key"; readonly keyHash: string }
  | { readonly kind: "session"; readonly accessToken: string };

/** The door to the Convex deployment. Every call throws `BackendError` and nothing else; without a caller it is the server's. */
export interface ConvexGateway {
  query<F extends PublicFunction<"query">>(ref: F, args: Sent<F>, caller?: Caller): Promise<Answered<F>>;
  mutation<F extends PublicFunction<"mutation">>(
    ref: F,
    args: Sent<F>,
    caller?: Caller,
  ): Promise<Answered<F>>;
  action<F extends PublicFunction<"action">>(ref: F, args: Sent<F>, caller?: Caller): Promise<Answered<F>>;
}

export interface ConvexGatewayOptions {
  readonly url: string;
  readonly serverSecret: string;
  readonly callTimeoutMs?: number;
}

/**
 * Makes a gateway. One is enough for a process: calls overlap (mutations skip the client's queue) on connections that
 * are kept alive, without a maximum.
 */
export function createConvexGateway(options: ConvexGatewayOptions): ConvexGateway {
  const { url, serverSecret, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  const makeClients = (timeoutMs: number) => {
    const options = {
      skipConvexDeploymentUrlCheck: true,
      // Lines that functions log belong to the backend's own log.
      logger: false,
      fetch: fetchWithin(timeoutMs),
    } as const;
    const shared = new ConvexHttpClient(url, options);
    // A client has one token for all of its calls, so a session gets its own; the connections are shared all the same.
    return (caller: Caller) =>
      caller.kind === "session"
        ? new ConvexHttpClient(url, { ...options, auth: caller.accessToken })
        : shared;
  };
  const callsOf = makeClients(callTimeoutMs);
  const actionsOf = makeClients(Math.max(callTimeoutMs, ACTION_TIMEOUT_MS));
  const sign = (args: object, caller: Caller): object => {
    if (caller.kind === "session") return args;
    return caller.kind === "server"
      ? { ...args, serverSecret }
      : { ...args, serverSecret, keyHash: caller.keyHash };
  };

  return {
    async query(ref, args, caller = SERVER) {
      return await explain(serverSecret, callsOf(caller).query(ref, ...one(sign(args, caller))));
    },
    async mutation(ref, args, caller = SERVER) {
      const sent = one(sign(args, caller), { skipQueue: true });
      return await explain(serverSecret, callsOf(caller).mutation(ref, ...sent));
    },
    async action(ref, args, caller = SERVER) {
      return await explain(serverSecret, actionsOf(caller).action(ref, ...one(sign(args, caller))));
    },
  };
}

const SERVER: Caller = { kind: "server" };

/** The client's own types for rest arguments cannot be followed for a generic function; the gateway's are as strict. */
const one = (...args: unknown[]): never => args as never;

/** A fetch that gives up in time and turns request-level failures into `BackendError`. */
function fetchWithin(timeoutMs: number): typeof fetch {
  const backendFetch = createBackendFetch(timeoutMs);
  return async (input, init) => {
    const response = await backendFetch(input, init);
    // 560 is a function error with a normal body, which the client reads itself.
    if (response.ok || response.status === 560) return response;
    const { code, message } = readFailure(await response.text());
    // Only a session sends a token that could be refused.
    if (response.status === 401) throw new BackendError("refused", message, { refusedCode: "unauthorized" });
    const isConflict = response.status === 503 && !OUT_OF_ORDER.has(code);
    throw new BackendError(
      isConflict ? "conflict" : "unreachable",
      `Convex answered ${response.status} ${code}: ${message}`,
    );
  };
}

/** Answers of a backend that repeating at once cannot help; its other 503 answers are conflicts or too much load. */
const OUT_OF_ORDER = new Set(["StorageFailed", "ShuttingDown"]);

function readFailure(body: string): { code: string; message: string } {
  try {
    const parsed = JSON.parse(body) as { code?: unknown; message?: unknown };
    return { code: asText(parsed.code), message: asText(parsed.message) };
  } catch {
    return { code: "", message: body.slice(0, 200) };
  }
}

const CONTRACT_FAULT =
  /^(?:\[[^\]]*\] *)?(?:Arguments|Argument|Returns)ValidationError|Could not find public function/;

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

async function explain<V>(serverSecret: string, call: Promise<V>): Promise<V> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof BackendError) throw error;
    if (error instanceof ConvexError) {
      const data = error.data as { code?: unknown; message?: unknown; paginationError?: unknown } | null;
      // A cursor of another query, or of none, comes back as an error of Convex itself.
      const code = asText(data?.code) || asText(data?.paginationError);
      const message = withoutSecrets(asText(data?.message), serverSecret);
      // Nothing the caller shows is at fault when the backend refuses this server.
      if (code === "server_refused") throw new BackendError("failed", message, { refusedCode: code });
      throw new BackendError("refused", message, { refusedCode: code });
    }
    // A body that is not JSON is no answer of Convex either.
    const noAnswer = error instanceof NoAnswerError || error instanceof SyntaxError;
    const raw = error instanceof Error ? error.message : String(error);
    const fault = noAnswer ? "unreachable" : CONTRACT_FAULT.test(raw) ? "contract" : "failed";
    throw new BackendError(fault, withoutSecrets(raw, serverSecret));
  }
}

const KEY_OR_HASH = /hf_[\w-]+|\b[0-9a-f]{64}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;

/**
 * A message that may be logged. When Convex refuses arguments it quotes them, the server secret among them.
 */
function withoutSecrets(message: string, serverSecret: string): string {
  return message.replaceAll(serverSecret, "[secret]").replaceAll(KEY_OR_HASH, "[key]");
}
