/** Seeds, one after the other or several at once in processes of their own. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { buildFunctions } from "../../lib/local-convex/bundle.ts";
import { type Outcome, simulate } from "../../lib/simulator/run.ts";
import { makeSteps } from "../../lib/simulator/steps.ts";
import type { Functions } from "../../lib/simulator/world.ts";

/** What a worker tells of a run: all of an outcome that is a number or a text. */
export interface Summary extends Omit<Outcome, "violation" | "trace"> {
  readonly failure: string | null;
}

export function summaryOf({ violation, trace: _trace, ...numbers }: Outcome): Summary {
  return { ...numbers, failure: violation === null ? null : violation.message };
}

const functionsDir = join(import.meta.dirname, "../../convex");

/** The product's own functions, built once for all seeds of a process. */
export async function builtFunctions(): Promise<Functions> {
  return { functionsDir, build: await buildFunctions(functionsDir) };
}

/** Runs what `next` gives until it gives null. A seed goes the same way in whatever process it runs. */
export async function runInWorkers(
  workers: number,
  steps: number,
  next: () => number | null,
  onEnd: (summary: Summary, realMs: number) => void,
): Promise<void> {
  const work = async (): Promise<void> => {
    const worker = fork(join(import.meta.dirname, "worker.ts"), [String(steps)]);
    try {
      const ended = once(worker, "exit").then(() => null);
      for (let seed = next(); seed !== null; seed = next()) {
        const startMs = performance.now();
        worker.send(seed);
        const answer = await Promise.race([once(worker, "message"), ended]);
        if (answer === null) throw new Error(`the worker of seed ${seed} ended before the seed did`);
        onEnd(answer[0] as Summary, performance.now() - startMs);
      }
    } finally {
      worker.kill();
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

export async function runSeed(seed: number, steps: number, functions: Functions): Promise<Summary> {
  return summaryOf(await simulate(seed, makeSteps(seed, steps), functions));
}
