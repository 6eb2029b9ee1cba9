/** The engine in a simulated world: it is started, called, killed and started again on the same file. */
import { ConvexError, convexToJson, jsonToConvex, type Value } from "convex/values";

import type { FunctionsBuild } from "../local-convex/bundle.ts";
import { createEngine, type Engine } from "../local-convex/engine.ts";
import { FunctionError, RequestError } from "../local-convex/errors.ts";
import { SYSTEM_CALLER, type Caller } from "../local-convex/invocation.ts";
import type { CallResult } from "../local-convex/runtime.ts";
import type { JsonObject, JsonValue } from "../local-convex/values/json.ts";
import type { Chance } from "./chance.ts";
import type { SimClock } from "./sim-clock.ts";
import type { Trace } from "./trace.ts";
import type { Machine, Turns } from "./turns.ts";

/** Nothing came back: the call may have had its effect, or not. */
export class Lost extends Error {
  override readonly name = "Lost";
}

export interface DeploymentOptions {
  readonly turns: Turns;
  readonly clock: SimClock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly build: FunctionsBuild;
  readonly functionsDir: string;
  readonly dataFile: string;
  readonly env: Record<string, string>;
  readonly concurrency: number;
  readonly fetch: typeof fetch;
  /** The chances of trouble inside the engine; read at each use. */
  readonly faults: { readonly conflict: number; readonly syscallMsMax: number };
  /** Told when the engine was opened, before anybody calls it, and of every commit. */
  readonly onOpen: (engine: Engine) => void;
  readonly onCommit: (engine: Engine, written: Parameters<Listener>[0]) => void;
}

type Listener = Parameters<Engine["runtime"]["listeners"]["add"]>[0]["committed"];
export type CallKind = "query" | "mutation" | "action";

export class Deployment {
  private engine: Engine | null = null;
  private machine: Machine | null = null;
  /** Calls that wait for an answer of the engine that runs now. */
  private readonly waiting = new Set<(lost: Lost) => void>();
  crashes = 0;
  private conflictsBefore = 0;

  constructor(private readonly options: DeploymentOptions) {}

  get isUp(): boolean {
    return this.engine !== null;
  }

  /** Transactions that lost and ran again, of all engines so far. */
  get conflicts(): number {
    return this.conflictsBefore + (this.engine?.counts.conflicts ?? 0);
  }

  async start(): Promise<void> {
    const { options } = this;
    const { chance, faults, turns, clock } = options;
    const machine = turns.machine(options.fetch);
    this.machine = machine;
    const engine = await createEngine({
      dataFile: options.dataFile,
      functionsDir: options.functionsDir,
      build: options.build,
      env: options.env,
      clock,
      host: machine.host,
      concurrency: options.concurrency,
      seed: chance.uint32(),
      onReport: (source, text) => options.trace.note(`report ${source}: ${text.split("\n")[0]}`),
      inject: {
        syscallLatencyMs: () => (faults.syscallMsMax === 0 ? 0 : chance.share() * faults.syscallMsMax),
        conflict: () => chance.strikes(faults.conflict),
      },
    });
    this.engine = engine;
    options.onOpen(engine);
    engine.runtime.listeners.add({
      committed: (written) => options.onCommit(engine, written),
      reloaded: () => undefined,
    });
  }

  /** What was not flushed is gone, and so is everything that ran. */
  crash(): void {
    if (this.engine === null) return;
    this.crashes += 1;
    this.conflictsBefore = this.conflicts;
    this.machine!.turnOff();
    this.engine.abandon();
    this.engine = null;
    for (const lose of this.waiting) lose(new Lost("the engine is gone"));
    this.waiting.clear();
  }

  /**
   * Throws `Lost` when the engine is down or dies, ConvexError with its data as a client would, and `RequestError` for a
   * call that lost every conflict.
   */
  async call<Answer>(
    kind: CallKind,
    path: string,
    args: object,
    caller: Caller = SYSTEM_CALLER,
  ): Promise<Answer> {
    const { engine } = this;
    if (engine === null) throw new Lost("the engine is down");
    const json = convexToJson(args as Value) as JsonObject;
    const result = await new Promise<CallResult>((resolve, reject) => {
      this.waiting.add(reject);
      engine[kind](path, json, caller)
        .then(resolve, reject)
        .finally(() => this.waiting.delete(reject));
    }).catch((error: unknown) => {
      throw asClientSees(error);
    });
    return jsonToConvex(JSON.parse(result.valueText) as JsonValue) as Answer;
  }
}

export function isConflict(error: unknown): boolean {
  return error instanceof RequestError && error.code === "OptimisticConcurrencyControlFailure";
}

function asClientSees(error: unknown): unknown {
  if (!(error instanceof FunctionError) || error.data === undefined) return error;
  const failure = new ConvexError<Value>(jsonToConvex(error.data as JsonValue));
  failure.message = error.message;
  return failure;
}
