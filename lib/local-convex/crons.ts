/**
 * Runs cron jobs. A job keeps its next due time over restarts and pushes while its spec is unchanged; one run
 * at a time; a run that was due while another ran, or while the engine was down, happens once, not many times.
 */
import type { CronSpec } from "./modules.ts";
import { nextRunMs, type CronSchedule } from "./cron-schedule.ts";
import { SYSTEM_CALLER } from "./invocation.ts";
import type { Runtime } from "./runtime.ts";
import { indexSource, type Transaction } from "./transaction.ts";
import type { JsonObject } from "./values/json.ts";
import { encodeKeyPart } from "./values/order-key.ts";

const TABLE = "_cron_state";

interface CronState {
  internalId: string;
  document: JsonObject;
  spec: string;
  dueMs: number;
}

export class Crons {
  private readonly running = new Set<string>();
  private stopped = true;

  constructor(private readonly runtime: Runtime) {}

  /** Brings the stored state in line with the loaded specs and sets the alarms; again after every reload. */
  async start(): Promise<void> {
    this.stopped = false;
    await this.removeUnknown();
    for (const spec of this.runtime.modules.crons) this.arm(spec, await this.ensure(spec));
  }

  stop(): void {
    this.stopped = true;
  }

  get busy(): boolean {
    return this.running.size > 0;
  }

  /** The earliest due time of all crons, null when there are none. */
  async nextDueMs(): Promise<number | null> {
    const due = await Promise.all(this.runtime.modules.crons.map((spec) => this.readDueMs(spec.name)));
    const times = due.filter((time): time is number => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  private arm(spec: CronSpec, dueMs: number): void {
    const alarm = `cron ${spec.name}`;
    this.runtime.timers.clear(alarm);
    this.runtime.timers.set(alarm, dueMs, () => void this.fire(spec.name, dueMs));
  }

  private async fire(name: string, dueMs: number): Promise<void> {
    const spec = this.find(name);
    if (this.stopped || spec === null || this.running.has(name)) return;
    this.running.add(name);
    try {
      await this.run(spec);
    } catch (error) {
      if (!this.stopped) this.runtime.report(`cron ${name}`, error);
    }
    try {
      await this.armNext(name, dueMs);
    } catch (error) {
      if (!this.stopped) this.runtime.report(`cron ${name}`, error);
    } finally {
      this.running.delete(name);
    }
  }

  /** The due time moves on with a mutation's own commit, and before an action starts: a crash repeats neither. */
  private async run(spec: CronSpec): Promise<void> {
    const { runtime } = this;
    if (runtime.modules.functions.get(spec.functionPath)?.kind === "action") {
      await runtime.executor.mutation(async (tx) => this.moveOn(tx, spec));
      await runtime.runAction(spec.functionPath, spec.args, SYSTEM_CALLER);
      return;
    }
    await runtime.runMutation(spec.functionPath, spec.args, SYSTEM_CALLER, {
      retriesMax: Infinity,
      after: async (tx) => void this.moveOn(tx, spec),
    });
  }

  /** Sets the next alarm; what became due while the job ran, or the run that failed, is skipped. */
  private async armNext(name: string, firedDueMs: number): Promise<void> {
    const spec = this.find(name);
    if (this.stopped || spec === null) return;
    const { executor, clock } = this.runtime;
    const moved = await executor.mutation(async (tx) => {
      const state = this.read(tx, name);
      if (state === null) return null;
      return state.dueMs < clock.nowMs() || state.dueMs === firedDueMs ? this.moveOn(tx, spec) : state.dueMs;
    });
    if (moved.value !== null) this.arm(spec, moved.value);
  }

  private moveOn(tx: Transaction, spec: CronSpec): number {
    const state = this.read(tx, spec.name)!;
    const dueMs = nextRunMs(spec.schedule, state.dueMs, this.runtime.clock.nowMs(), seedOf(spec.name));
    this.write(tx, state, spec, dueMs);
    return dueMs;
  }

  private find(name: string): CronSpec | null {
    return this.runtime.modules.crons.find((spec) => spec.name === name) ?? null;
  }

  private async ensure(spec: CronSpec): Promise<number> {
    const { executor, clock } = this.runtime;
    const ensured = await executor.mutation(async (tx) => {
      const state = this.read(tx, spec.name);
      if (state !== null && state.spec === specText(spec)) return state.dueMs;
      const dueMs = nextRunMs(spec.schedule, null, clock.nowMs(), seedOf(spec.name));
      this.write(tx, state, spec, dueMs);
      return dueMs;
    });
    return ensured.value;
  }

  private async removeUnknown(): Promise<void> {
    const known = new Set(this.runtime.modules.crons.map((spec) => spec.name));
    await this.runtime.executor.mutation(async (tx) => {
      for (const [key, text] of tx.page(this.source(), "", null, "asc", 1_000).rows) {
        const document = JSON.parse(text) as JsonObject;
        if (known.has(document["name"] as string)) continue;
        this.runtime.timers.clear(`cron ${document["name"] as string}`);
        tx.update(this.source().table, key.slice(-16), document, null);
      }
    });
  }

  private async readDueMs(name: string): Promise<number | null> {
    const read = await this.runtime.executor.query(async (tx) => this.read(tx, name)?.dueMs ?? null);
    return read.value;
  }

  private read(tx: Transaction, name: string): CronState | null {
    const prefix = encodeKeyPart(name);
    const [row] = tx.page(this.source(), prefix, `${prefix}\xff`, "asc", 1).rows;
    if (row === undefined) return null;
    const document = JSON.parse(row[1]) as JsonObject;
    return {
      internalId: row[0].slice(-16),
      document,
      spec: document["spec"] as string,
      dueMs: document["dueMs"] as number,
    };
  }

  private write(tx: Transaction, state: CronState | null, spec: CronSpec, dueMs: number): void {
    const fields = { name: spec.name, spec: specText(spec), dueMs };
    if (state === null) tx.insert(this.source().table, fields);
    else tx.update(this.source().table, state.internalId, state.document, { ...state.document, ...fields });
  }

  private source() {
    const table = this.runtime.catalog.find(TABLE)!;
    return indexSource(table, table.indexes[0]!);
  }
}

function specText(spec: CronSpec): string {
  const { functionPath, args, schedule }: { functionPath: string; args: JsonObject; schedule: CronSchedule } =
    spec;
  return JSON.stringify([functionPath, args, schedule]);
}

/** A stable number per cron name: the delay within a minute or hour that keeps jobs from starting together. */
function seedOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}
