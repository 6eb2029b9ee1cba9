/** Everything of one run, put together: the engine, our server, the provider, what goes wrong and what is checked. */
import { rmSync } from "node:fs";
import { join } from "node:path";

import type { FunctionsBuild } from "../local-convex/bundle.ts";
import { Chance } from "./chance.ts";
import { Checks } from "./checks.ts";
import { Deployment } from "./deployment.ts";
import { CALM, type Faults, TROUBLE } from "./faults.ts";
import type { Change } from "./mirror.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { OPERATOR_KEY_HASH, Server, SERVER_SECRET } from "./server.ts";
import { SimClock } from "./sim-clock.ts";
import { Trace } from "./trace.ts";
import { Turns } from "./turns.ts";

/** Some minutes before a month ends, so that cycles and periods roll over while things happen. */
const START_MS = Date.UTC(2026, 9, 31, 23, 57);
const CONCURRENCY = 6;

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
  /** The first thing that was never to be. */
  violation: Error | null = null;
  private readonly folder = scratchFolder();

  constructor(seed: number, functions: Functions) {
    this.chance = new Chance(seed);
    this.turns = new Turns(this.chance.fork("turns"));
    this.clock = new SimClock(this.turns, START_MS);
    this.trace = new Trace(() => this.turns.elapsedMs);
    this.checks = new Checks((violation) => this.fail(violation));
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
        KINDE_ISSUER_URL: "http://provider.simulated",
        KINDE_M2M_CLIENT_ID: "machine",
        KINDE_M2M_CLIENT_SECRET: "s".repeat(40),
      },
      concurrency: CONCURRENCY,
      fetch,
      faults: this.faults,
      onOpen: (engine) => this.checks.opened(engine),
      onCommit: (engine, written) => this.noteCommit(this.checks.committed(engine, written)),
    });
    this.server = new Server(this.turns.machine(), this.deployment, this.faults, this.chance.fork("wire"));
  }

  /** Runs `work` inside the world until it ends or something is found wrong. */
  async run(work: () => Promise<void>): Promise<void> {
    let isDone = false;
    const done = work()
      .catch((error: unknown) => this.fail(error instanceof Error ? error : new Error(String(error))))
      .finally(() => {
        isDone = true;
      });
    await this.turns.drive(() => isDone || this.violation !== null);
    if (this.violation === null) await done;
  }

  fail(error: Error): void {
    if (this.violation !== null) return;
    this.violation = error;
    this.trace.note(`VIOLATION ${error.message}`);
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
    for (const { table } of changes) tables.set(table, (tables.get(table) ?? 0) + 1);
    this.trace.note(`commit ${[...tables].map(([table, count]) => `${table}:${count}`).join(" ")}`);
  }
}
