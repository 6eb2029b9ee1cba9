import { expect, test } from "vitest";
import { totalOfCycle } from "../../../lib/kinde/cycle-total.ts";
import type { MeterRecord } from "../../../lib/kinde/meters.ts";

const OCTOBER_MS = Date.UTC(2026, 9, 5);
const NOVEMBER_MS = Date.UTC(2026, 10, 5);

let made = 0;
const record = (value: string, change: Partial<MeterRecord> = {}): MeterRecord => {
  made += 1;
  const usedAtMs = change.usedAtMs ?? OCTOBER_MS + made * 1_000;
  const defaults = { type: "absolute", createdAtMs: usedAtMs, cycleStartMs: OCTOBER_MS };
  return { id: `r${made}`, value, usedAtMs, ...defaults, ...change };
};
/** As the provider lists them: newest first. */
const total = (oldestFirst: MeterRecord[], truncated = false) =>
  totalOfCycle({ records: oldestFirst.toReversed(), truncated }, OCTOBER_MS);

test("absolute records set the total, deltas add to it, other cycles do not count", () => {
  const records = [
    record("5"),
    record("8"),
    record("3", { type: "delta" }),
    record("-1", { type: "delta" }),
    record("90", { cycleStartMs: NOVEMBER_MS, usedAtMs: NOVEMBER_MS + 1 }),
  ];
  expect(total(records)).toEqual({ kind: "total", totalUnits: 10 });
});

test("records of one instant count in the order in which they were made", () => {
  const usedAtMs = OCTOBER_MS + 5;
  expect(total([record("5", { usedAtMs }), record("8", { usedAtMs })])).toEqual({
    kind: "total",
    totalUnits: 8,
  });
});

test("what was dated back after the end moved no total", () => {
  const late = record("50", { usedAtMs: NOVEMBER_MS - 1, createdAtMs: NOVEMBER_MS + 10 });
  const next = record("1", { cycleStartMs: NOVEMBER_MS, usedAtMs: NOVEMBER_MS + 5 });
  expect(total([record("5"), next, late])).toEqual({ kind: "total", totalUnits: 5 });
});

test("a cycle without records has a total of 0", () => {
  expect(total([])).toEqual({ kind: "total", totalUnits: 0 });
});

test.each<[name: string, records: MeterRecord[], truncated: boolean]>([
  ["there are more records than were read", [record("5")], true],
  ["a record has no cycle", [record("5", { cycleStartMs: null })], false],
  ["a record is a fraction", [record("5.5")], false],
  ["a record does not say what it does", [record("5", { type: null })], false],
  ["the provider's cycles start elsewhere", [record("5", { cycleStartMs: OCTOBER_MS + 3_600_000 })], false],
  ["the sum is below zero", [record("-5", { type: "delta" })], false],
])("unknown where %s", (_name, records, truncated) => {
  expect(total(records, truncated)).toMatchObject({ kind: "unknown", reason: expect.any(String) });
});
