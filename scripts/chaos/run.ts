// One run: a stack of its own, a load, kills, rest, comparison.
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Chance } from "../../lib/simulator/chance.ts";
import { ensureBuilt } from "../support/build.ts";
import { Children } from "../support/children.ts";
import { ROOT } from "../support/root.ts";
import type { Load } from "./client.ts";
import { followLinks } from "./clicks.ts";
import { compare } from "./compare.ts";
import { makeEvents } from "./events.ts";
import { runJobs } from "./jobs.ts";
import { emptyJournal } from "./journal.ts";
import { type Kill, killAndRestart } from "./killer.ts";
import { type Cast, openCast } from "./open.ts";
import { operate } from "./operator.ts";
import { type ChaosResult, countKinds, linesOf } from "./report.ts";
import { readRemains } from "./rows.ts";
import { settle } from "./settle.ts";
import { ChaosStack, PARTS } from "./stack.ts";
import { openWire } from "./wire.ts";
import { Workers } from "./workers.ts";

/** So many of each at a time: enough that a kill meets something, little enough for two cores. */
const LANES = { jobs: 10, clicks: 6, events: 1, operator: 2, workers: 2 } as const;
const CONNECTIONS = 32;
const ANSWER_TIMEOUT_MS = 10_000;

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** Leaves the data folder when nothing is wrong, too. */
  readonly keepsData: boolean;
  /** A line for the person who watches. */
  readonly say: (line: string) => void;
}

/** Throws CliError when the stack does not start, does not start again, or a part of it ends by itself. */
export async function runChaos({ kills, seed, keepsData, say }: ChaosOptions): Promise<ChaosResult> {
  await ensureBuilt(ROOT, new Children(ROOT));
  const dataDir = mkdtempSync(join(tmpdir(), "holdfast-chaos-"));
  const stack = await ChaosStack.prepare(dataDir);
  let isKept = true;
  const onSignal = (): void => {
    void stack.kill(PARTS).then(() => {
      rmSync(dataDir, { recursive: true, force: true });
      process.exit(130);
    });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onSignal);
  try {
    stack.start(PARTS);
    await stack.ready(PARTS);
    const cast = await openCast(stack);
    const startedMs = performance.now();
    const { journal, done, cutOff } = await hammer(stack, cast, { kills, seed, say });
    say("the load has ended; waiting until nothing is under way");
    const lastWords = await settle(stack, cast);
    const seconds = (performance.now() - startedMs) / 1_000;
    await stack.stop();
    const remains = readRemains(dataDir);
    const findings = compare(journal, remains, lastWords);
    isKept = keepsData || findings.length > 0;
    if (isKept) writeFileSync(join(dataDir, "journal.json"), JSON.stringify(journal, journalValue, 2));
    return {
      seed,
      kills: done.length,
      killsByKind: countKinds(done),
      processesKilled: done.reduce((sum, { processes }) => sum + processes, 0),
      seconds: Math.round(seconds),
      cutOff,
      lines: linesOf(journal, remains.provider, findings),
      findings,
    };
  } finally {
    await stack.stop();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, onSignal);
    if (isKept) console.error(`the data of the run is in ${dataDir}`);
    else rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The load and the kills, until the kills are done and the load has ended what it began. */
async function hammer(stack: ChaosStack, cast: Cast, { kills, seed, say }: Omit<ChaosOptions, "keepsData">) {
  const chance = new Chance(seed);
  const stopping = new AbortController();
  // Every lane listens to it.
  setMaxListeners(0, stopping.signal);
  const journal = emptyJournal();
  const wire = openWire(CONNECTIONS, ANSWER_TIMEOUT_MS);
  const load: Load = { apiUrl: `${stack.url}/api/v1`, wire, journal, stopping: stopping.signal };
  const workers = new Workers();
  const lanes = startLanes(load, chance, cast, stack, workers);
  let done: readonly Kill[] = [];
  try {
    done = await killAndRestart({
      stack,
      chance: chance.fork("kills"),
      kills,
      killWorker: (by) => workers.killOne(by),
      onKill: (number, { kind }) => say(`kill ${number} of ${kills}: ${kind}`),
    });
  } finally {
    stopping.abort();
    await Promise.all(lanes);
    wire.close();
  }
  return { journal, done, cutOff: wire.cutOff() };
}

function startLanes(
  load: Load,
  chance: Chance,
  cast: Cast,
  { kindeUrl, secrets, url }: ChaosStack,
  workers: Workers,
): Promise<void>[] {
  const { customers } = cast;
  const control = { url: kindeUrl, key: secrets.kindeControlKey };
  const many = (name: keyof typeof LANES, run: (by: Chance, lane: number) => Promise<void>) =>
    Array.from({ length: LANES[name] }, (_, lane) => run(chance.fork(`${name} ${lane}`), lane));
  return [
    ...many("jobs", (by, lane) => runJobs(load, by, lane, customers)),
    ...many("clicks", (by, lane) => followLinks(load, by, lane, customers)),
    ...many("events", (by) => makeEvents(load, by, cast, control)),
    ...many("operator", (by) => operate(load, by, cast, secrets.operatorKey)),
    ...many("workers", (by, lane) => workers.run(load, by, lane, customers, url)),
  ];
}

function journalValue(_: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}
