import { describe, expect, test } from "vitest";
import { barLine, twoColumns } from "../../scripts/support/progress.mjs";
import { median, quantile, splitEvenly } from "../../scripts/support/statistics.mjs";

describe("a quantile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  test.each([
    { values: [], share: 0.5, expected: null },
    { values: [7], share: 0.99, expected: 7 },
    { values: [4, 1, 3, 2], share: 0.5, expected: 2 },
    { values: hundred, share: 0.95, expected: 95 },
    { values: hundred, share: 0.99, expected: 99 },
    { values: hundred, share: 1, expected: 100 },
  ])("of $values.length values at $share is $expected", ({ values, share, expected }) => {
    expect(quantile(values, share)).toBe(expected);
  });

  test("at one half is the median", () => {
    expect(median([9, 1, 5])).toBe(5);
  });
});

test.each([
  { total: 1000, parts: 3, expected: [334, 333, 333] },
  { total: 2, parts: 2, expected: [1, 1] },
  { total: 5, parts: 1, expected: [5] },
])("$total in $parts parts adds up", ({ total, parts, expected }) => {
  expect(splitEvenly(total, parts)).toEqual(expected);
});

test("a bar is full exactly at the end", () => {
  expect(barLine(0, 4)).toBe(`[${"-".repeat(30)}] 0/4`);
  expect(barLine(4, 4)).toBe(`[${"#".repeat(30)}] 4/4`);
  expect(barLine(119, 120)).toContain("#-]");
});

test("a table aligns its values to the right", () => {
  expect(
    twoColumns([
      ["started", 100],
      ["p50", "3 ms"],
    ]),
  ).toBe("  started   100\n  p50      3 ms");
});
