import { describe, expect, test } from "vitest";

import { addUnits, checkUnits, subtractUnits, UNITS_MAX } from "../../lib/shared/units.ts";

describe("checkUnits", () => {
  test.each([0, 1, 40_000, 9_007_199_254_740_991])("A23: %s is accepted as it is", (units) => {
    expect(checkUnits("units", units)).toBeNull();
  });

  test.each([9_007_199_254_740_992, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, "5", null, undefined, 5n])(
    "A23: %s is out of range and never rounded",
    (units) => {
      expect(checkUnits("units", units)).toEqual({
        code: "out_of_range",
        field: "units",
        minimum: 0,
        maximum: UNITS_MAX,
        message: "units must be a whole number from 0 to 9007199254740991",
      });
    },
  );

  test.each([
    [1, 0, "below the minimum"],
    [1, 11, "above the maximum"],
  ])("a range of its own refuses a value %s", (minimum, units) => {
    expect(checkUnits("steps", units, { minimum, maximum: 10 })).toMatchObject({ minimum, maximum: 10 });
  });
});

describe("sums", () => {
  test("a sum past 2^53 - 1 is a fault, not a rounded number", () => {
    expect(addUnits(UNITS_MAX - 1, 1)).toBe(UNITS_MAX);
    expect(() => addUnits(UNITS_MAX, 1)).toThrow("not an amount");
  });

  test("a difference below zero is a fault", () => {
    expect(subtractUnits(5, 5)).toBe(0);
    expect(() => subtractUnits(4, 5)).toThrow("not an amount");
  });
});
