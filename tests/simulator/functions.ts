import { join } from "node:path";

import { buildFunctions } from "../../lib/local-convex/bundle.ts";
import { simulate, type Outcome } from "../../lib/simulator/run.ts";
import { makeSteps } from "../../lib/simulator/steps.ts";
import type { Functions } from "../../lib/simulator/world.ts";

const functionsDir = join(import.meta.dirname, "../../convex");

/** The product's own functions, built once for all tests of a file. */
export async function builtFunctions(): Promise<Functions> {
  return { functionsDir, build: await buildFunctions(functionsDir) };
}

/** The same with a fault: a text of the bundle, which has to be there once, is another one. */
export function sabotaged(functions: Functions, text: string, by: string): Functions {
  const bundles = functions.build.functions.map((bundle) => {
    const parts = bundle.code.split(text);
    if (parts.length !== 2) throw new Error(`${text} is in the bundle ${parts.length - 1} times`);
    return { ...bundle, code: parts.join(by) };
  });
  return { functionsDir, build: { ...functions.build, functions: bundles } };
}

export const run = (seed: number, steps: number, functions: Functions): Promise<Outcome> =>
  simulate(seed, makeSteps(seed, steps), functions);

/** The violations of some seeds, until one has one. */
export async function firstViolation(
  seeds: readonly number[],
  steps: number,
  functions: Functions,
): Promise<Error | null> {
  for (const seed of seeds) {
    const { violation } = await run(seed, steps, functions);
    if (violation !== null) return violation;
  }
  return null;
}
