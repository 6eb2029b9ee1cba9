/**
 * The engine in one process: opens the database, loads the functions, runs what is called and what is due.
 * `server.ts` puts HTTP in front of it; tests and benches call it directly.
 */
import { resolve } from "node:path";
import { Authenticator } from "./auth.ts";
import { readAuthConfig, strictEnv } from "./auth-config.ts";
import { buildFunctions, type FunctionsBuild } from "./bundle.ts";
import { Catalog, type TableSpec } from "./catalog.ts";
import { systemClock, type EngineClock } from "./clock.ts";
import { Crons } from "./crons.ts";
import { Executor, type ExecutorCounts } from "./executor.ts";
import { SYSTEM_CALLER, type Caller, type UdfType } from "./invocation.ts";
import { InternalIds } from "./internal-ids.ts";
import { nextTurn, sleep, systemHost, type EngineHost } from "./host.ts";
import { loadModules, type LoadedModules, type SchemaExport } from "./modules.ts";
import { seededRandom } from "./random.ts";
import { Runtime, type CallResult, type ReportSink } from "./runtime.ts";
import { sandboxGlobals } from "./sandbox.ts";
import { JOBS_TABLE } from "./scheduled-jobs.ts";
import { Scheduler } from "./scheduler.ts";
import { Storage } from "./storage.ts";
import { StuckGuard } from "./stuck-guard.ts";
import { syscallTable } from "./syscalls.ts";
import { Timers } from "./timers.ts";
import { Transaction, type TransactionHost } from "./transaction.ts";
import type { JsonObject } from "./values/json.ts";
import { compileDocumentValidator } from "./values/validator.ts";

export interface EngineOptions {
  /** SQLite file; made when it does not exist. */
  dataFile: string;
  /** The `convex/` folder. */
  functionsDir: string;
  /** That folder, built already: for many engines on the same functions. Left out: it is built at every load. */
  build?: FunctionsBuild;
  /** `process.env` of the functions. Values of names that end like a secret (KEY, TOKEN ...) never leave in a text. */
  env?: Record<string, string>;
  clock?: EngineClock;
  /** Where turns, timers and the network come from. Default: the platform. */
  host?: EngineHost;
  /** Transactions running at one time; 1 never conflicts. */
  concurrency?: number;
  /** Makes ids, randomness and delays repeatable. Default: from the system. */
  seed?: number;
  /** How long a handler may wait for nothing before it counts as stuck. */
  handlerStuckMs?: number;
  /** Refuses to grow the file past this many pages of 4 KiB. */
  pagesMax?: number;
  onReport?: ReportSink;
  /** Called once when the database can no longer be written. */
  onFatal?: (error: Error) => void;
  /** Faults for tests and simulations. */
  inject?: {
    syscallLatencyMs?: () => number;
    conflict?: () => boolean;
    beforeWrite?: (table: string) => void;
  };
}

export class Engine {
  /** Verifies users' tokens by the providers of `auth.config`; without one it refuses all. */
  readonly authenticator = new Authenticator();

  private constructor(
    readonly runtime: Runtime,
    private readonly options: EngineOptions,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  static async create(options: EngineOptions): Promise<Engine> {
    const { clock = systemClock, host = systemHost } = options;
    const storage = Storage.open(
      options.dataFile,
      options.pagesMax === undefined ? {} : { pagesMax: options.pagesMax },
    );
    let runtime: Runtime | null = null;
    try {
      const catalog = new Catalog(storage);
      const random = seededRandom(options.seed ?? (Math.random() * 2 ** 32) >>> 0);
      const env = {
        CONVEX_CLOUD_URL: "http://127.0.0.1",
        CONVEX_SITE_URL: "http://127.0.0.1",
        ...options.env,
      };
      const sink = options.onReport ?? (() => undefined);
      const latency = options.inject?.syscallLatencyMs ?? (() => 0);
      runtime = new Runtime(
        storage,
        catalog,
        clock,
        host,
        new Timers(clock, host),
        new StuckGuard(host, options.handlerStuckMs),
        random,
        latency,
        secretsOf(env),
        sink,
      );
      runtime.scheduler = new Scheduler(runtime);
      runtime.crons = new Crons(runtime);
      runtime.executor = makeExecutor(
        runtime,
        options,
        new InternalIds(storage, catalog.tableNumbers, random),
      );
      const engine = new Engine(runtime, options, env);
      await engine.load();
      await runtime.scheduler.start();
      await runtime.crons.start();
      return engine;
    } catch (error) {
      runtime?.timers.stop();
      runtime?.stuck.stop();
      storage.close();
      throw error;
    }
  }

  /** Bundles and loads the functions folder again and brings tables and indexes in line with its schema. */
  private async load(): Promise<void> {
    const { runtime } = this;
    const functionsDir = resolve(this.options.functionsDir);
    const globals = this.globals(this.env);
    const { functions, authConfig } = this.options.build ?? (await buildFunctions(functionsDir));
    const providers =
      authConfig === null ? [] : readAuthConfig(authConfig, this.globals(strictEnv(this.env)), functionsDir);
    const modules: LoadedModules = loadModules(functions, globals, functionsDir);
    await runtime.executor.exclusive(() => {
      runtime.catalog.apply(
        tableSpecs(runtime.catalog, modules.schema),
        modules.schema?.schemaValidation === true,
      );
      runtime.modules = modules;
      this.authenticator.use(providers);
      for (const listener of runtime.listeners) listener.reloaded();
    });
  }

  private globals(env: Readonly<Record<string, string>>): Record<string, unknown> {
    const { clock, host } = this.runtime;
    return sandboxGlobals(syscallTable(this.runtime), clock, env, host);
  }

  /** `load`, while running: functions, schema and crons change together, or nothing does when they are refused. */
  async reload(): Promise<void> {
    await this.load();
    await this.runtime.crons.start();
  }

  query(path: string, args: JsonObject = {}, caller: Caller = SYSTEM_CALLER): Promise<CallResult> {
    return this.runtime.runQuery(path, args, caller);
  }

  mutation(path: string, args: JsonObject = {}, caller: Caller = SYSTEM_CALLER): Promise<CallResult> {
    return this.runtime.runMutation(path, args, caller);
  }

  action(path: string, args: JsonObject = {}, caller: Caller = SYSTEM_CALLER): Promise<CallResult> {
    return this.runtime.runAction(path, args, caller);
  }

  run(path: string, args: JsonObject, caller: Caller, kind: UdfType | null = null): Promise<CallResult> {
    return this.runtime.run(path, args, caller, kind);
  }

  /** Transactions, conflicts and flushes so far. */
  get counts(): Readonly<ExecutorCounts> {
    return this.runtime.executor.counts;
  }

  /** The newest commit timestamp, in nanoseconds. */
  get timestamp(): bigint {
    return this.runtime.executor.timestamp;
  }

  /** Reports a fault that no caller will see. */
  report(source: string, error: unknown): void {
    this.runtime.report(source, error);
  }

  /** When the next scheduled function or cron job is due. */
  async nextDueMs(): Promise<number | null> {
    const times = [await this.runtime.scheduler.nextDueMs(), await this.runtime.crons.nextDueMs()];
    const due = times.filter((time): time is number => time !== null);
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Resolves when nothing is running and nothing that is due is waiting. */
  async settled(): Promise<void> {
    const { scheduler, crons, clock, host } = this.runtime;
    for (;;) {
      const nextMs = await this.nextDueMs();
      if (!scheduler.busy && !crons.busy && (nextMs === null || nextMs > clock.nowMs())) return;
      await sleep(host, 1);
    }
  }

  /**
   * Copies the database into a new file. All that was answered before this was called is in the copy. Nobody waits for
   * it longer than for one of its steps. @throws StorageError
   */
  async backUp(file: string): Promise<void> {
    const { executor, storage, host } = this.runtime;
    let isMakingRoom = false;
    // Under load every step would meet an open transaction, for as long as the load lasts: the batch of one turn is
    // flushed in the next, and by then another one is open.
    const makeRoom = async (): Promise<void> => {
      if (isMakingRoom) return;
      isMakingRoom = true;
      await executor.exclusive(() => nextTurn(host));
      isMakingRoom = false;
    };
    let copied: Promise<void> | undefined;
    await executor.exclusive(
      () =>
        new Promise<void>((resolve, reject) => {
          copied = storage.copyTo(file, (isInTheWay) => {
            resolve();
            if (isInTheWay) void makeRoom();
          });
          copied.catch(reject);
        }),
    );
    await copied;
  }

  /** Ends after the transactions that already began; nothing scheduled starts any more. */
  async close(): Promise<void> {
    const { runtime } = this;
    runtime.scheduler.stop();
    runtime.crons.stop();
    runtime.timers.stop();
    await runtime.executor.close();
    runtime.stuck.stop();
    runtime.storage.close();
  }

  /**
   * What a kill leaves behind: what is not flushed is gone, and nothing that runs is waited for. Whatever of it goes
   * on finds the database closed, so a host that does this for a simulation gives it no more turns.
   */
  abandon(): void {
    const { runtime } = this;
    runtime.scheduler.stop();
    runtime.crons.stop();
    runtime.timers.stop();
    runtime.stuck.stop();
    runtime.storage.rollback();
    runtime.storage.close();
  }
}

export function createEngine(options: EngineOptions): Promise<Engine> {
  return Engine.create(options);
}

function makeExecutor(runtime: Runtime, options: EngineOptions, ids: InternalIds): Executor {
  const { storage, catalog, clock, random } = runtime;
  const host: TransactionHost = {
    storage,
    catalog,
    commitCount: () => executor.log.count,
    writtenSince: (count) => executor.log.since(count),
    nextInternalId: (nowMs) => ids.next(nowMs),
    ...(options.inject?.beforeWrite === undefined ? {} : { beforeWrite: options.inject.beforeWrite }),
  };
  const executor: Executor = new Executor({
    concurrency: options.concurrency ?? 1,
    host: runtime.host,
    storage,
    beginTransaction: () => new Transaction(host, clock.nowMs()),
    nowMs: () => clock.nowMs(),
    random: () => random.next(),
    onCommit: (written) => {
      if (written.has(-catalog.find(JOBS_TABLE)!.number)) runtime.scheduler.poke();
      for (const listener of runtime.listeners) listener.committed(written);
    },
    onFatal: (error) => {
      runtime.scheduler.stop();
      runtime.crons.stop();
      options.onFatal?.(error);
    },
    ...(options.inject?.conflict === undefined ? {} : { injectConflict: options.inject.conflict }),
  });
  storage.onReadFailure = (error) => executor.readFailed(error);
  return executor;
}

function tableSpecs(catalog: Catalog, schema: SchemaExport | null): TableSpec[] {
  return (schema?.tables ?? []).map((table) => {
    const rules = schema!.schemaValidation ? table.documentType : null;
    const check = rules === null ? null : compileDocumentValidator(rules);
    return {
      name: table.tableName,
      indexes: table.indexes.map((index) => ({ name: index.indexDescriptor, fields: index.fields })),
      rules: rules === null ? null : JSON.stringify(rules),
      checkDocument:
        check === null
          ? null
          : (document: JsonObject) => check(document, catalog.tableNameOf)?.message ?? null,
    };
  });
}

function secretsOf(env: Record<string, string>): string[] {
  return Object.entries(env)
    .filter(([name]) => /(SECRET|SECRETS|KEY|TOKEN|PASSWORD)$/.test(name))
    .flatMap(([, value]) => value.split(","))
    .filter((value) => value.length >= 8);
}
