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

const delta = (ms: number) => record("1", { type: "delta", createdAtMs: OCTOBER_MS + ms });
const next = (ms: number) => [record("1", { cycleStartMs: NOVEMBER_MS, usedAtMs: NOVEMBER_MS + ms })];

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

test("a list that is newest first tells the order of what has no time of its own, or an equal one", () => {
  const createdAtMs = OCTOBER_MS + 7_000;
  const records = [
    record("5", { createdAtMs }),
    record("2", { type: "delta", createdAtMs: null, usedAtMs: OCTOBER_MS }),
    record("9", { createdAtMs: null, usedAtMs: OCTOBER_MS + 1 }),
    record("1", { type: "delta", createdAtMs }),
  ];
  expect(total(records)).toEqual({ kind: "total", totalUnits: 10 });
});

test("a list in another order is put in order by the times alone, where they tell it", () => {
  const times = [30, 10, 20].map((ms) => ({ createdAtMs: OCTOBER_MS + ms }));
  const records = [record("7", times[0]), record("5", times[1]), record("6", times[2])];
  expect(total(records)).toEqual({ kind: "total", totalUnits: 7 });
  const deltas = [10, 30, 30, 20].map((ms, index) =>
    record(index === 0 ? "5" : "1", {
      type: index === 0 ? "absolute" : "delta",
      createdAtMs: OCTOBER_MS + ms,
    }),
  );
  expect(total(deltas)).toEqual({ kind: "total", totalUnits: 8 });
});

test("what was dated back after the end moved no total", () => {
  const late = record("50", { usedAtMs: NOVEMBER_MS - 1, createdAtMs: NOVEMBER_MS + 10 });
  const next = record("1", { cycleStartMs: NOVEMBER_MS, usedAtMs: NOVEMBER_MS + 5 });
  expect(total([record("5"), next, late])).toEqual({ kind: "total", totalUnits: 5 });
});

test("a cycle without records has a total of 0", () => {
  expect(total([])).toEqual({ kind: "total", totalUnits: 0 });
});

test("of more records than were read the oldest are missing, and an absolute one after them has set the total", () => {
  const records = [
    record("-9", { type: "delta" }),
    record("8"),
    record("3", { type: "delta" }),
    record("90", { cycleStartMs: NOVEMBER_MS, usedAtMs: NOVEMBER_MS + 1 }),
  ];
  expect(total(records, true)).toEqual({ kind: "total", totalUnits: 11 });
});

test.each<[name: string, records: MeterRecord[], truncated: boolean]>([
  [
    "there are more records than were read, and none that are there sets it",
    [5, 6].map((ms) => delta(ms)),
    true,
  ],
  ["there are more records than were read, and none of its cycle is there", [...next(1), ...next(2)], true],
  [
    "there are more records than were read, and the list is not newest first",
    [20, 10].map((ms) => record("5", { createdAtMs: OCTOBER_MS + ms })),
    true,
  ],
  [
    "there are more records than were read, and their times do not tell how they are listed",
    [10, 10].map((ms) => record("5", { createdAtMs: OCTOBER_MS + ms })),
    true,
  ],
  [
    "there are more records than were read, and the one that sets a total came after the end",
    [delta(5), ...next(1), record("5", { createdAtMs: NOVEMBER_MS + 10 })],
    true,
  ],
  ["a record has no cycle", [record("5", { cycleStartMs: null })], false],
  ["a record is a fraction", [record("5.5")], false],
  ["a record does not say what it does", [record("5", { type: null })], false],
  ["the provider's cycles start elsewhere", [record("5", { cycleStartMs: OCTOBER_MS + 3_600_000 })], false],
  [
    "the list has no order and two absolute records have one instant",
    [30, 10, 30].map((ms, index) => record(String(index), { createdAtMs: OCTOBER_MS + ms })),
    false,
  ],
  [
    "the list has no order and a record has no instant",
    [30, 10, null].map((ms) => record("1", { createdAtMs: ms === null ? null : OCTOBER_MS + ms })),
    false,
  ],
  [
    "a record without an instant may have come after the end",
    [record("1", { cycleStartMs: NOVEMBER_MS }), record("5", { createdAtMs: null })],
    false,
  ],
  ["the sum is below zero", [record("-5", { type: "delta" })], false],
])("unknown where %s", (_name, records, truncated) => {
  expect(total(records, truncated)).toMatchObject({ kind: "unknown", reason: expect.any(String) });
});

test.each([
  ["two milliseconds before ours", -2],
  ["two milliseconds after ours", 2],
  ["a whole second after ours", 1_000],
  ["a minute after ours", 60_000],
])("B44: a cycle that the provider starts %s is ours", (_name, apartMs) => {
  const cycleStartMs = OCTOBER_MS + apartMs;
  const november = { cycleStartMs: NOVEMBER_MS + apartMs, usedAtMs: NOVEMBER_MS + apartMs + 1 };
  const records = [record("60", { cycleStartMs }), record("100", { cycleStartMs }), record("5", november)];
  expect(total(records)).toEqual({ kind: "total", totalUnits: 100 });
});

test("one that starts more than a minute from ours is another cycle", () => {
  expect(total([record("100", { cycleStartMs: OCTOBER_MS + 60_001 })])).toMatchObject({ kind: "unknown" });
});
