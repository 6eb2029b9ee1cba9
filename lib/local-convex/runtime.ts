/**
 * The engine's working parts in one place, and how a top-level query, mutation or action is run with them.
 * `engine.ts` puts it together and owns its life; nothing here opens files or sockets.
 */
import type { Catalog } from "./catalog.ts";
import type { EngineClock } from "./clock.ts";
import type { Crons } from "./crons.ts";
import { FunctionError } from "./errors.ts";
import { CALL_RETRIES_MAX, type Executor, type Reader } from "./executor.ts";
import type { EngineHost } from "./host.ts";
import { checkArguments, invoke, invokeHttp, resolveFunction, toFunctionError } from "./function-call.ts";
import { newInvocation, type Caller, type Invocation, type Journal, type UdfType } from "./invocation.ts";
import type { FunctionRecord, LoadedModules } from "./modules.ts";
import { functionName, toSyscallError } from "./nested-call.ts";
import { seededRandom, type Random } from "./random.ts";
import type { ReadInterval, WrittenKeys } from "./read-set.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Storage } from "./storage.ts";
import type { StuckGuard } from "./stuck-guard.ts";
import type { Timers } from "./timers.ts";
import type { Transaction } from "./transaction.ts";
import type { JsonObject } from "./values/json.ts";

/** A call that succeeded: the value as JSON text. */
export interface CallResult {
  valueText: string;
  logLines: readonly string[];
  ts: bigint;
}

/** What a run of a live query found: its result, which may be a failure, and all that the result depends on. */
export interface Observation {
  outcome: { kind: "value"; valueText: string } | { kind: "failed"; error: FunctionError };
  logLines: string[];
  endCursor: string | null;
  reads: readonly ReadInterval[];
}

export interface CallOptions {
  scheduledFunctionId?: string;
  requestId?: string;
  /** How often conflicts re-run a mutation; `CALL_RETRIES_MAX` when left out. */
  retriesMax?: number;
  /** Of a live query. */
  journal?: Journal;
  /** Runs first in the same transaction; false skips the function. */
  before?: (tx: Transaction) => Promise<boolean>;
  /** Runs last in the same transaction. */
  after?: (tx: Transaction, valueText: string, logLines: readonly string[]) => Promise<void>;
}

export interface ChangeListener {
  committed(written: WrittenKeys): void;
  /** Functions, schema or indexes are no longer what they were. */
  reloaded(): void;
}

/** One line of engine output. */
export type ReportSink = (source: string, text: string) => void;

export class Runtime {
  modules!: LoadedModules;
  executor!: Executor;
  scheduler!: Scheduler;
  crons!: Crons;
  /** Told of every commit, inside it, and of every change of the functions. */
  readonly listeners = new Set<ChangeListener>();

  constructor(
    readonly storage: Storage,
    readonly catalog: Catalog,
    readonly clock: EngineClock,
    readonly host: EngineHost,
    readonly timers: Timers,
    readonly stuck: StuckGuard,
    readonly random: Random,
    /** Milliseconds each syscall of a transaction waits, to imitate a distant database. */
    readonly syscallLatencyMs: () => number,
    private readonly secrets: readonly string[],
    private readonly sink: ReportSink,
  ) {}

  /** Runs a query on the newest snapshot. */
  runQuery(path: string, args: JsonObject, caller: Caller, options: CallOptions = {}): Promise<CallResult> {
    return this.prepared("query", path, args, caller, options, (call) => this.executor.query(call));
  }

  /** Runs a mutation to its durable commit. */
  runMutation(
    path: string,
    args: JsonObject,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<CallResult> {
    return this.prepared("mutation", path, args, caller, options, (call, logLines) =>
      this.executor.mutation(async (tx) => {
        if (options.before !== undefined && !(await options.before(tx))) return "null";
        const text = await call(tx);
        await options.after?.(tx, text, logLines);
        return text;
      }, options.retriesMax ?? CALL_RETRIES_MAX),
    );
  }

  /**
   * Runs a query for a subscription, in a slot of the executor that the caller holds. `settle` is called inside
   * the transaction, once its values are known to be of one snapshot: from that moment on, commits decide
   * whether the observation still holds.
   * @param endCursor where the page of the query's first run ended, null when it had none or this is the first
   */
  async observeQuery(
    read: Reader,
    path: string,
    args: JsonObject,
    caller: Caller,
    endCursor: string | null,
    settle: (observation: Observation) => void,
  ): Promise<void> {
    const failed = (error: unknown): FunctionError => {
      const failure = toFunctionError(this, error);
      if (failure instanceof FunctionError) return failure;
      throw failure;
    };
    const clean = (lines: string[]): string[] => lines.map((line) => this.redact(line));
    let record: FunctionRecord;
    let argsText: string;
    try {
      record = resolveFunction(this, path, "query", caller.admin);
      argsText = checkArguments(this, record, args);
    } catch (error) {
      settle({ outcome: { kind: "failed", error: failed(error) }, logLines: [], endCursor, reads: [] });
      return;
    }
    await read(async (tx) => {
      const logLines: string[] = [];
      const journal: Journal = { endCursor, nextEndCursor: endCursor };
      const invocation = this.invocation(record, caller, tx, logLines, { journal });
      let outcome: Observation["outcome"];
      try {
        outcome = { kind: "value", valueText: await invoke(this, record, invocation, argsText) };
      } catch (error) {
        if (tx.conflict !== null) throw error;
        outcome = { kind: "failed", error: failed(error) };
      }
      tx.validate();
      const nextEndCursor = outcome.kind === "value" ? journal.nextEndCursor : endCursor;
      settle({
        outcome,
        logLines: clean(logLines),
        endCursor: nextEndCursor,
        reads: tx.reads.intervals,
      });
    });
  }

  runAction(path: string, args: JsonObject, caller: Caller, options: CallOptions = {}): Promise<CallResult> {
    return this.prepared("action", path, args, caller, options, async (call) => ({
      value: await call(null),
      ts: this.executor.timestamp,
    }));
  }

  /** Runs `work`, which calls an HTTP action and sends its answer, as an action called `name`. */
  async runHttpAction(
    name: string,
    caller: Caller,
    work: (requestId: string) => Promise<void>,
  ): Promise<void> {
    const invocation = this.invocation({ kind: "action", path: name }, caller, null, [], {});
    await invokeHttp(this, invocation, () => work(invocation.requestId));
  }

  /** Runs a function of any kind. */
  async run(
    path: string,
    args: JsonObject,
    caller: Caller,
    kind: UdfType | null = null,
  ): Promise<CallResult> {
    switch (kind ?? resolveFunction(this, path, null, caller.admin).kind) {
      case "query":
        return this.runQuery(path, args, caller);
      case "mutation":
        return this.runMutation(path, args, caller);
      case "action":
        return this.runAction(path, args, caller);
    }
  }

  /** Serves the syscalls of an action that run other functions or schedule them. */
  async serveAction(invocation: Invocation, op: string, args: JsonObject): Promise<string> {
    const caller: Caller = { ...invocation.caller, admin: true };
    const nested = (args["args"] ?? {}) as JsonObject;
    const options: CallOptions = { requestId: invocation.requestId };
    try {
      switch (op) {
        case "1.0/actions/query":
          return this.logged(invocation, await this.runQuery(functionName(args), nested, caller, options));
        case "1.0/actions/mutation":
          return this.logged(invocation, await this.runMutation(functionName(args), nested, caller, options));
        case "1.0/actions/action":
          return this.logged(invocation, await this.runAction(functionName(args), nested, caller, options));
        case "1.0/actions/schedule": {
          const made = await this.executor.mutation(async (tx) =>
            this.scheduler.schedule(tx, invocation, args),
          );
          return JSON.stringify(made.value);
        }
        default: {
          await this.executor.mutation(async (tx) => this.scheduler.cancel(tx, args, null));
          return "null";
        }
      }
    } catch (error) {
      if (error instanceof FunctionError) invocation.logLines.push(...error.logLines);
      throw toSyscallError(error);
    }
  }

  /** Replaces every secret of the environment in a text that leaves the engine. */
  redact(text: string): string {
    let safe = text;
    for (const secret of this.secrets) safe = safe.replaceAll(secret, "[redacted]");
    return safe;
  }

  /** One line about something that went wrong outside of any caller's sight. */
  report(source: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.sink(source, this.redact(text));
  }

  private newRequestId(): string {
    const { random } = this;
    return `${random.nextUint32().toString(16)}${random.nextUint32().toString(16)}`.padEnd(16, "0");
  }

  private logged(invocation: Invocation, result: CallResult): string {
    invocation.logLines.push(...result.logLines);
    return result.valueText;
  }

  private invocation(
    record: { kind: UdfType; path: string },
    caller: Caller,
    tx: Transaction | null,
    logLines: string[],
    options: CallOptions,
  ): Invocation {
    return newInvocation({
      kind: record.kind,
      path: record.path,
      requestId: options.requestId ?? this.newRequestId(),
      caller,
      tx,
      random: seededRandom(this.random.nextUint32()),
      logLines,
      scheduledFunctionId: options.scheduledFunctionId ?? null,
      journal: options.journal ?? null,
    });
  }

  /**
   * What every kind of call has in common: finds the function, checks its arguments, and lets `run` call it, once
   * or, after a conflict, again. Lines of a run that did not count are dropped; a failure is explained.
   */
  private async prepared(
    kind: UdfType,
    path: string,
    args: JsonObject,
    caller: Caller,
    options: CallOptions,
    run: (
      call: (tx: Transaction | null) => Promise<string>,
      logLines: readonly string[],
    ) => Promise<{ value: string; ts: bigint }>,
  ): Promise<CallResult> {
    const logLines: string[] = [];
    const redacted = (): string[] => logLines.map((line) => this.redact(line));
    try {
      const record = resolveFunction(this, path, kind, caller.admin);
      const argsText = checkArguments(this, record, args);
      const { value, ts } = await run((tx) => {
        logLines.length = 0;
        return invoke(this, record, this.invocation(record, caller, tx, logLines, options), argsText);
      }, logLines);
      return { valueText: value, logLines: redacted(), ts };
    } catch (error) {
      const failure = toFunctionError(this, error);
      if (failure instanceof FunctionError) failure.logLines = redacted();
      throw failure;
    }
  }
}
