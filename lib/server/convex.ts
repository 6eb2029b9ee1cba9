import { ConvexHttpClient } from "convex/browser";
import type { DefaultFunctionArgs, FunctionReference } from "convex/server";
import { ConvexError } from "convex/values";

/** Longest wait for a query or mutation: well over the second that conflict retries of the backend may take. */
const CALL_TIMEOUT_MS = 10_000;
/** Actions talk to the outside world and sweep in batches. */
const ACTION_TIMEOUT_MS = 30_000;

/**
 * Why a call gave no value.
 * `conflict`: the backend gave up on it before a commit, so repeating it is safe. · `refused`: the function threw a
 * ConvexError, `refusedCode` is its code. · `failed`: it threw anything else; nothing was committed.
 * · `unreachable`: no answer; whether it was committed is not known.
 */
export type BackendFault = "conflict" | "refused" | "failed" | "unreachable";

export class BackendError extends Error {
  override readonly name = "BackendError";
  readonly fault: BackendFault;
  readonly refusedCode: string | undefined;

  constructor(fault: BackendFault, message: string, options: { cause?: unknown; refusedCode?: string } = {}) {
    super(message, { cause: options.cause });
    this.fault = fault;
    this.refusedCode = options.refusedCode;
  }
}

type Ref<
  Type extends "query" | "mutation" | "action",
  Args extends DefaultFunctionArgs,
  Value,
> = FunctionReference<Type, "public", Args, Value>;

/** The door to the Convex deployment. Every call throws `BackendError` and nothing else. */
export interface ConvexGateway {
  query<A extends DefaultFunctionArgs, V>(ref: Ref<"query", A, V>, args: A, keyHash?: string): Promise<V>;
  mutation<A extends DefaultFunctionArgs, V>(
    ref: Ref<"mutation", A, V>,
    args: A,
    keyHash?: string,
  ): Promise<V>;
  action<A extends DefaultFunctionArgs, V>(ref: Ref<"action", A, V>, args: A, keyHash?: string): Promise<V>;
}

export interface ConvexGatewayOptions {
  readonly url: string;
  readonly serverSecret: string;
  readonly callTimeoutMs?: number;
}

/**
 * Makes a gateway. One is enough for a process: calls overlap (mutations skip the client's queue) and the HTTP agent
 * of Node keeps connections alive without a maximum per host.
 */
export function createConvexGateway(options: ConvexGatewayOptions): ConvexGateway {
  const { url, serverSecret, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  const makeClient = (timeoutMs: number) =>
    new ConvexHttpClient(url, {
      skipConvexDeploymentUrlCheck: true,
      // Lines that functions log belong to the backend's own log.
      logger: false,
      fetch: fetchWithin(timeoutMs),
    });
  const calls = makeClient(callTimeoutMs);
  const actions = makeClient(Math.max(callTimeoutMs, ACTION_TIMEOUT_MS));
  const sign = <A extends DefaultFunctionArgs>(args: A, keyHash: string | undefined): A =>
    keyHash === undefined ? { ...args, serverSecret } : { ...args, serverSecret, keyHash };

  return {
    async query(ref, args, keyHash) {
      return await explain(serverSecret, calls.query(ref, ...one(sign(args, keyHash))));
    },
    async mutation(ref, args, keyHash) {
      return await explain(
        serverSecret,
        calls.mutation(ref, ...one(sign(args, keyHash), { skipQueue: true })),
      );
    },
    async action(ref, args, keyHash) {
      return await explain(serverSecret, actions.action(ref, ...one(sign(args, keyHash))));
    },
  };
}

/** The client's own types for rest arguments cannot be followed for a generic function; the gateway's are as strict. */
const one = (...args: unknown[]): never => args as never;

/** A fetch that gives up in time and turns request-level failures into `BackendError`. */
function fetchWithin(timeoutMs: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, {
      ...init,
      cache: "no-store",
      signal: AbortSignal.timeout(timeoutMs),
    });
    // 560 is a function error with a normal body, which the client reads itself.
    if (response.ok || response.status === 560) return response;
    const { code, message } = readFailure(await response.text());
    const isConflict = code === "OptimisticConcurrencyControlFailure" || response.status === 503;
    throw new BackendError(
      isConflict ? "conflict" : "unreachable",
      `Convex answered ${response.status} ${code}: ${message}`,
    );
  };
}

function readFailure(body: string): { code: string; message: string } {
  try {
    const parsed = JSON.parse(body) as { code?: unknown; message?: unknown };
    return { code: asText(parsed.code), message: asText(parsed.message) };
  } catch {
    return { code: "", message: body.slice(0, 200) };
  }
}

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

async function explain<V>(serverSecret: string, call: Promise<V>): Promise<V> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof BackendError) throw error;
    if (error instanceof ConvexError) {
      const data = error.data as { code?: unknown; message?: unknown } | null;
      const code = asText(data?.code);
      throw new BackendError("refused", asText(data?.message), { cause: error, refusedCode: code });
    }
    // fetch throws TypeError when there is no connection and DOMException when the time is up.
    const noAnswer =
      error instanceof TypeError || error instanceof DOMException || error instanceof SyntaxError;
    const raw = error instanceof Error ? error.message : String(error);
    throw new BackendError(noAnswer ? "unreachable" : "failed", withoutSecrets(raw, serverSecret));
  }
}

const KEY_OR_HASH = /hf_[\w-]+|\b[0-9a-f]{64}\b/g;

/**
 * A message that may be logged. When Convex refuses arguments it quotes them, the server secret among them; the
 * original error is dropped for the same reason.
 */
function withoutSecrets(message: string, serverSecret: string): string {
  return message.replaceAll(serverSecret, "[secret]").replaceAll(KEY_OR_HASH, "[key]");
}
