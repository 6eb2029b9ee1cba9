/** Everything of one run, put together: the engine, our server, the provider, what goes wrong and what is checked. */
import { rmSync } from "node:fs";
import { join } from "node:path";

import type { FunctionsBuild } from "../local-convex/bundle.ts";
import { Chance } from "./chance.ts";
import { Checks } from "./checks.ts";
import { Courier } from "./courier.ts";
import { Deployment } from "./deployment.ts";
import { CALM, type Faults, TROUBLE } from "./faults.ts";
import type { Change } from "./mirror.ts";
import { Provider } from "./provider.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { OPERATOR_KEY_HASH, Server, SERVER_SECRET } from "./server.ts";
import { SimClock } from "./sim-clock.ts";
import { Trace } from "./trace.ts";
import { Turns } from "./turns.ts";
import { wireTo } from "./wire.ts";

/** Some minutes before a month ends, so that cycles and periods roll over while things happen. */
const START_MS = Date.UTC(2026, 9, 31, 23, 57);
const CONCURRENCY = 6;

/** Crons write to these all the time; a trace with them has little else in it. */
const QUIET_TABLES = new Set(["_cron_state", "runs", "providerTokens"]);

/** The functions to run, built once for all seeds. */
export interface Functions {
  readonly functionsDir: string;
  readonly build: FunctionsBuild;
}

export class World {
  readonly chance: Chance;
  readonly turns: Turns;
  readonly clock: SimClock;
  readonly trace: Trace;
  readonly faults: Faults = { ...CALM };
  readonly checks: Checks;
  readonly deployment: Deployment;
  readonly server: Server;
  readonly provider: Provider;
  readonly courier: Courier;
  /** The first thing that was never to be. */
  violation: Error | null = null;
  private readonly folder = scratchFolder();

  constructor(seed: number, functions: Functions) {
    this.chance = new Chance(seed);
    this.turns = new Turns(this.chance.fork("turns"));
    this.clock = new SimClock(this.turns, START_MS);
    this.trace = new Trace(() => this.turns.elapsedMs);
    this.checks = new Checks(
      {
        hasTold: (id, ...total) => this.provider.find(id) && this.provider.hasTold(id, ...total),
        hasHad: (id, ...total) => this.provider.find(id) && this.provider.hasHad(id, ...total),
      },
      () => this.clock.nowMs(),
      (violation) => this.fail(violation),
    );
    // A clock of ours that is set back is ours alone: the provider's never goes back.
    let providerMs = 0;
    this.provider = new Provider(
      () => (providerMs = Math.max(providerMs, this.clock.nowMs())),
      this.chance.fork("provider"),
      (event) => this.courier.send(event),
    );
    this.deployment = new Deployment({
      ...functions,
      turns: this.turns,
      clock: this.clock,
      trace: this.trace,
      chance: this.chance.fork("engine"),
      dataFile: join(this.folder, "data.sqlite"),
      env: {
        HOLDFAST_SERVER_SECRETS: SERVER_SECRET,
        HOLDFAST_OPERATOR_KEY_HASH: OPERATOR_KEY_HASH,
        HOLDFAST_SHORT_URL: "https://hold.example",
        KINDE_ISSUER_URL: "https://provider.simulated",
        KINDE_M2M_CLIENT_ID: "machine",
        KINDE_M2M_CLIENT_SECRET: "s".repeat(40),
      },
      concurrency: CONCURRENCY,
      fetch: wireTo({
        provider: this.provider,
        machine: this.turns.machine(),
        faults: this.faults,
        chance: this.chance.fork("way to the provider"),
        trace: this.trace,
      }),
      faults: this.faults,
      onOpen: (engine) => this.checks.opened(engine),
      onCommit: (engine, written) => this.noteCommit(this.checks.committed(engine, written)),
    });
    this.server = new Server(
      this.turns.machine(),
      this.deployment,
      this.faults,
      this.chance.fork("wire"),
      () => this.clock.nowMs(),
    );
    this.courier = new Courier(
      this.server,
      this.faults,
      this.chance.fork("courier"),
      this.checks,
      this.trace,
      (error) => this.fail(error),
    );
  }

  /** Runs `work` inside the world until it ends or something is found wrong. */
  async run(work: () => Promise<void>): Promise<void> {
    let isDone = false;
    const done = work()
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        isDone = true;
      });
    await this.turns.drive(() => isDone || this.violation !== null);
    if (this.violation === null) await done;
  }

  fail(error: unknown): void {
    if (this.violation !== null) return;
    this.violation = error instanceof Error ? error : new Error(String(error));
    this.trace.note(`VIOLATION ${this.violation.message}`);
  }

  startTrouble(): void {
    Object.assign(this.faults, TROUBLE);
  }

  endTrouble(): void {
    Object.assign(this.faults, CALM);
  }

  close(): void {
    this.deployment.crash();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private noteCommit(changes: readonly Change[]): void {
    const tables = new Map<string, number>();
    for (const { table } of changes) {
      if (!QUIET_TABLES.has(table)) tables.set(table, (tables.get(table) ?? 0) + 1);
    }
    if (tables.size === 0) return;
    this.trace.note(`commit ${[...tables].map(([table, count]) => `${table}:${count}`).join(" ")}`);
  }
}
