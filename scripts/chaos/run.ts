// One run: a stack of its own, a load, kills, rest, comparison.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Chance } from "../../lib/simulator/chance.ts";
import { ensureBuilt } from "../support/build.ts";
import { Children } from "../support/children.ts";
import { ROOT } from "../support/root.ts";
import type { Load } from "./client.ts";
import { compare } from "./compare.ts";
import type { Finding } from "./findings.ts";
import { runJobs } from "./jobs.ts";
import { emptyJournal } from "./journal.ts";
import { killAndRestart } from "./killer.ts";
import { openCast } from "./open.ts";
import { readRemains } from "./rows.ts";
import { settle } from "./settle.ts";
import { ChaosStack, PARTS } from "./stack.ts";
import { openWire } from "./wire.ts";

const JOB_LANES = 4;
const CONNECTIONS = 32;
const ANSWER_TIMEOUT_MS = 10_000;

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  readonly keepsData: boolean;
  readonly say: (line: string) => void;
}

export interface ChaosResult {
  readonly seed: number;
  readonly kills: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
}

export async function runChaos({ kills, seed, keepsData, say }: ChaosOptions): Promise<ChaosResult> {
  await ensureBuilt(ROOT, new Children(ROOT));
  const dataDir = mkdtempSync(join(tmpdir(), "holdfast-chaos-"));
  const stack = await ChaosStack.prepare(dataDir);
  let keeps = true;
  try {
    stack.start(PARTS);
    await stack.ready(PARTS);
    const cast = await openCast(stack);
    const stopping = new AbortController();
    const wire = openWire(CONNECTIONS, ANSWER_TIMEOUT_MS);
    const journal = emptyJournal();
    const load: Load = { apiUrl: `${stack.url}/api/v1`, wire, journal, stopping: stopping.signal };
    const chance = new Chance(seed);
    const lanes = Array.from({ length: JOB_LANES }, (_, lane) =>
      runJobs(load, chance.fork(`jobs ${lane}`), lane, cast.customers),
    );
    const counts = await killAndRestart({
      stack,
      chance: chance.fork("kills"),
      kills,
      killWorker: () => null,
      onKill: (number, kind, downMs) =>
        say(`kill ${number}: ${kind}, up again after ${Math.round(downMs)} ms`),
    });
    stopping.abort();
    await Promise.all(lanes);
    wire.close();
    say("the load has ended; waits for rest");
    const lastWords = await settle(stack, cast);
    await stack.stop();
    const findings = [...compare(journal, readRemains(dataDir))];
    say(JSON.stringify(lastWords));
    say(`${journal.jobs.length} jobs`);
    keeps = keepsData || findings.length > 0;
    return { seed, kills: Object.fromEntries(counts), findings };
  } finally {
    await stack.stop();
    if (keeps) console.error(`the data folder is left in ${dataDir}`);
    else rmSync(dataDir, { recursive: true, force: true });
  }
}
