/**
 * Runs the product in a simulated world, one seed after the other, and checks at every commit what is never to be true.
 * A seed that fails is shrunk to the steps that matter, and printed with the command that repeats it.
 *
 *   npm run simulate -- --seed 7 [--steps 300] [--only 3,17-20] [--trace 200]
 *   npm run simulate -- --seeds 1..50 [--steps 300] [--keep-going]
 */
import { join } from "node:path";
import { parseArgs } from "node:util";

import { buildFunctions } from "../lib/local-convex/bundle.ts";
import { ruleOf, simulate, type Outcome } from "../lib/simulator/run.ts";
import { removeLeftovers } from "../lib/simulator/scratch-folder.ts";
import { shrink } from "../lib/simulator/shrink.ts";
import { makeSteps, type Step } from "../lib/simulator/steps.ts";
import type { Functions } from "../lib/simulator/world.ts";

const STEPS_DEFAULT = 300;
/** Longest time that shrinking takes. */
const SHRINK_MS_MAX = 120_000;
const TRACE_LINES = 80;
const LISTED_MAX = 60;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    steps: { type: "string", default: String(STEPS_DEFAULT) },
    only: { type: "string" },
    trace: { type: "string" },
    "keep-going": { type: "boolean", default: false },
    "no-shrink": { type: "boolean", default: false },
  },
});

removeLeftovers();
const count = wholeNumber("--steps", values.steps);
const functionsDir = join(import.meta.dirname, "../convex");
const functions: Functions = { functionsDir, build: await buildFunctions(functionsDir) };

let [clean, failed, stepsRun] = [0, 0, 0];
for (const seed of seedsOf(values)) {
  const startMs = performance.now();
  const steps = stepsOf(seed);
  const outcome = await simulate(seed, steps, functions);
  stepsRun += outcome.begun;
  if (values.trace !== undefined) {
    console.log(outcome.trace.slice(-wholeNumber("--trace", values.trace)).join("\n"));
  }
  console.log(line(outcome, performance.now() - startMs));
  if (outcome.violation === null) clean += 1;
  else {
    failed += 1;
    await explain(outcome, steps, outcome.violation);
    if (!values["keep-going"]) break;
  }
}
console.log(`${clean} seeds clean, ${stepsRun} steps${failed === 0 ? "" : `, ${failed} seeds failed`}`);
process.exitCode = failed === 0 ? 0 : 1;

function line(outcome: Outcome, realMs: number): string {
  const { seed, violation, begun, commits, conflicts, crashes, virtualMs, digest } = outcome;
  const numbers = `${begun} steps, ${commits} commits, ${conflicts} conflicts, ${crashes} crashes`;
  const time = `${Math.round(virtualMs / 1_000)} s simulated in ${(realMs / 1_000).toFixed(1)} s`;
  return `seed ${seed} ${violation === null ? "clean" : "FAILED"}: ${numbers}, ${time}, ${digest.slice(0, 12)}`;
}

/** Shrinks a failure and prints what is left of it. */
async function explain(outcome: Outcome, steps: readonly Step[], violation: Error): Promise<void> {
  const { seed } = outcome;
  console.log(`\n${violation.stack ?? violation.message}\n`);
  let kept: readonly Step[] = steps.slice(0, outcome.begun);
  let shown = outcome;
  if (!values["no-shrink"]) {
    const untilMs = performance.now() + SHRINK_MS_MAX;
    const fails = async (tried: readonly Step[]): Promise<boolean> => {
      const again = await simulate(seed, tried, functions);
      if (again.violation === null || ruleOf(again.violation) !== ruleOf(violation)) return false;
      shown = again;
      return true;
    };
    kept = await shrink(kept, fails, () => performance.now() < untilMs);
  }
  console.log(shown.trace.slice(-TRACE_LINES).join("\n"));
  if (kept.length <= LISTED_MAX) {
    console.log(`\nsteps that matter: ${kept.map(({ number, what }) => `${number} ${what}`).join(", ")}`);
  }
  const only = values.only === undefined && kept.length === count ? "" : ` --only ${rangesOf(kept)}`;
  console.log(`npm run simulate -- --seed ${seed} --steps ${count}${only}\n`);
}

function stepsOf(seed: number): Step[] {
  const steps = makeSteps(seed, count);
  if (values.only === undefined) return steps;
  const kept = new Set(values.only.split(",").flatMap((range) => numbersOf("--only", range, "-")));
  return steps.filter(({ number }) => kept.has(number));
}

function seedsOf({ seed, seeds }: { seed?: string; seeds?: string }): number[] {
  if (seeds === undefined) return [wholeNumber("--seed", seed ?? "1")];
  return numbersOf("--seeds", seeds, "..");
}

/** The numbers of "7" or, with ".." between them, of "1..50". */
function numbersOf(name: string, text: string, between: string): number[] {
  const [first, last] = text.split(between).map((part) => wholeNumber(name, part));
  const end = last ?? first!;
  return Array.from({ length: Math.max(0, end - first! + 1) }, (_, index) => first! + index);
}

/** "3,17-20,44" */
function rangesOf(steps: readonly Step[]): string {
  const ranges: { first: number; last: number }[] = [];
  for (const { number } of steps) {
    const range = ranges.at(-1);
    if (range?.last === number - 1) range.last = number;
    else ranges.push({ first: number, last: number });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",");
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`${name} takes a whole number, not "${text}"`);
  process.exit(2);
}
