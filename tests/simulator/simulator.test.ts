import { beforeAll, expect, test } from "vitest";

import type { Functions } from "../../lib/simulator/world.ts";
import { builtFunctions, run } from "./functions.ts";

const STEPS = 300;
/** Other seeds on other days, so that the fixed ones are not all that is ever tried. The name of the test tells them. */
const today = Math.floor(Date.now() / 86_400_000);

/** A run in which nothing happened would be clean as well. */
const TROUBLE = {
  "a call of ours was repeated": /unanswered|again with/,
  "the engine died and came back": /engine is back/,
  "a write was done without an answer": /wire lost_reply POST .*meter_usage/,
  "a write landed late": /wire (hang_and_)?late POST .*meter_usage/,
  "the provider refused for now": /wire rate_limited/,
  "a webhook came again": /event customer.* again/,
  "a webhook never came": /event customer.* never/,
  "an agreement had ended": /meter_usage .*-> 400/,
  "somebody else wrote to a meter": /second writer .*: done/,
  "a repair was needed": /"repaired":[1-9]/,
  "late usage was put before a person": /review late_usage .* decided/,
  "drift was seen": /"sighted":[1-9]/,
  "a job was refused": /job-\d+ refused/,
  "a job lost its lease": /lease_lost/,
  "a key conflict": /again with \d+: refused/,
  "credits were taken back": /reminder of .* cancelled: cancelled/,
  "the clock went back": /clock steps -/,
} as const;

let functions: Functions;
const happened = new Set<string>();
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
    for (const [name, pattern] of Object.entries(TROUBLE)) {
      if (trace.some((line) => pattern.test(line))) happened.add(name);
    }
  },
  90_000,
);

test("all kinds of trouble were among them", () => {
  expect(Object.keys(TROUBLE).filter((name) => !happened.has(name))).toEqual([]);
});

test("the same seed goes the same way, byte for byte", async () => {
  const [one, other] = [await run(7, 120, functions), await run(7, 120, functions)];
  expect(one.trace).toEqual(other.trace);
  expect(one.digest).toBe(other.digest);
  expect(one).toMatchObject({ violation: null });
  expect(one.crashes).toBeGreaterThan(0);
  expect(one.conflicts).toBeGreaterThan(0);
}, 90_000);
