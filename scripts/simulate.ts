/**
 * Runs the product in a simulated world, one seed after the other, and checks at every commit what is never to be true.
 * A seed that fails is shrunk to the steps that matter, and printed with the command that repeats it.
 *
 *   npm run simulate -- --seed 7 [--steps 300] [--only 3,17-20] [--trace 200]
 *   npm run simulate -- --seeds 1..50 [--workers 2] [--keep-going]
 *   npm run simulate -- --seeds 1..20 --for-seconds 150    after those, seeds that nobody has tried, until the time is up
 */
import { simulate } from "../lib/simulator/run.ts";
import { removeLeftovers } from "../lib/simulator/scratch-folder.ts";
import { makeSteps, type Step } from "../lib/simulator/steps.ts";
import { explain } from "./simulate/explain.ts";
import { numbersOf } from "./simulate/numbers.ts";
import { writeReport } from "./simulate/report.ts";
import { saveSimulatorRun } from "./simulate/results.ts";
import { builtFunctions, runInWorkers, type Summary, summaryOf } from "./simulate/seed-runs.ts";
import { helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";
import { commitName } from "./support/commit.ts";

const OPTIONS = {
  seed: { type: "integer", minimum: 0, maximum: 999_999_999, help: "one seed" },
  seeds: { type: "string", help: "several: 1..50" },
  steps: { type: "integer", minimum: 1, maximum: 100_000, default: 300, help: "steps of each" },
  only: { type: "string", help: "of one seed, these steps only: 3,17-20" },
  trace: { type: "integer", minimum: 1, help: "prints the last lines of the trace" },
  workers: { type: "integer", minimum: 1, maximum: 64, default: 1, help: "processes that share the seeds" },
  "for-seconds": { type: "integer", minimum: 1, help: "goes on with fresh seeds for so long in all" },
  report: { type: "string", help: "a file for the result, as Vitest writes it" },
  save: { type: "boolean", help: "adds the run to scripts/simulate/results.json" },
  "keep-going": { type: "boolean", help: "goes on after a seed that failed" },
  "no-shrink": { type: "boolean", help: "prints a failure as it is" },
} as const;

await runMain("simulate", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run simulate: the product in a world where everything goes wrong", OPTIONS));
    return 0;
  }
  removeLeftovers();
  const commit = commitName();
  const { steps: count, only, seeds, workers } = options;
  if (only !== undefined && (seeds !== undefined || workers > 1))
    throw usageError("--only is for one --seed");
  const fixed = seeds === undefined ? [options.seed ?? 1] : numbersOf("--seeds", seeds, "..");
  const source = seedSource(fixed, options["for-seconds"]);
  const ended: Summary[] = [];
  const failed: number[] = [];
  const onEnd = (summary: Summary, realMs: number): void => {
    console.log(line(summary, realMs));
    ended.push(summary);
    if (summary.failure === null) return;
    failed.push(summary.seed);
    if (!options["keep-going"]) source.stop();
  };

  const stepsOf = (seed: number): Step[] => {
    const steps = makeSteps(seed, count);
    if (only === undefined) return steps;
    const kept = new Set(only.split(",").flatMap((range) => numbersOf("--only", range, "-")));
    return steps.filter(({ number }) => kept.has(number));
  };
  const functions = workers === 1 ? await builtFunctions() : null;
  if (functions === null) await runInWorkers(workers, count, source.next, onEnd);
  else {
    for (let seed = source.next(); seed !== null; seed = source.next()) {
      const startMs = performance.now();
      const outcome = await simulate(seed, stepsOf(seed), functions);
      if (options.trace !== undefined) console.log(outcome.trace.slice(-options.trace).join("\n"));
      onEnd(summaryOf(outcome), performance.now() - startMs);
    }
  }
  const [first] = failed;
  if (first !== undefined) {
    const built = functions ?? (await builtFunctions());
    const outcome = await simulate(first, stepsOf(first), built);
    const shown = { count, isWhole: only === undefined, shrinks: !options["no-shrink"] };
    if (outcome.violation !== null) await explain(outcome, outcome.violation, stepsOf(first), built, shown);
  }
  const isFixed = new Set(fixed);
  const results = ended.map(({ seed, failure }) => ({ seed, isClean: failure === null }));
  if (options.report !== undefined) {
    const fresh = results.filter(({ seed }) => !isFixed.has(seed));
    writeReport(
      options.report,
      results.filter(({ seed }) => isFixed.has(seed)),
      fresh,
    );
  }
  const fresh = source.fresh();
  if (fresh !== null)
    console.log(`the fresh ones again: npm run simulate -- --seeds ${fresh} --steps ${count}`);
  const stepsRun = ended.reduce((sum, { begun }) => sum + begun, 0);
  const cleanCount = ended.length - failed.length;
  if (options.save) {
    saveSimulatorRun({
      date: new Date().toISOString().slice(0, 10),
      commit,
      command: `npm run simulate -- ${argv.filter((each) => each !== "--save").join(" ")}`,
      clean: cleanCount,
      failed: failed.length,
      steps: stepsRun,
    });
  }
  const bad = failed.length === 0 ? "" : `, ${failed.length} seeds failed`;
  console.log(`${cleanCount} seeds clean, ${stepsRun} steps${bad}`);
  return failed.length === 0 ? 0 : 1;
});

/** The seeds that were asked for, and then, until the time is up, those of this second and on. */
function seedSource(fixed: readonly number[], forSeconds: number | undefined) {
  const untilMs = forSeconds === undefined ? 0 : performance.now() + forSeconds * 1_000;
  // Seconds since a while ago: nine digits for the next decades.
  const freshFrom = Math.floor(Date.now() / 1_000) - 1_700_000_000;
  const waiting = [...fixed];
  let freshCount = 0;
  let isStopped = false;
  if (forSeconds !== undefined) console.log(`fresh seeds from ${freshFrom}`);
  return {
    next: (): number | null => {
      if (isStopped) return null;
      const seed = waiting.shift();
      if (seed !== undefined) return seed;
      return performance.now() < untilMs ? freshFrom + freshCount++ : null;
    },
    stop: (): void => {
      isStopped = true;
    },
    /** As --seeds takes them; null when there were none. */
    fresh: () => (freshCount === 0 ? null : `${freshFrom}..${freshFrom + freshCount - 1}`),
  };
}

function line(summary: Summary, realMs: number): string {
  const { seed, failure, begun, commits, conflicts, crashes, virtualMs, digest } = summary;
  const numbers = `${begun} steps, ${commits} commits, ${conflicts} conflicts, ${crashes} crashes`;
  const time = `${Math.round(virtualMs / 1_000)} s simulated in ${(realMs / 1_000).toFixed(1)} s`;
  const end = failure === null ? "clean" : `FAILED (${failure.split("\n")[0]})`;
  return `seed ${seed} ${end}: ${numbers}, ${time}, ${digest.slice(0, 12)}`;
}
