import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { buildFunctions } from "../../lib/local-convex/bundle.ts";
import { simulate } from "../../lib/simulator/run.ts";
import { makeSteps } from "../../lib/simulator/steps.ts";
import type { Functions } from "../../lib/simulator/world.ts";

const STEPS = 300;

let functions: Functions;
beforeAll(async () => {
  const functionsDir = join(import.meta.dirname, "../../convex");
  functions = { functionsDir, build: await buildFunctions(functionsDir) };
});

const run = (seed: number) => simulate(seed, makeSteps(seed, STEPS), functions);

test.each([1, 2, 3])("seed %i is clean", async (seed) => {
  const { violation, trace } = await run(seed);
  expect(violation === null ? [] : [violation, ...trace.slice(-40)]).toEqual([]);
});

test("the same seed goes the same way, byte for byte", async () => {
  const [one, other] = [await run(7), await run(7)];
  expect(one.trace).toEqual(other.trace);
  expect(one.digest).toBe(other.digest);
  expect(one.crashes).toBeGreaterThan(0);
});
