import { beforeAll, expect, test } from "vitest";

import type { Functions } from "../../lib/simulator/world.ts";
import { builtFunctions, run } from "./functions.ts";

const STEPS = 300;
/** Other seeds on other days, so that the fixed ones are not all that is ever tried. The name of the test tells them. */
const today = Math.floor(Date.now() / 86_400_000);

let functions: Functions;
beforeAll(async () => {
  functions = await builtFunctions();
});

test.each([1, 2, 3, 10, 13, today])(
  "seed %i is clean",
  async (seed) => {
    const { violation, trace, begun } = await run(seed, STEPS, functions);
    // `npm run simulate -- --seed N` shrinks it to the steps that matter.
    expect(violation === null ? [] : [violation, ...trace.slice(-40)]).toEqual([]);
    expect(begun).toBe(STEPS);
  },
  90_000,
);

test("the same seed goes the same way, byte for byte", async () => {
  const [one, other] = [await run(7, 120, functions), await run(7, 120, functions)];
  expect(one.trace).toEqual(other.trace);
  expect(one.digest).toBe(other.digest);
  expect(one).toMatchObject({ violation: null });
  expect(one.crashes).toBeGreaterThan(0);
  expect(one.conflicts).toBeGreaterThan(0);
}, 90_000);
