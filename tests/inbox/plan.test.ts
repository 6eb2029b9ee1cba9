import { describe, expect, test } from "vitest";
import { decideEvent, NEWER_CANCELLATION, NEWER_CHANGE, NOTHING_TO_END } from "../../lib/inbox/handlers.ts";
import { DEFAULT_ALLOWANCES } from "../../lib/inbox/allowance.ts";
import { UNKNOWN_CUSTOMER } from "../../lib/inbox/consequences.ts";
import { readEvent } from "../../lib/inbox/read-event.ts";
import { distinctOrders } from "../../lib/inbox/scenario.ts";
import { apply, applyAll, creditsOf, event, FREE, PRO, settled, STARTER } from "./model.ts";

type Body = ReturnType<typeof event>;

const T = (time: string): string => `2026-10-20T${time}Z`;
const changed = (at: string, key: string, agreementId?: string, id?: string) =>
  event("customer.plan_changed", at, { plan: { key }, agreement_id: agreementId }, id);
const assigned = (at: string, key: string, agreementId?: string, id?: string) =>
  event("customer.plan_assigned", at, { plan: { key }, agreement_id: agreementId }, id);
const created = (at: string, agreementId: string, key?: string) =>
  event("customer.agreement_created", at, { agreement_id: agreementId, plan: key && { key } });
const cancelled = (at: string, agreementId?: string) =>
  event("customer.agreement_cancelled", at, { agreement_id: agreementId });
const paid = (at: string) => event("customer.payment_succeeded", at);

/** The one plan that all orders of the events end with. */
function planInEveryOrder(events: readonly Body[]): string {
  const orders = [...distinctOrders(events)].map((order) => applyAll(order));
  const [first, ...others] = orders.map(settled);
  for (const other of others) expect(other).toEqual(first);
  return orders[0]!.account!.planKey;
}

describe("the newest fact decides", () => {
  test("C01: at one instant a change outranks an assignment, and of two changes the greater id counts", () => {
    const at = T("12:00:00.123456789");
    expect(planInEveryOrder([changed(at, STARTER), assigned(at, PRO)])).toBe(STARTER);
    expect(planInEveryOrder([changed(at, STARTER, "a", "event_b"), changed(at, PRO, "b", "event_a")])).toBe(
      STARTER,
    );
    expect(planInEveryOrder([changed(at, STARTER, "a", "event_B"), changed(at, PRO, "b", "event_a")])).toBe(
      PRO,
    );
  });

  test("C01b: two changes in one millisecond are ordered by the nanosecond, in any spelling", () => {
    const later = "2026-10-21T02:29:24.481368869+11";
    const earlier = "2026-10-20T15:29:24.481068869Z";
    expect(
      planInEveryOrder([
        changed(later, PRO, undefined, "event_a"),
        changed(earlier, STARTER, undefined, "event_b"),
      ]),
    ).toBe(PRO);
  });

  test("C03: a change at t=2, then the older creation at t=1: the newer stays, no credits again", () => {
    const newer = applyAll([changed(T("12:00:02"), PRO)]);
    const { state, outcome } = apply(newer, created(T("12:00:01"), "a", PRO));
    expect(outcome).toEqual({ kind: "ignored", reason: NEWER_CHANGE });
    expect(state.account?.planKey).toBe(PRO);
    expect(state.grants).toEqual(newer.grants);
  });

  test("C04: a cancellation at t=9, then the creation at t=3 that it ended: Free, superseded with a reason", () => {
    const events = [created(T("12:00:03"), "a", STARTER), cancelled(T("12:00:09"), "a")];
    expect(planInEveryOrder(events)).toBe(FREE);
    const { state, outcome } = apply(applyAll([events[1]!]), events[0]!);
    expect(outcome).toEqual({ kind: "applied", note: NEWER_CANCELLATION });
    expect(creditsOf(state)).toEqual({ "2026-10": 100 });
    expect(apply(state, events[0]!).effects).toEqual([]);
  });
});

describe("a cancellation ends what it names", () => {
  test("C04b: the old agreement cancelled 5 ms after the change that replaced it: stays Pro", () => {
    const old = created(T("09:00:00"), "old", STARTER);
    const end = cancelled(T("12:00:00.005"), "old");
    expect(planInEveryOrder([old, changed(T("12:00:00"), PRO, "new"), end])).toBe(PRO);
    expect(planInEveryOrder([old, changed(T("12:00:00"), PRO), end])).toBe(PRO);
    expect(planInEveryOrder([changed(T("12:00:00"), PRO, "new"), end])).toBe(PRO);
    expect(planInEveryOrder([changed(T("12:00:00"), PRO), end])).toBe(PRO);
    expect(planInEveryOrder([changed(T("12:00:00"), PRO), created(T("12:00:00.001"), "new", PRO), end])).toBe(
      PRO,
    );
  });

  test("C04b: a renewal of the same plan: the old one ended, the plan stays", () => {
    const old = created(T("09:00:00"), "old", PRO);
    expect(planInEveryOrder([old, changed(T("12:00:00"), PRO), cancelled(T("12:00:01"), "old")])).toBe(PRO);
  });

  test("the agreement of the change cancelled: Free, whether the change named it or not", () => {
    const end = cancelled(T("15:00:00"), "new");
    expect(planInEveryOrder([changed(T("12:00:00"), PRO, "new"), end])).toBe(FREE);
    expect(planInEveryOrder([changed(T("12:00:00"), PRO), end])).toBe(FREE);
    expect(planInEveryOrder([changed(T("12:00:00"), PRO), created(T("12:00:00.001"), "new", PRO), end])).toBe(
      FREE,
    );
    expect(planInEveryOrder([created(T("11:59:59.999"), "new", PRO), changed(T("12:00:00"), PRO), end])).toBe(
      FREE,
    );
    expect(planInEveryOrder([changed(T("12:00:00"), PRO), created(T("12:00:00.001"), "new"), end])).toBe(
      FREE,
    );
    // Known to have started with the change, so it is not the one that was replaced.
    const soon = cancelled(T("12:00:30"), "new");
    expect(planInEveryOrder([changed(T("12:00:00"), PRO), created(T("12:00:00.001"), "new"), soon])).toBe(
      FREE,
    );
  });

  test("another agreement in force takes over; Free only when none is left", () => {
    const events = [created(T("09:00:00"), "one", STARTER), created(T("10:00:00"), "two", PRO)];
    expect(planInEveryOrder([...events, cancelled(T("11:00:00"), "two")])).toBe(STARTER);
    expect(planInEveryOrder([...events, cancelled(T("11:00:00"), "one")])).toBe(PRO);
    expect(
      planInEveryOrder([...events, cancelled(T("11:00:00"), "two"), cancelled(T("12:00:00"), "one")]),
    ).toBe(FREE);
  });

  test("a change that named no agreement does not come back when a later one ends", () => {
    const events = [
      changed(T("09:00:00"), PRO),
      changed(T("10:00:00"), STARTER),
      cancelled(T("15:00:00"), "x"),
    ];
    expect(planInEveryOrder(events)).toBe(FREE);
  });

  test("without an agreement id the event time decides", () => {
    const [change, other] = [changed(T("12:00:00"), PRO, "a"), created(T("11:00:00"), "b", STARTER)];
    expect(planInEveryOrder([change, other, cancelled(T("12:00:01"))])).toBe(FREE);
    expect(planInEveryOrder([change, other, cancelled(T("11:59:59"))])).toBe(PRO);
    // At one instant the cancellation comes first: it ends the old, the other starts the new.
    expect(planInEveryOrder([change, cancelled(T("12:00:00"))])).toBe(PRO);
  });

  test("one that finds nothing to end, and one that is too old, say so", () => {
    const end = cancelled(T("12:00:00"), "x");
    expect(apply(UNKNOWN_CUSTOMER, end).outcome).toEqual({ kind: "ignored", reason: NOTHING_TO_END });
    const { outcome } = apply(applyAll([changed(T("12:00:01"), PRO)]), end);
    expect(outcome).toEqual({ kind: "ignored", reason: NEWER_CHANGE });
  });

  test("an agreement made again after its end goes on, and its row has no end", () => {
    const events = [
      created(T("09:00:00"), "a", PRO),
      cancelled(T("10:00:00"), "a"),
      changed(T("11:00:00"), PRO, "a"),
    ];
    expect(planInEveryOrder(events)).toBe(PRO);
    expect(applyAll(events).agreements).toEqual([
      { agreementId: "a", planKey: PRO, fromMs: Date.parse(T("09:00:00")), untilMs: null },
    ]);
  });
});

describe("agreements", () => {
  const [from, until] = [Date.parse(T("09:00:00")), Date.parse(T("12:00:00.005"))];

  test("their spans are learnt from events, in any order", () => {
    const events = [
      created(T("09:00:00"), "old", STARTER),
      changed(T("12:00:00"), PRO, "new"),
      created(T("12:00:00.002"), "new", PRO),
      cancelled(T("12:00:00.005"), "old"),
    ];
    planInEveryOrder(events);
    expect(settled(applyAll(events))).toMatchObject({
      account: { planKey: PRO, anchor: { atMs: from, source: "agreement" } },
      agreements: [
        { agreementId: "new", planKey: PRO, fromMs: Date.parse(T("12:00:00")), untilMs: null },
        { agreementId: "old", planKey: STARTER, fromMs: from, untilMs: until },
      ],
    });
  });

  test("a cancellation alone makes no row; its agreement's start adds it with its end", () => {
    const ended = applyAll([cancelled(T("12:00:00.005"), "old")]);
    expect(ended.agreements).toEqual([]);
    const known = applyAll([created(T("09:00:00"), "old", STARTER)], ended);
    expect(known.agreements).toEqual([
      { agreementId: "old", planKey: STARTER, fromMs: from, untilMs: until },
    ]);
  });

  test("one that a listing told is ended by an event, and sets no plan: a listing may lag", () => {
    const told = { agreementId: "old", planKey: STARTER, fromMs: from, untilMs: null };
    const start = { ...applyAll([paid(T("08:00:00"))]), agreements: [told] };
    const onStarter = applyAll([paid(T("09:30:00"))], start);
    expect(onStarter.account?.planKey).toBe(FREE);
    const onPro = applyAll([changed(T("12:00:00"), PRO), cancelled(T("12:00:00.005"), "old")], start);
    expect(onPro.account?.planKey).toBe(PRO);
    expect(onPro.agreements).toEqual([{ ...told, untilMs: until }]);
    const ended = applyAll([cancelled(T("12:00:00.005"), "old")], start);
    expect(ended.account?.planKey).toBe(FREE);
    expect(ended.agreements).toEqual([{ ...told, untilMs: until }]);
  });

  test("nothing moves an anchor that is frozen or better known", () => {
    const known = applyAll([paid(T("08:00:00"))]);
    for (const anchor of [
      { atMs: 5, source: "creation", isFrozen: true },
      { atMs: 5, source: "operator", isFrozen: false },
      { atMs: 5, source: "subscription", isFrozen: false },
    ] as const) {
      const state = { ...known, account: { ...known.account!, anchor } };
      expect(applyAll([created(T("09:00:00"), "a", PRO)], state).account?.anchor).toEqual(anchor);
    }
  });
});

describe("plans", () => {
  test("a plan that is not in the catalogue is set, granted nothing, and put before a person", () => {
    const { state, effects } = apply(UNKNOWN_CUSTOMER, changed(T("12:00:00"), "customer_gold_plan"));
    expect(effects).toContainEqual({ kind: "review", review: "unknown_plan", subject: "customer_gold_plan" });
    expect(state.account?.planKey).toBe("customer_gold_plan");
    expect(creditsOf(state)).toEqual({ "2026-10": 10 });
    const known = {
      ...DEFAULT_ALLOWANCES,
      unitsByPlan: { ...DEFAULT_ALLOWANCES.unitsByPlan, customer_gold_plan: 900 },
    };
    const { effects: later } = decideEvent(readEvent(paid(T("12:00:01"))), state, known);
    expect(later).toContainEqual({
      kind: "credit",
      row: expect.objectContaining({ units: 890, planKey: "customer_gold_plan" }),
    });
  });

  test("a change asks for a fresh reading of the limit, an older one and a copy do not", () => {
    const reads = (state: typeof UNKNOWN_CUSTOMER, body: Body) =>
      apply(state, body).effects.filter(({ kind }) => kind === "limit_read").length;
    const change = changed(T("12:00:00"), PRO);
    const state = applyAll([change]);
    expect(reads(UNKNOWN_CUSTOMER, change)).toBe(1);
    expect(reads(state, change)).toBe(0);
    expect(reads(state, assigned(T("11:00:00"), STARTER))).toBe(0);
    expect(reads(state, paid(T("13:00:00")))).toBe(0);
  });
});
