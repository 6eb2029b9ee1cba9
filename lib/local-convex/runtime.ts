/**
 * The engine's working parts in one place, and how a top-level query, mutation or action is run with them.
 * `engine.ts` puts it together and owns its life; nothing here opens files or sockets.
 */
import type { Catalog } from "./catalog.ts";
import type { EngineClock } from "./clock.ts";
import type { Crons } from "./crons.ts";
import { FunctionError } from "./errors.ts";
import type { Executor } from "./executor.ts";
import { checkArguments, invoke, resolveFunction, toFunctionError } from "./function-call.ts";
import { newInvocation, type Caller, type Invocation, type UdfType } from "./invocation.ts";
import type { LoadedModules } from "./modules.ts";
import { functionName, toSyscallError } from "./nested-call.ts";
import { seededRandom, type Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Storage } from "./storage.ts";
import type { StuckGuard } from "./stuck-guard.ts";
import type { Timers } from "./timers.ts";
import type { Transaction } from "./transaction.ts";
import type { JsonObject } from "./values/json.ts";

/** A call that succeeded: the value as JSON text. */
export interface CallResult {
  valueText: string;
  logLines: string[];
  ts: bigint;
}

export interface CallOptions {
  scheduledFunctionId?: string;
  requestId?: string;
  retriesMax?: number;
  /** Runs first in the same transaction; false skips the function. */
  before?: (tx: Transaction) => Promise<boolean>;
  /** Runs last in the same transaction. */
  after?: (tx: Transaction) => Promise<void>;
}

/** One line of engine output. */
export type ReportSink = (source: string, text: string) => void;

export class Runtime {
  modules!: LoadedModules;
  executor!: Executor;
  scheduler!: Scheduler;
  crons!: Crons;

  constructor(
    readonly storage: Storage,
    readonly catalog: Catalog,
    readonly clock: EngineClock,
    readonly timers: Timers,
    readonly stuck: StuckGuard,
    readonly random: Random,
    /** Milliseconds each syscall of a transaction waits, to imitate a distant database. */
    readonly syscallLatencyMs: () => number,
    private readonly secrets: readonly string[],
    private readonly sink: ReportSink,
  ) {}

  /** Runs a query on the newest snapshot. */
  async runQuery(
    path: string,
    args: JsonObject,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<CallResult> {
    return this.explaining(async (logLines) => {
      const record = resolveFunction(this, path, "query", caller.admin);
      const argsText = checkArguments(this, record, args);
      const { value, ts } = await this.executor.query(async (tx) => {
        logLines.length = 0;
        return invoke(this, record, this.invocation(record, caller, tx, logLines, options), argsText);
      });
      return { valueText: value, logLines, ts };
    });
  }

  /** Runs a mutation to its durable commit. */
  async runMutation(
    path: string,
    args: JsonObject,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<CallResult> {
    return this.explaining(async (logLines) => {
      const record = resolveFunction(this, path, "mutation", caller.admin);
      const argsText = checkArguments(this, record, args);
      const { value, ts } = await this.executor.mutation(async (tx) => {
        logLines.length = 0;
        if (options.before !== undefined && !(await options.before(tx))) return "null";
        const text = await invoke(
          this,
          record,
          this.invocation(record, caller, tx, logLines, options),
          argsText,
        );
        await options.after?.(tx);
        return text;
      }, options.retriesMax);
      return { valueText: value, logLines, ts };
    });
  }

  async runAction(
    path: string,
    args: JsonObject,
    caller: Caller,
    options: CallOptions = {},
  ): Promise<CallResult> {
    return this.explaining(async (logLines) => {
      const record = resolveFunction(this, path, "action", caller.admin);
      const argsText = checkArguments(this, record, args);
      const invocation = this.invocation(record, caller, null, logLines, options);
      return {
        valueText: await invoke(this, record, invocation, argsText),
        logLines,
        ts: this.executor.timestamp,
      };
    });
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
    });
  }

  private async explaining(work: (logLines: string[]) => Promise<CallResult>): Promise<CallResult> {
    const logLines: string[] = [];
    try {
      const result = await work(logLines);
      return { ...result, logLines: result.logLines.map((line) => this.redact(line)) };
    } catch (error) {
      const failure = toFunctionError(this, error);
      if (failure instanceof FunctionError) failure.logLines = logLines.map((line) => this.redact(line));
      throw failure;
    }
  }
}
