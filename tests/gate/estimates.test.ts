import { expect, test } from "vitest";

import { estimateKinds, quantile } from "../../lib/gate/estimates.ts";
import { makeJob } from "./fixtures.ts";

test("a quantile is a real observation", () => {
  expect([0.01, 0.5, 0.9, 0.99, 1].map((share) => quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], share))).toEqual([
    1, 5, 9, 10, 10,
  ]);
  expect(quantile([], 0.5)).toBe(0);
});

test("jobs of a kind are estimated from their real cost, what capped ones still wanted included", () => {
  const completed = [10, 20, 30, 40].map((usedUnits) =>
    makeJob({ kind: "a", status: "completed", usedUnits }),
  );
  const capped = makeJob({ kind: "a", status: "capped", usedUnits: 100, overCapUnits: 50 });
  expect(estimateKinds([...completed, capped])).toEqual([
    {
      kind: "a",
      jobs: 5,
      p50UsedUnits: 30,
      p90UsedUnits: 100,
      p99UsedUnits: 100,
      p50UsedShare: 0.3,
      p90UsedShare: 1,
      cappedShare: 0.2,
      lockedUnits: 300,
      suggestedUnits: 150,
    },
  ]);
});

test("running, killed and failed jobs tell nothing about cost", () => {
  const jobs = (["running", "failed", "cancelled", "expired"] as const).map((status) => makeJob({ status }));
  expect(estimateKinds(jobs)).toEqual([]);
});

test("a kind that uses nothing is still suggested a hold", () => {
  expect(estimateKinds([makeJob({ status: "completed" })])).toMatchObject([{ suggestedUnits: 1 }]);
});
