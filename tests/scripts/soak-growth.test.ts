import { describe, expect, test } from "vitest";

import { growthOf, type Growth, type Sample, unboundedTables } from "../../scripts/soak/growth.ts";

const MEMORY = "memory of web, MB";

function samplesOf(name: string, series: readonly number[], more: Record<string, number> = {}): Sample[] {
  return series.map((value, index) => ({ atSeconds: index * 10, values: { [name]: value, ...more } }));
}
function growth(name: string, series: readonly number[], more: Record<string, number> = {}): Growth {
  const found = growthOf(samplesOf(name, series, more)).find((one) => one.name === name);
  if (found === undefined) throw new Error(`nothing is said of ${name}`);
  return found;
}

describe("growth", () => {
  test("is told by the medians of the quarters, and the most there ever was", () => {
    const series = [1, 1, 9, 2, 2, 2, 3, 3, 3, 4, 4, 90];
    expect(growth("rows of entries", series)).toEqual({
      name: "rows of entries",
      first: 1,
      second: 2,
      last: 4,
      max: 90,
      rule: null,
      isLeak: false,
    });
  });

  test("of memory is a leak above 1.3 times the second quarter and 24 MB", () => {
    const levels = (last: number) => [100, 100, 200, 200, 210, 210, last, last];
    expect(growth(MEMORY, levels(284)).isLeak).toBe(false);
    expect(growth(MEMORY, levels(285)).isLeak).toBe(true);
  });

  test("of the engine's memory may be that of its pages of the database, up to 128 MB", () => {
    const memory = "memory of local-convex, MB";
    const leaks = (lastMb: number, databaseMb: number) =>
      growthOf(
        [0, 0, 1, 1, 1, 1, 2, 2].map((level, index) => ({
          atSeconds: index,
          values: { [memory]: level === 2 ? lastMb : 100, "database, MB": level === 2 ? databaseMb : 100 },
        })),
      ).find(({ name }) => name === memory)?.isLeak;
    expect(leaks(154, 100)).toBe(false);
    expect(leaks(155, 100)).toBe(true);
    expect(leaks(164, 110)).toBe(false);
    expect(leaks(182, 900)).toBe(false);
    expect(leaks(183, 900)).toBe(true);
  });

  test("of memory before the second quarter is none: processes warm up", () => {
    expect(growth(MEMORY, [50, 50, 300, 300, 300, 300, 300, 300]).isLeak).toBe(false);
  });

  test("of fewer than eight looks says nothing", () => {
    expect(growth(MEMORY, [100, 100, 100, 900]).isLeak).toBe(false);
  });

  test("of a table that another one bounds is a leak in any look that is over", () => {
    const others = { "rows of meters": 3 };
    expect(growth("rows of marks", [0, 3, 0, 0], others)).toMatchObject({
      rule: "at most 1 x meters",
      isLeak: false,
    });
    expect(growth("rows of marks", [0, 4, 0, 0], others).isLeak).toBe(true);
  });

  test.each<[string, number, boolean]>([
    ["spool segments", 8, false],
    ["spool segments", 9, true],
    ["spool files set aside", 1, true],
    ["log of the database, MB", 64, false],
    ["log of the database, MB", 65, true],
    ["rows of runs", 20, false],
    ["rows of runs", 21, true],
    ["rows of entries", 1_000_000, false],
  ])("%s of %s: a leak is %s", (name, value, isLeak) => {
    expect(growth(name, [value]).isLeak).toBe(isLeak);
  });

  test("is judged for every table that is said to be bounded", () => {
    expect(unboundedTables()).toEqual([]);
  });
});
