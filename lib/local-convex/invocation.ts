/**
 * One running function and everything its syscalls need. AsyncLocalStorage carries it, so functions that run
 * at the same time in one realm never see each other's transaction, time or log.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonObject } from "./values/json.ts";
import type { Random } from "./random.ts";
import type { QueryRun } from "./query.ts";
import type { Transaction } from "./transaction.ts";

export type UdfType = "query" | "mutation" | "action";

/** Who calls. `admin` may run internal functions; `identity` is what getUserIdentity answers. */
export interface Caller {
  admin: boolean;
  identity: JsonObject | null;
  /** From the request, for getRequestMetadata. */
  ip: string | null;
  userAgent: string | null;
}

export const SYSTEM_CALLER: Caller = { admin: true, identity: null, ip: null, userAgent: null };

/** End cursors of a live query's page: of its first run, and of the run that is going on. */
export interface Journal {
  readonly endCursor: string | null;
  nextEndCursor: string | null;
}

export interface Invocation {
  readonly kind: UdfType;
  /** Canonical path, such as `gate.js:admit`. */
  readonly path: string;
  readonly requestId: string;
  readonly caller: Caller;
  /** Absent in actions. */
  readonly tx: Transaction | null;
  readonly random: Random;
  readonly logLines: string[];
  /** 0 for the outermost call. */
  readonly depth: number;
  readonly scheduledFunctionId: string | null;
  readonly queries: Map<number, QueryRun>;
  nextQueryId: number;
  paginated: boolean;
  /** Where pages end, kept over re-runs of a live query. Null where no re-run will come. */
  readonly journal: Journal | null;
  /** Milliseconds spent inside the engine: user code time is the rest. */
  syscallMs: number;
  /** End of the last wait that was added to `syscallMs`. */
  waitedUntilMs: number;
  /** Resolves when every syscall issued so far is done; null while none had to wait. */
  tail: Promise<unknown> | null;
  hasFailedSyscall: boolean;
  /** A promise of the function that was rejected with nobody listening: it fails the function. */
  unhandled: { reason: unknown } | null;
  /** Set when the function's promise settled: later syscalls are refused. */
  over: boolean;
}

export const currentInvocation = new AsyncLocalStorage<Invocation>();

export function newInvocation(
  fields: Pick<Invocation, "kind" | "path" | "requestId" | "caller" | "tx" | "random"> & Partial<Invocation>,
): Invocation {
  return {
    logLines: [],
    depth: 0,
    scheduledFunctionId: null,
    queries: new Map(),
    nextQueryId: 0,
    paginated: false,
    journal: null,
    syscallMs: 0,
    waitedUntilMs: 0,
    tail: null,
    hasFailedSyscall: false,
    unhandled: null,
    over: false,
    ...fields,
  };
}
