import { expect, test } from "vitest";

import { freeFigure, limitFigure, limitName, ofLimit, wholeOf } from "../../app/components/limit-text.ts";

test.each([
  ["a limit", { limitUnits: 10_000 }, 9_000, ["10,000", "limit 10,000", "of 10,000", "9,000", 10_000]],
  ["a limit of nothing", { limitUnits: 0 }, 0, ["0", "limit 0", "of 0", "0", 0]],
  ["no limit", { limitUnits: null }, null, ["no limit", "no limit", "(no limit)", "no limit", null]],
  [
    "one that is not known",
    null,
    null,
    ["not known", "limit not known", "(limit not known)", "not known", "unknown"],
  ],
])("%s is said alike everywhere", (_name, limit, freeUnits, said) => {
  const words = [
    limitFigure(limit),
    limitName(limit),
    ofLimit(limit),
    freeFigure(limit, freeUnits),
    wholeOf(limit),
  ];
  expect(words).toEqual(said);
});
