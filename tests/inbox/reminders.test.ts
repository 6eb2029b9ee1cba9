import { describe, expect, test } from "vitest";

import { type CreditRow, returnCredit, takeCredit } from "../../lib/inbox/allowance.ts";
import { creditBalance, judgeCancel, roomFor, textFault } from "../../lib/inbox/reminders.ts";

const PERIOD = "2026-12";
const grant = (units: number, period = PERIOD): CreditRow => {
  return { period, units, reason: "grant", entryKey: `grant:${units}`, planKey: "customer_free_plan" };
};
const taken = (reminderId: string): CreditRow => {
  const answer = takeCredit(PERIOD, reminderId, [grant(1)]);
  if (answer.kind !== "taken") throw new Error("there was one");
  return answer.row;
};

describe("a balance", () => {
  test("sums each kind of line of its month, and no other month's", () => {
    const rows = [
      grant(10),
      grant(490),
      grant(7, "2026-11"),
      taken("a"),
      taken("b"),
      returnCredit(taken("a")),
    ];
    expect(creditBalance(PERIOD, rows)).toEqual({
      period: PERIOD,
      grantedUnits: 500,
      takenUnits: 2,
      returnedUnits: 1,
      leftUnits: 499,
      nextPeriodStartMs: Date.UTC(2027, 0, 1),
    });
  });

  test("is never below zero, also when a correction came after more was spent", () => {
    const rows = [grant(3), taken("a"), taken("b"), grant(-2)];
    expect(creditBalance(PERIOD, rows)).toMatchObject({ grantedUnits: 1, takenUnits: 2, leftUnits: 0 });
  });
});

test("a month takes reminders while a credit is left", () => {
  expect(roomFor(PERIOD, [grant(1)])).toEqual({ kind: "room" });
  const balance = { leftUnits: 0, grantedUnits: 1 };
  expect(roomFor(PERIOD, [grant(1), taken("a")])).toMatchObject({ kind: "no_credits", balance });
});

test("it takes 3,000 at most, however many of them were cancelled", () => {
  const cancelled = Array.from({ length: 3_000 }, (_none, index) => taken(String(index)));
  const rows = [grant(1), ...cancelled, ...cancelled.map(returnCredit)];
  expect(roomFor(PERIOD, rows)).toMatchObject({ kind: "too_many" });
  expect(
    roomFor(
      PERIOD,
      rows.filter(({ entryKey }) => !entryKey.endsWith(":7")),
    ),
  ).toEqual({ kind: "room" });
});

test.each([
  ["waiting", 999, "cancel"],
  ["waiting", 1_000, "too_late"],
  ["delivered", 999, "too_late"],
  ["delivered", 1_001, "too_late"],
  ["cancelled", 1_001, "already"],
] as const)("a %s one that is due at 1000 is asked about at %i: %s", (status, nowMs, verdict) => {
  expect(judgeCancel({ status, dueAtMs: 1_000 }, nowMs)).toBe(verdict);
});

test.each(["one line\nand another", "\u{1F600}".repeat(500)])("a good text %#", (text) => {
  expect(textFault(text)).toBeNull();
});

test.each([
  ["\u{1F600}".repeat(501), "at most"],
  ["a\u0085b", "control"],
  ["\u00a0\u2003\n", "empty"],
])("a text that is refused %#", (text, fault) => {
  expect(textFault(text)).toContain(fault);
});
