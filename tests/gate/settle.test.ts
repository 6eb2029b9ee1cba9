import { describe, expect, test } from "vitest";

import { budgetAfterExpiry, decideExpire } from "../../lib/gate/expire.ts";
import { decideSettle } from "../../lib/gate/settle.ts";
import { makeJob, NOW_MS } from "./fixtures.ts";

const end = { status: "completed", nowMs: NOW_MS } as const;

describe("decideSettle", () => {
  test.each([
    // held, charged before, reported -> charged, over the cap
    ["S4: less than the hold", 40_000, 31_200, 0, 31_200, 0],
    ["S5: the model used more than was held", 10_000, 0, 15_000, 10_000, 5_000],
    ["S6: failed at 60%", 10_000, 6_000, 0, 6_000, 0],
    ["A15: 7 more than the hold", 100, 0, 107, 100, 7],
    ["A15: a report below what was charged", 100, 60, 20, 60, 0],
    ["nothing used", 100, 0, 0, 0, 0],
    ["all of it", 100, 100, 100, 100, 0],
  ])("%s", (_name, heldUnits, usedUnits, reportedUnits, charged, over) => {
    const job = makeJob({ heldUnits, usedUnits });
    const decision = decideSettle(job, { usedUnits: 5, heldUnits: heldUnits + 3 }, { ...end, reportedUnits });
    expect(decision).toEqual({
      kind: "ended",
      end: { status: "completed", usedUnits: charged, overCapUnits: over, endedAtMs: NOW_MS },
      budget: { usedUnits: 5 + charged, heldUnits: 3 },
      entryUnits: charged,
    });
  });

  test.each([
    ["no budget row", makeJob(), null],
    ["a budget that holds less than the job", makeJob(), { usedUnits: 0, heldUnits: 99 }],
    ["a job that used more than it held", makeJob({ usedUnits: 101 }), { usedUnits: 0, heldUnits: 100 }],
    ["a hold of nothing", makeJob({ heldUnits: 0 }), { usedUnits: 0, heldUnits: 100 }],
    ["a use that is no amount", makeJob({ usedUnits: 0.5 }), { usedUnits: 0, heldUnits: 100 }],
    ["a budget that is no amount", makeJob(), { usedUnits: -1, heldUnits: 100 }],
  ])("damage is reported, never settled: %s", (_name, job, budget) => {
    expect(decideSettle(job, budget, { ...end, reportedUnits: 0 }).kind).toBe("broken");
  });
});

describe("decideExpire", () => {
  test("A27: a lease ends at its instant", () => {
    const job = makeJob({ usedUnits: 40, leaseExpiresAtMs: NOW_MS });
    const budget = { usedUnits: 0, heldUnits: 100 };
    expect(decideExpire(job, budget, NOW_MS - 1)).toBeNull();
    expect(decideExpire(job, budget, NOW_MS)).toMatchObject({
      end: { status: "expired", usedUnits: 40 },
      budget: { usedUnits: 40, heldUnits: 0 },
    });
  });

  test("an ended job does not expire", () => {
    const job = makeJob({ status: "completed", leaseExpiresAtMs: 0 });
    expect(decideExpire(job, { usedUnits: 0, heldUnits: 100 }, NOW_MS)).toBeNull();
  });

  test("on paper, only lapsed and sound jobs of the cycle give their hold back", () => {
    const lapsed = makeJob({ usedUnits: 10, leaseExpiresAtMs: NOW_MS });
    const jobs = [lapsed, makeJob(), { ...lapsed, cycle: "2026-09" }, { ...lapsed, usedUnits: 101 }];
    expect(budgetAfterExpiry({ usedUnits: 1, heldUnits: 400 }, "2026-10", jobs, NOW_MS)).toEqual({
      usedUnits: 11,
      heldUnits: 300,
    });
  });
});
