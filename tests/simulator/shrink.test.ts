import { expect, test } from "vitest";

import { shrink } from "../../lib/simulator/shrink.ts";

const forever = () => true;
const numbers = Array.from({ length: 100 }, (_, index) => index);

test.each([
  ["one item", [42]],
  ["two far apart", [3, 97]],
  ["neighbours", [50, 51, 52]],
  ["all of a few", [0, 20, 40, 60, 80]],
])("leaves what matters: %s", async (_, wanted) => {
  let tries = 0;
  const fails = async (items: readonly number[]) => {
    tries += 1;
    return wanted.every((item) => items.includes(item));
  };
  expect(await shrink(numbers, fails, forever)).toEqual(wanted);
  expect(tries).toBeLessThan(300);
});

test("what it has when the time is up still fails", async () => {
  let tries = 3;
  const fails = async (items: readonly number[]) => items.includes(7);
  const kept = await shrink(numbers, fails, () => tries-- > 0);
  expect(kept).toContain(7);
  expect(kept.length).toBeLessThan(100);
});

test("a failure that needs nothing ends with one item", async () => {
  expect(await shrink(numbers, async () => true, forever)).toHaveLength(1);
});
