import { describe, expect, test } from "vitest";

import {
  type AdmissionState,
  decideAdmission,
  decideReplay,
  previewAdmission,
} from "../../lib/gate/admit.ts";
import { placeHold } from "../../lib/gate/room.ts";
import { parseRequest, type AdmissionRequest, type RequestInput } from "../../lib/gate/request.ts";
import { UNITS_MAX } from "../../lib/shared/units.ts";
import { makeJob, makeLimitRow, NOW_MS } from "./fixtures.ts";

const cycle = { name: "2026-10", startMs: NOW_MS - 1, endMs: NOW_MS + 1_000_000 };

function request(input: Partial<RequestInput>): AdmissionRequest {
  const parsed = parseRequest({ key: "k", units: 10, ...input });
  if ("code" in parsed) throw new Error(parsed.message);
  return parsed;
}

function state(limitUnits: number | null, usedUnits: number, heldUnits: number): AdmissionState {
  const limit = makeLimitRow({ limitUnits });
  return { nowMs: NOW_MS, cycle, provider: "fixed", rate: null, limit, budget: { usedUnits, heldUnits } };
}

describe("room", () => {
  test("no hold is placed past the limit, whatever was decided before", () => {
    const budget = { usedUnits: 60, heldUnits: 30 };
    expect(placeHold(budget, 10, 100)).toEqual({ usedUnits: 60, heldUnits: 40 });
    expect(() => placeHold(budget, 11, 100)).toThrow("101 units used and held pass the limit 100");
    expect(placeHold(budget, 11, null)).toEqual({ usedUnits: 60, heldUnits: 41 });
  });

  test.each([
    // limit, used, held, asked, accepted -> granted, or the refusal and what is free
    ["the whole limit", 100, 0, 0, 100, undefined, 100],
    ["the last unit", 100, 60, 39, 1, undefined, 1],
    ["A16: running jobs hold it", 100, 20, 80, 10, undefined, "held_by_running_jobs"],
    ["used up", 100, 100, 0, 1, undefined, "limit_reached"],
    ["never fits, whoever ends", 100, 0, 50, 101, undefined, "limit_reached"],
    ["A14: 3 left, all or nothing", 100, 97, 0, 50, undefined, "limit_reached"],
    ["A14: 3 left and 3 will do", 100, 97, 0, 50, 3, 3],
    ["3 left and 4 is the least", 100, 97, 0, 50, 4, "limit_reached"],
    ["3 free, 4 is the least, jobs hold more", 100, 47, 50, 50, 4, "held_by_running_jobs"],
    ["a partial hold is as large as the room", 100, 40, 0, 90, 1, 60],
    ["A07b: the limit fell below what is used and held", 10, 20, 60, 1, undefined, "limit_reached"],
    ["a limit of nothing", 0, 0, 0, 1, undefined, "limit_reached"],
    ["unlimited", null, 5, 5, 1_000_000, undefined, 1_000_000],
    ["A23: the largest amount, with room for it", UNITS_MAX, 0, 0, UNITS_MAX, undefined, UNITS_MAX],
    ["unlimited, up to the end of the number range", null, UNITS_MAX - 10, 4, 6, undefined, 6],
    [
      "unlimited, past what can be counted beside holds",
      null,
      UNITS_MAX - 10,
      4,
      7,
      undefined,
      "held_by_running_jobs",
    ],
    ["unlimited, past what can be counted at all", null, UNITS_MAX - 10, 4, 11, undefined, "limit_reached"],
    [
      "A23: unlimited, all that can be counted is held",
      null,
      0,
      UNITS_MAX,
      1,
      undefined,
      "held_by_running_jobs",
    ],
    ["unlimited, past the end but a part will do", null, UNITS_MAX - 10, 4, 7, 2, 6],
  ] as const)("%s", (_name, limitUnits, used, held, units, acceptUnits, expected) => {
    const decision = decideAdmission(request({ units, acceptUnits }), state(limitUnits, used, held));
    expect(decision).toMatchObject(
      typeof expected === "string"
        ? { kind: "refused", refusal: { code: expected } }
        : {
            kind: "admit",
            job: { heldUnits: expected, requestedUnits: units },
            budget: { usedUnits: used, heldUnits: held + expected },
          },
    );
  });

  test("A16: a refusal carries every number that led to it", () => {
    const decision = decideAdmission(request({ units: 10 }), state(100, 20, 80));
    expect(decision).toEqual({
      kind: "refused",
      refusal: {
        code: "held_by_running_jobs",
        requestedUnits: 10,
        usedUnits: 20,
        heldUnits: 80,
        limitUnits: 100,
        freeUnits: 0,
        nextCycleStartMs: cycle.endMs,
      },
    });
  });
});

describe("order of checks", () => {
  const full = { limitPerMinute: 1, windowStartMs: NOW_MS, count: 1 };

  test("rate comes before limit and room", () => {
    const decision = decideAdmission(request({}), { ...state(0, 0, 0), rate: full, limit: null });
    expect(decision).toMatchObject({ kind: "refused", refusal: { code: "rate_limited" } });
  });

  test("a limit that has to be read comes before room", () => {
    const decision = decideAdmission(request({}), { ...state(0, 0, 0), limit: null });
    expect(decision).toMatchObject({ kind: "refresh", row: { refreshFence: 1 } });
  });

  test("A34: a key that names a job is answered by its request alone", () => {
    const first = decideAdmission(request({ units: 10 }), state(100, 0, 0));
    if (first.kind !== "admit") throw new Error("not admitted");
    expect(decideReplay(first.job, request({ units: 10 }))).toBeNull();
    const runner = { steps: 3, stepUnits: 1, stepMs: 100, endAs: "completed" as const };
    for (const [other, differences] of [
      [{ units: 11 }, "units was 10 and is 11"],
      [{ units: 10, acceptUnits: 5 }, "acceptUnits was null and is 5"],
      [{ units: 10, kind: "x" }, 'kind was "default" and is "x"'],
      [{ units: 10, leaseMs: 10_000 }, "leaseMs was 120000 and is 10000"],
      [{ units: 10, runner }, 'runner was null and is [3,1,100,"completed"]'],
      [{ units: 12, leaseMs: 10_000 }, "units was 10 and is 12, leaseMs was 120000 and is 10000"],
    ] as const) {
      const message = `The key "k" already names a job with another request: ${differences}.`;
      expect(decideReplay(first.job, request(other))).toEqual({ code: "key_conflict", message });
    }
  });
});

describe("preview", () => {
  test("A24: agrees with admit wherever admit needs no refresh", () => {
    for (const [used, held, units] of [
      [0, 0, 10],
      [95, 0, 10],
      [20, 80, 10],
    ] as const) {
      const now = state(100, used, held);
      expect(previewAdmission(request({ units }), now)).toEqual(decideAdmission(request({ units }), now));
    }
  });

  test("answers from a limit under ten minutes old, because it may not refresh", () => {
    const stale = { ...state(100, 0, 0), limit: makeLimitRow({ readAtMs: NOW_MS - 599_999 }) };
    expect(previewAdmission(request({}), stale)).toMatchObject({ kind: "admit", limit: { stale: true } });
    const old = { ...state(100, 0, 0), limit: makeLimitRow({ readAtMs: NOW_MS - 600_000 }) };
    expect(previewAdmission(request({}), old)).toEqual({ kind: "refresh_needed" });
  });
});

describe("parseRequest", () => {
  test.each([
    ["units", { units: 0 }],
    ["units", { units: 1.5 }],
    ["units", { units: 9_007_199_254_740_992 }],
    ["acceptUnits", { acceptUnits: 0 }],
    ["acceptUnits", { acceptUnits: 11 }],
    ["leaseMs", { leaseMs: 9_999 }],
    ["leaseMs", { leaseMs: 120_001 }],
    ["key", { key: "" }],
    ["key", { key: "x".repeat(201) }],
    ["kind", { kind: "" }],
    ["runner.steps", { runner: { steps: 0, stepUnits: 1, stepMs: 1 } }],
    ["runner.stepUnits", { runner: { steps: 1, stepUnits: -1, stepMs: 1 } }],
    ["runner.stepMs", { leaseMs: 10_000, runner: { steps: 1, stepUnits: 1, stepMs: 5_001 } }],
  ])("A23: %s out of range is named: %o", (field, input) => {
    expect(parseRequest({ key: "k", units: 10, ...input })).toMatchObject({ code: "out_of_range", field });
  });

  test("fills in the defaults", () => {
    expect(parseRequest({ key: "k", units: 10 })).toEqual({
      key: "k",
      units: 10,
      acceptUnits: null,
      kind: "default",
      leaseMs: 120_000,
      runner: null,
    });
  });

  test("a replay of a job is not decided by what the job has become", () => {
    const job = makeJob({ status: "completed", fingerprint: '[10,null,"default",120000,null]' });
    expect(decideReplay(job, request({ units: 10 }))).toBeNull();
  });
});
