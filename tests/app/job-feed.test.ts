import { describe, expect, test } from "vitest";
import { feedLines } from "../../app/app/jobs/job-feed.ts";
import { viewJob } from "../../lib/gate/job-view.ts";
import type { Job } from "../../lib/gate/types.ts";
import { makeJob } from "../gate/fixtures.ts";

const RUNNER = { steps: 40, stepUnits: 30, stepMs: 1_000, endAs: "completed" } as const;
const job = (fields: Partial<Job>) => viewJob("j", makeJob({ heldUnits: 1_000, runner: RUNNER, ...fields }));
const after = (step: number, usedUnits: number, fields: Partial<Job> = {}) =>
  job({ step, usedUnits, ...fields });

describe("each step has a line of its own", () => {
  test("when they are seen one by one", () => {
    expect(feedLines(after(1, 30), after(2, 60))).toEqual(["Step 2: charged 30, 60 in all. Lease renewed."]);
  });

  test("when several came between two sights", () => {
    expect(feedLines(after(1, 30), after(3, 90))).toEqual([
      "Step 2: charged 30, 60 in all. Lease renewed.",
      "Step 3: charged 30, 90 in all. Lease renewed.",
    ]);
  });

  test("when the first sight came after some", () => {
    expect(feedLines(null, after(2, 60))).toEqual([
      "Holds 1,000, lease 2 min 0 s.",
      "Step 1: charged 30, 30 in all. Lease renewed.",
      "Step 2: charged 30, 60 in all. Lease renewed.",
    ]);
  });

  test("when the last of them was capped", () => {
    const capped = after(3, 70, { heldUnits: 70, overCapUnits: 20, status: "capped" });
    expect(feedLines(after(1, 30, { heldUnits: 70 }), capped)).toEqual([
      "Step 2: charged 30, 60 in all. Lease renewed.",
      "Step 3: charged 10, 70 in all. Lease renewed.",
      "Capped: the step wanted 20 more than the hold had left. 70 used, 0 returned.",
    ]);
  });
});

describe("steps share a line where what each took is not known", () => {
  test.each([
    ["a worker of one's own", after(3, 90, { runner: null })],
    ["a runner's job that another worker charges", after(3, 200)],
  ])("%s", (_name, seen) => {
    const [line] = feedLines(after(1, 30, { runner: seen.runner }), seen);
    expect(line).toMatch(/^Steps 2 to 3: charged (?:60|170), (?:90|200) in all\./);
  });

  test("more of them than one would read", () => {
    expect(feedLines(after(1, 30), after(22, 660))).toEqual([
      "Steps 2 to 22: charged 630, 660 in all. Lease renewed.",
    ]);
  });
});
