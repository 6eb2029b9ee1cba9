import { describe, expect, test } from "vitest";
import {
  allowanceOf,
  balanceOf,
  DEFAULT_ALLOWANCES,
  periodAt,
  returnCredit,
  takeCredit,
  type CreditRow,
} from "../../lib/inbox/allowance.ts";
import { consequencesOf, UNKNOWN_CUSTOMER, type CustomerState } from "../../lib/inbox/consequences.ts";
import { distinctOrders } from "../../lib/inbox/scenario.ts";
import { apply, applyAll, creditsOf, event, FREE, PRO, settled, STARTER, withEffects } from "./model.ts";

type Body = ReturnType<typeof event>;

const changed = (at: string, key: string) => event("customer.plan_changed", at, { plan: { key } });
const cancelled = (at: string) => event("customer.agreement_cancelled", at);
const paid = (at: string) => event("customer.payment_succeeded", at);

function creditsInEveryOrder(events: readonly Body[]): Record<string, number> {
  const states = [...distinctOrders(events)].map((order) => applyAll(order));
  for (const state of states) expect(settled(state)).toEqual(settled(states[0]!));
  return creditsOf(states[0]!);
}

/** The first time a balance is needed in a month. */
const looked = (state: CustomerState, period: string): CustomerState =>
  withEffects(state, consequencesOf(state, DEFAULT_ALLOWANCES, [period]).effects);

describe("periods", () => {
  test.each([
    ["2026-09-30T23:59:59.999Z", "2026-09"],
    ["2026-10-01T00:00:00Z", "2026-10"],
    ["2026-10-01T10:59:59+11:00", "2026-09"],
  ])("%s is in %s", (at, period) => {
    expect(periodAt(Date.parse(at))).toBe(period);
  });

  test("the three plans, and one that is not in the catalogue", () => {
    expect([FREE, STARTER, PRO].map((key) => allowanceOf(DEFAULT_ALLOWANCES, key))).toEqual([10, 100, 500]);
    expect(allowanceOf(DEFAULT_ALLOWANCES, "customer_gold_plan")).toBeNull();
    expect(allowanceOf(DEFAULT_ALLOWANCES, "toString")).toBeNull();
  });
});

describe("grants", () => {
  test("C10: a payment three times, replayed twice: one grant", () => {
    const start = applyAll([changed("2026-09-10T00:00:00Z", PRO)]);
    const payment = paid("2026-10-10T00:00:00Z");
    const state = applyAll([payment, payment, payment, payment, payment], start);
    expect(state.grants.filter(({ period }) => period === "2026-10")).toEqual([
      { period: "2026-10", units: 500, reason: "grant", entryKey: "grant:2026-10:1", planKey: PRO },
    ]);
  });

  test("C11: payment and plan change for one month: one Pro grant, in both orders", () => {
    const events = [changed("2026-10-10T00:00:00Z", PRO), paid("2026-10-10T00:00:01Z")];
    expect(creditsInEveryOrder(events)).toEqual({ "2026-10": 500 });
    for (const order of distinctOrders(events)) {
      expect(applyAll(order).grants.filter(({ planKey }) => planKey === PRO)).toHaveLength(1);
    }
  });

  test("C02b: Pro, then Starter: Starter with the credits of Pro, in both orders", () => {
    const events = [changed("2026-10-10T00:00:00Z", PRO), changed("2026-10-12T00:00:00Z", STARTER)];
    expect(creditsInEveryOrder(events)).toEqual({ "2026-10": 500 });
    expect(applyAll(events).account?.planKey).toBe(STARTER);
  });

  test("C02b: the payment for Pro comes after a later cancellation: the same plan and credits in every order", () => {
    const events = [
      changed("2026-10-10T00:00:00Z", PRO),
      paid("2026-10-10T00:00:05Z"),
      cancelled("2026-10-25T00:00:00Z"),
    ];
    expect(creditsInEveryOrder(events)).toEqual({ "2026-10": 500 });
    expect(applyAll(events).account?.planKey).toBe(FREE);
  });

  test("C02b: across months: a cancellation before the month it is learnt in leaves that month with Free", () => {
    const events = [
      changed("2026-09-28T00:00:00Z", PRO),
      cancelled("2026-09-29T00:00:00Z"),
      paid("2026-10-01T00:00:00Z"),
    ];
    expect(creditsInEveryOrder(events)).toEqual({ "2026-09": 500, "2026-10": 10 });
    // Learnt late, it takes a line of its own to put the month right.
    const late = applyAll([events[0]!, events[2]!, events[1]!]);
    expect(late.grants.filter(({ period }) => period === "2026-10").map(({ units }) => units)).toEqual([
      500, -490,
    ]);
  });

  test("a downgrade takes nothing back in its month; the next one starts with the lower plan", () => {
    const start = applyAll([changed("2026-09-10T00:00:00Z", PRO), paid("2026-10-01T00:00:00Z")]);
    const state = applyAll([changed("2026-10-15T00:00:00Z", FREE)], start);
    expect(creditsOf(state)).toEqual({ "2026-09": 500, "2026-10": 500 });
    expect(creditsOf(looked(state, "2026-11"))).toMatchObject({ "2026-11": 10 });
  });

  test("a plan that ends with the last nanosecond of a month is not of the next one", () => {
    const events = [changed("2026-09-10T00:00:00Z", PRO), changed("2026-10-01T00:00:00Z", FREE)];
    expect(creditsInEveryOrder(events)).toEqual({ "2026-09": 500, "2026-10": 10 });
    const later = [events[0]!, changed("2026-10-01T00:00:00.000000001Z", FREE)];
    expect(creditsInEveryOrder(later)).toEqual({ "2026-09": 500, "2026-10": 500 });
  });

  test("a plan outranked at its own instant earns nothing", () => {
    const at = "2026-10-10T00:00:00Z";
    const event1 = event("customer.plan_assigned", at, { plan: { key: PRO } });
    expect(creditsInEveryOrder([event1, changed(at, STARTER)])).toEqual({ "2026-10": 100 });
  });

  test("quiet months and Free accounts get theirs at the first look, once", () => {
    const start = applyAll([changed("2026-09-10T00:00:00Z", PRO)]);
    const state = looked(looked(start, "2026-12"), "2026-12");
    expect(creditsOf(state)).toEqual({ "2026-09": 500, "2026-12": 500 });
    const free = applyAll([event("user.created", "2026-10-01T00:00:00Z")], UNKNOWN_CUSTOMER);
    expect(creditsOf(looked(free, "2026-10"))).toEqual({ "2026-10": 10 });
  });
});

describe("reminders", () => {
  const period = "2026-10";
  const grants = looked(applyAll([event("user.created", "2026-10-01T00:00:00Z")]), period).grants;

  test("each takes one credit, the eleventh of a Free month is refused", () => {
    const rows: CreditRow[] = [...grants];
    for (let count = 0; count < 10; count += 1) {
      const taken = takeCredit(period, `r${count}`, rows);
      expect(taken.kind).toBe("taken");
      if (taken.kind === "taken") rows.push(taken.row);
    }
    expect(takeCredit(period, "r10", rows)).toEqual({ kind: "refused", balanceUnits: 0 });
    expect(new Set(rows.map(({ entryKey }) => entryKey)).size).toBe(rows.length);
  });

  test("a cancelled one gives its credit back to the month it was taken from, under a key of its own", () => {
    const taken = takeCredit(period, "r1", grants);
    if (taken.kind !== "taken") throw new Error("refused");
    const returned = returnCredit(taken.row);
    expect(returned).toEqual({
      period,
      units: 1,
      reason: "reminder_returned",
      entryKey: "returned:reminder:r1",
      planKey: null,
    });
    expect(balanceOf(period, [...grants, taken.row])).toBe(9);
    expect(balanceOf(period, [...grants, taken.row, returned])).toBe(10);
    expect(() => returnCredit(returned)).toThrow("only what a reminder took");
  });

  test("spending does not bring new grants: they follow the grants of the month, never the balance", () => {
    const spent = { ...applyAll([changed("2026-10-10T00:00:00Z", PRO)]) };
    expect(
      apply(spent, paid("2026-10-11T00:00:00Z")).effects.filter(({ kind }) => kind === "credit"),
    ).toEqual([]);
  });

  test("a correction after more was spent leaves nothing, not less than nothing", () => {
    const rows: CreditRow[] = [
      { period, units: 500, reason: "grant", entryKey: "1", planKey: PRO },
      ...Array.from(
        { length: 20 },
        (_, n) => ({ period, units: -1, reason: "reminder", entryKey: `r${n}`, planKey: null }) as const,
      ),
      { period, units: -490, reason: "grant", entryKey: "2", planKey: FREE },
    ];
    expect(balanceOf(period, rows)).toBe(0);
    expect(takeCredit(period, "x", rows)).toEqual({ kind: "refused", balanceUnits: 0 });
  });
});
