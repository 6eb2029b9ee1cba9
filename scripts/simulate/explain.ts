import { ruleOf, simulate, type Outcome } from "../../lib/simulator/run.ts";
import { shrink } from "../../lib/simulator/shrink.ts";
import type { Step } from "../../lib/simulator/steps.ts";
import type { Functions } from "../../lib/simulator/world.ts";
import { rangesOf } from "./numbers.ts";

/** Longest time that shrinking takes. */
const SHRINK_MS_MAX = 120_000;
const TRACE_LINES = 80;
const LISTED_MAX = 60;

/** Prints what is left of a failure once it is shrunk, and the command that repeats it. */
export async function explain(
  outcome: Outcome,
  violation: Error,
  steps: readonly Step[],
  functions: Functions,
  options: { readonly count: number; readonly isWhole: boolean; readonly shrinks: boolean },
): Promise<void> {
  const { seed } = outcome;
  console.log(`\n${violation.stack ?? violation.message}\n`);
  let kept: readonly Step[] = steps.slice(0, outcome.begun);
  let shown = outcome;
  if (options.shrinks) {
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
  const isAll = options.isWhole && kept.length === options.count;
  const only = isAll ? "" : ` --only ${rangesOf(kept.map(({ number }) => number))}`;
  console.log(`npm run simulate -- --seed ${seed} --steps ${options.count}${only}\n`);
}
