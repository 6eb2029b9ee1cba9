// One soak: rounds of work, jumps of time between them, looks at what grows, and the books once everything is at rest.
import { setTimeout as sleep } from "node:timers/promises";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";
import { stampNow } from "../bench/results.ts";
import { type ApiClient, createApiClient, mustCall } from "../support/api-client.mjs";
import { CliError } from "../support/cli.mjs";
import { callAsOperator } from "../support/convex-call.ts";
import { progressBar } from "../support/progress.mjs";
import { openSecrets } from "../support/secrets.ts";
import { median, rounded } from "../support/statistics.mjs";
import type { TempStack } from "../support/temp-stack.ts";
import { faultsOf, readBooks } from "./books.ts";
import { changePlan, openTenants, type Tenant } from "./customers.ts";
import { growthOf, type Sample } from "./growth.ts";
import { Load } from "./load.ts";
import { Pace } from "./pace.ts";
import type { SoakResult } from "./report.ts";
import { countRows, overdueMs, withCopies } from "./rows.ts";
import { measureFiles, measureProcesses, type Processes, processesOf } from "./watch.ts";

const ROUND_MS = SECOND_MS;
const LOOK_EVERY_MS = 10 * SECOND_MS;
/** A copy of the database for each count of its rows: not at every look. */
const COUNT_EVERY_LOOKS = 3;
const TELL_EVERY_LOOKS = 6;
const PLAN_CHANGE_EVERY_ROUNDS = 40;
const LAB_EVERY_ROUNDS = 30;
const COUNT = { customers: 3, fixed: 2 };
const LAB = { jobs: 3, units: 40, limitUnits: 80, steps: 2, stepMs: 20 };
/** Rows go with the run of the worker that follows, an hour and a jump later at most; more is a fault. */
const LATE_ROWS_MS = 2 * HOUR_MS;
/** Until waits after failures are over, and nothing is left to send. */
const REST_JUMP_MS = 20 * MINUTE_MS;
const REST_ROUNDS = 3;
const REST_MS = 2 * SECOND_MS;
const DRAIN_LOOK_MS = 100;
const DRAIN_MS_MAX = MINUTE_MS;

const HEALTH = "answer of /api/health, ms";

export class Soak {
  private readonly client: ApiClient;
  private readonly pace: Pace;
  private readonly processes: Processes;
  private readonly samples: Sample[] = [];
  private readonly overdueMs: Record<string, number> = {};
  private readonly startedMs = performance.now();
  private rounds = 0;
  private longestJumpMs = 0;

  constructor(
    private readonly stack: TempStack,
    private readonly dataDir: string,
    private readonly options: { readonly minutes: number; readonly scale: number },
  ) {
    // Every call has a key, or does the same when it is done again.
    const patience = { timeoutMs: 60_000, retrySeconds: 60 };
    this.client = createApiClient({ url: stack.url, connections: 8, ...patience });
    this.pace = new Pace(dataDir);
    this.processes = processesOf(stack.pid);
  }

  async run(): Promise<SoakResult> {
    const tenants = await openTenants(this.stack, this.client, COUNT);
    const load = new Load(this.stack, this.client, tenants);
    const fromMs = this.pace.nowMs();
    try {
      await this.work(load, tenants);
      await this.rest();
      await this.look(true);
      const { budgets, repaired } = await this.operate("/ops/audit", {});
      const books = await withCopies(this.dataDir, readBooks);
      load.end();
      const { answered } = load;
      const growth = growthOf(this.samples);
      const faults = [
        ...faultsOf(books, answered),
        ...growth.filter(({ isLeak }) => isLeak).map(({ name, rule }) => `${name} grew: ${rule}`),
        ...Object.entries(this.overdueMs)
          .filter(([, ms]) => ms > LATE_ROWS_MS + this.longestJumpMs)
          .map(([table, ms]) => `${table}: a row stayed ${rounded(ms / HOUR_MS)} hours beyond its time`),
        ...(repaired === 0 ? [] : [`the audit repaired ${Number(repaired)} budgets`]),
        ...(answered.failed === 0 ? [] : [`${answered.failed} calls failed`]),
      ];
      const health = this.samples.map(({ values }) => values[HEALTH]!);
      const quarter = Math.max(1, Math.floor(health.length / 4));
      return {
        ...stampNow(),
        minutes: this.realMs / MINUTE_MS,
        days: (this.pace.nowMs() - fromMs) / DAY_MS,
        scale: this.options.scale,
        rounds: this.rounds,
        answered,
        meters: books.meters.length,
        reviewedMeters: books.meters.filter(({ isReviewed }) => isReviewed).length,
        reviews: books.reviews,
        budgets: Number(budgets),
        growth: growth.filter(({ name }) => name !== HEALTH),
        overdueHours: Object.fromEntries(
          Object.entries(this.overdueMs).map(([table, ms]) => [table, ms / HOUR_MS]),
        ),
        answerMs: { first: median(health.slice(0, quarter)), last: median(health.slice(-quarter)) },
        faults,
      };
    } finally {
      this.client.close();
    }
  }

  private get realMs(): number {
    return performance.now() - this.startedMs;
  }

  /** As far as the scale asks for after so much real time. */
  private jumpMs(realMs: number): number {
    return (this.options.scale - 1) * realMs;
  }

  private async work(load: Load, tenants: readonly Tenant[]): Promise<void> {
    const endMs = this.options.minutes * MINUTE_MS;
    const bar = progressBar(this.options.minutes * 60);
    let ends = await this.cycleEnds(tenants);
    let lookDueMs = 0;
    while (this.realMs < endMs) {
      const roundMs = performance.now();
      if (this.realMs >= lookDueMs) {
        await this.look(this.samples.length % COUNT_EVERY_LOOKS === 0);
        lookDueMs += LOOK_EVERY_MS;
        if (this.samples.length % TELL_EVERY_LOOKS === 0) this.tell(load);
      }
      await load.round(this.rounds, this.pace.nowMs());
      if (this.rounds % LAB_EVERY_ROUNDS === 0) await this.startLabs();
      if (this.rounds % PLAN_CHANGE_EVERY_ROUNDS === PLAN_CHANGE_EVERY_ROUNDS - 1)
        await this.changePlans(tenants);
      this.rounds += 1;
      bar.show(Math.round(this.realMs / SECOND_MS), new Date(this.pace.nowMs()).toISOString());
      await sleep(Math.max(0, ROUND_MS - (performance.now() - roundMs)));
      const jumpMs = this.jumpMs(performance.now() - roundMs);
      if (this.pace.nowMs() + jumpMs < ends.firstMs - MINUTE_MS * 5) {
        this.longestJumpMs = Math.max(this.longestJumpMs, jumpMs);
        await this.pace.jump(jumpMs);
        continue;
      }
      await this.operate("/ops/report", {});
      await this.pace.passEnds(ends.firstMs, ends.lastMs);
      ends = await this.cycleEnds(tenants);
    }
    bar.clear();
  }

  private async cycleEnds(tenants: readonly Tenant[]): Promise<{ firstMs: number; lastMs: number }> {
    const ends: number[] = [];
    for (const { token } of tenants) {
      const { cycle } = await mustCall(this.client, { method: "GET", path: "/usage", token });
      ends.push((cycle as { endMs: number }).endMs);
    }
    return { firstMs: Math.min(...ends), lastMs: Math.max(...ends) };
  }

  /** A meter takes no more once its agreement has ended, so what belongs to it is sent before. */
  private async changePlans(tenants: readonly Tenant[]): Promise<void> {
    await this.drained();
    await this.operate("/ops/report", {});
    for (const [index, tenant] of tenants.entries())
      await changePlan(this.stack, tenant, this.rounds + index);
    await sleep(REST_MS);
  }

  private async startLabs(): Promise<void> {
    const secrets = openSecrets(this.dataDir);
    const signal = AbortSignal.timeout(MINUTE_MS);
    await callAsOperator(this.stack.convexUrl, "mutation", "lab:start", LAB, secrets, signal);
    await callAsOperator(this.stack.convexUrl, "mutation", "engineRoom:start", {}, secrets, signal);
  }

  /** Until the ledger has every click that was answered. */
  private async drained(): Promise<void> {
    for (let waitedMs = 0; measureFiles(this.dataDir)["spool segments"] !== 0; waitedMs += DRAIN_LOOK_MS) {
      if (waitedMs > DRAIN_MS_MAX)
        throw new CliError("the ledger does not take the clicks that were answered");
      await sleep(DRAIN_LOOK_MS);
    }
  }

  /** Everything that waits for a time has its turn. */
  private async rest(): Promise<void> {
    await this.drained();
    for (let round = 0; round < REST_ROUNDS; round += 1) {
      await this.pace.jump(REST_JUMP_MS);
      await sleep(REST_MS);
      await this.operate("/ops/report", {});
    }
    await this.operate("/ops/reconcile", {});
    await sleep(REST_MS);
  }

  private async operate(path: string, body: object): Promise<Record<string, unknown>> {
    const token = this.stack.operatorKey;
    return (await mustCall(this.client, { method: "POST", path, token, body })) as Record<string, unknown>;
  }

  private tell({ answered }: Load): void {
    const { values = {} } = this.samples.at(-1) ?? {};
    const megabytes = (name: string) => `${Math.round(values[name] ?? 0)} MB`;
    const memory = Object.keys(this.processes).map((name) => `${name} ${megabytes(`memory of ${name}, MB`)}`);
    const day = new Date(this.pace.nowMs()).toISOString().slice(0, 10);
    const work = `${answered.jobs} jobs, ${answered.clicks} clicks, database ${megabytes("database, MB")}`;
    console.log(`${Math.round(this.realMs / MINUTE_MS)} min, ${day}: ${work}; ${memory.join(", ")}`);
  }

  private async look(withRows: boolean): Promise<void> {
    const askedMs = performance.now();
    await (await fetch(`${this.stack.url}/api/health`)).arrayBuffer();
    const values: Record<string, number> = { [HEALTH]: performance.now() - askedMs };
    Object.assign(values, measureProcesses(this.processes), measureFiles(this.dataDir));
    if (withRows) {
      await withCopies(this.dataDir, (copies) => {
        Object.assign(values, countRows(copies));
        for (const [table, ms] of Object.entries(overdueMs(copies, this.pace.nowMs()))) {
          this.overdueMs[table] = Math.max(this.overdueMs[table] ?? -Infinity, ms);
        }
      });
    }
    this.samples.push({ atSeconds: Math.round(this.realMs / SECOND_MS), values });
  }
}
