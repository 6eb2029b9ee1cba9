import { describe, expect, test } from "vitest";
import { UNKNOWN_CUSTOMER } from "../../lib/inbox/consequences.ts";
import { distinctOrders } from "../../lib/inbox/scenario.ts";
import { apply, applyAll, creditsOf, event, FREE, PRO, settled } from "./model.ts";

const at = (second: number): string => `2026-10-20T12:00:${String(second).padStart(2, "0")}Z`;
const email = (second: number, value: unknown, type = "user.updated") =>
  event(type, at(second), { email: value });

function inEveryOrder(events: readonly ReturnType<typeof event>[]) {
  const states = [...distinctOrders(events)].map((order) => applyAll(order));
  for (const state of states) expect(settled(state)).toEqual(settled(states[0]!));
  return states[0]!;
}

describe("customers", () => {
  test("C07: two events of one unknown customer: the second finds what the first made", () => {
    const [one, other] = [
      event("customer.plan_changed", at(1), { plan: { key: PRO } }),
      event("customer.payment_succeeded", at(2)),
    ];
    const first = apply(UNKNOWN_CUSTOMER, one);
    expect(first.effects[0]).toEqual({ kind: "account", userId: "kp_1", customerId: "customer_1" });
    const second = apply(first.state, other);
    expect(second.effects.filter(({ kind }) => kind === "account")).toEqual([]);
    expect([first.outcome.kind, second.outcome.kind]).toEqual(["applied", "applied"]);
  });

  test("an id that was missing is added, one that is there stays", () => {
    const known = applyAll([event("user.created", at(1))]);
    expect(known.account).toMatchObject({ userId: "kp_1", customerId: null });
    const linked = applyAll([event("customer.payment_failed", at(2))], known);
    expect(linked.account).toMatchObject({ userId: "kp_1", customerId: "customer_1" });
    const other = event("customer.payment_failed", at(3), { customer_id: "customer_2" });
    expect(applyAll([other], linked).account?.customerId).toBe("customer_1");
  });

  test("the newest email stays in every order; an event without one tells nothing about it", () => {
    const events = [email(1, "a@b.example", "user.created"), email(2, "c@d.example"), email(3, undefined)];
    expect(inEveryOrder(events).account?.profile?.email).toBe("c@d.example");
    expect(inEveryOrder([email(1, "a@b.example"), email(2, null)]).account?.profile?.email).toBeNull();
    expect(apply(applyAll([email(2, "c@d.example")]), email(1, "a@b.example")).outcome).toMatchObject({
      kind: "ignored",
      reason: "a newer profile is already stored",
    });
  });

  test("a deletion stands in every order: no email stays or comes back, the facts do", () => {
    const events = [
      email(1, "a@b.example", "user.created"),
      event("customer.plan_changed", at(2), { plan: { key: PRO } }),
      event("user.deleted", at(3)),
      email(4, "c@d.example"),
    ];
    const state = inEveryOrder(events);
    expect(state.account).toMatchObject({ profile: null, deletedAtMs: Date.parse(at(3)), planKey: PRO });
    expect(state.planFacts).toHaveLength(1);
  });

  test("a user who was never seen leaves a tombstone, so that nothing makes it alive later", () => {
    const state = applyAll([event("user.deleted", at(3))]);
    expect(state.account).toMatchObject({ userId: "kp_1", deletedAtMs: Date.parse(at(3)) });
    expect(
      inEveryOrder([event("user.deleted", at(3)), event("user.deleted", at(5))]).account?.deletedAtMs,
    ).toBe(Date.parse(at(3)));
  });
});

describe("payments", () => {
  const overdue = (second: number) => event("customer.invoice_overdue", at(second));
  const paid = (second: number) => event("customer.payment_succeeded", at(second));
  const failed = (second: number) => event("customer.payment_failed", at(second));

  test.each([
    ["overdue since the first notice", [overdue(2), overdue(5)], 2],
    ["paid after the last notice", [overdue(2), overdue(5), paid(6)], null],
    ["paid between two notices", [overdue(2), paid(3), overdue(5)], 5],
    ["paid at the instant of the notice", [overdue(2), paid(2)], null],
    ["a failed payment ends nothing and starts nothing", [overdue(2), failed(3)], 2],
  ] as const)("%s, in every order", (_, events, second) => {
    const expected = second === null ? null : Date.parse(at(second));
    expect(inEveryOrder(events).account?.overdueSinceMs).toBe(expected);
  });

  test("a payment sets no plan, whatever plan it names; a failed one asks for no credits", () => {
    const state = applyAll([event("customer.payment_succeeded", at(1), { plan: { key: PRO } })]);
    expect(state.account?.planKey).toBe(FREE);
    expect(creditsOf(state)).toEqual({ "2026-10": 10 });
    expect(creditsOf(applyAll([failed(1), overdue(2)]))).toEqual({});
  });
});

describe("outcomes", () => {
  test("C35: an event that cannot be read changes nothing and names the path", () => {
    const { effects, outcome } = apply(UNKNOWN_CUSTOMER, event("customer.plan_changed", at(1), { plan: {} }));
    expect(effects).toEqual([]);
    expect(outcome).toMatchObject({ kind: "permanent", path: "data.plan.key" });
  });

  test("C35: an unknown type changes nothing and says so", () => {
    expect(apply(UNKNOWN_CUSTOMER, event("customer.plan_created", at(1)))).toMatchObject({
      effects: [],
      outcome: { kind: "ignored", reason: "no handler for the type customer.plan_created" },
    });
  });

  test("S12: every event again, on the state it led to, writes nothing", () => {
    const events = [
      event("customer.agreement_created", at(1), { agreement_id: "a", plan: { code: PRO } }),
      event("customer.plan_assigned", at(1), { plan: { key: PRO } }),
      event("customer.payment_succeeded", at(2)),
      event("customer.payment_failed", at(3)),
      event("customer.invoice_overdue", at(4)),
      event("customer.agreement_cancelled", at(5), { agreement_id: "a" }),
      event("customer.plan_changed", at(6), { plan: { key: FREE } }),
      event("customer.meter_usage_updated", at(7)),
      email(8, "a@b.example", "user.created"),
      email(9, "c@d.example"),
      event("user.deleted", at(10)),
    ];
    const state = applyAll(events);
    for (const again of events) expect(apply(state, again).effects).toEqual([]);
  });
});
