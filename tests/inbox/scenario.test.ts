import { describe, expect, test } from "vitest";
import { applyNaively, NAIVE_START } from "../../lib/inbox/naive.ts";
import {
  DELIVERIES,
  distinctOrders,
  scenarioBodies,
  shuffled,
  stepsOf,
  type StepKind,
} from "../../lib/inbox/scenario.ts";
import { MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";
import { applyAll, creditsOf, event, FREE, InboxModel, PRO } from "./model.ts";

const CHANGED_MS = Date.parse("2026-10-20T15:29:24Z");
const BODIES = scenarioBodies({ userId: "kp_1", customerId: "customer_1", run: "r1" }, PRO, CHANGED_MS);
const ID = (name: string): string => `event:event_r1_${name}`;

/** A Free account that has its 10 credits of October. */
const START = applyAll([
  event("customer.agreement_created", "2026-10-05T00:00:00Z", {
    agreement_id: "agreement_0",
    plan: { key: FREE },
  }),
]);

/** Runs the deliveries a minute apart; in the one that stops, the attempt ends as told. */
function runPipeline(order: readonly StepKind[], stop: "throws" | "crashes", gapMs = MINUTE_MS): InboxModel {
  const inbox = new InboxModel(START);
  let nowMs = CHANGED_MS + MINUTE_MS;
  for (const step of stepsOf(order)) {
    inbox.deliver(BODIES[step.event], nowMs);
    inbox.work(nowMs, step.stops ? stop : "well");
    nowMs += gapMs;
  }
  return inbox;
}

const proGrants = (inbox: InboxModel): number =>
  inbox.state.grants.filter(({ planKey }) => planKey === PRO).length;

describe("S10: nine deliveries of three events", () => {
  test("S10: the naive handler: Pro with 10 after two, Free after seven, Pro with 2,950 at the end", () => {
    let account = NAIVE_START;
    const after = stepsOf(DELIVERIES).map((step) => (account = applyNaively(account, step)));
    expect(after).toEqual([
      { plan: "free", balance: 10 },
      { plan: "pro", balance: 10 },
      { plan: "pro", balance: 500 },
      { plan: "pro", balance: 990 },
      { plan: "pro", balance: 1_480 },
      { plan: "pro", balance: 1_970 },
      { plan: "free", balance: 1_970 },
      { plan: "pro", balance: 2_460 },
      { plan: "pro", balance: 2_950 },
    ]);
  });

  test.each(["throws", "crashes"] as const)(
    "S10: the pipeline, the worker of the first change %s: Pro with 500 and one Pro grant",
    (stop) => {
      const inbox = runPipeline(DELIVERIES, stop);
      expect(inbox.state.account?.planKey).toBe(PRO);
      expect(creditsOf(inbox.state)).toEqual({ "2026-10": 500 });
      expect(proGrants(inbox)).toBe(1);
      expect(inbox.receipts).toHaveLength(9);
      expect(inbox.events.size).toBe(3);
      const seen = [...inbox.events.values()].map(({ progress }) => progress.seenCount);
      expect(seen.reduce((copies, count) => copies + count - 1, 0)).toBe(6);
      expect(inbox.events.get(ID("cancellation"))!.progress).toMatchObject({
        status: "ignored",
        result: "a newer plan change is already stored",
      });
      expect(inbox.events.get(ID("change"))!.progress).toMatchObject({
        status: "applied",
        attempts: 2,
        seenCount: 3,
      });
    },
  );

  test("S10: the change that stopped stays stored, and the next copy runs it to the end, a second later", () => {
    const inbox = runPipeline(DELIVERIES.slice(0, 2), "throws", SECOND_MS);
    expect(inbox.events.get(ID("change"))!.progress).toMatchObject({ status: "failed", attempts: 1 });
    expect(inbox.state.account?.planKey).toBe(FREE);
    const next = runPipeline(DELIVERIES.slice(0, 3), "throws", SECOND_MS);
    expect(next.events.get(ID("change"))!.progress).toMatchObject({ status: "applied", attempts: 2 });
    expect(next.state.account?.planKey).toBe(PRO);
  });
});

describe("S11: every order", () => {
  test("S11: all 504 distinct orders end with Pro, 500 and one Pro grant, and ignore the cancellation", () => {
    const orders = new Set<string>();
    for (const order of distinctOrders(DELIVERIES)) {
      orders.add(order.join());
      const inbox = runPipeline(order, orders.size % 2 === 0 ? "throws" : "crashes");
      // Where the stopped change came last, no copy follows; the worker's own clock runs it.
      inbox.work(CHANGED_MS + 20 * MINUTE_MS);
      expect(inbox.state.account?.planKey).toBe(PRO);
      expect(creditsOf(inbox.state)).toEqual({ "2026-10": 500 });
      expect(proGrants(inbox)).toBe(1);
      expect([inbox.receipts.length, inbox.events.size]).toEqual([9, 3]);
      expect(inbox.events.get(ID("cancellation"))!.progress.status).toBe("ignored");
    }
    expect(orders.size).toBe(504);
  });

  test("S11: a seed tells an order; another seed another one, of the same deliveries", () => {
    const orders = new Set(Array.from({ length: 50 }, (_, seed) => shuffled(DELIVERIES, seed).join()));
    expect(shuffled(DELIVERIES, 7)).toEqual(shuffled(DELIVERIES, 7));
    expect(shuffled(DELIVERIES, 7).toSorted()).toEqual(DELIVERIES.toSorted());
    expect(orders.size).toBeGreaterThan(40);
  });
});

describe("S12: more of the same", () => {
  test("S12: ten more deliveries of each event and a replay of each change nothing but the counts", () => {
    const inbox = runPipeline(DELIVERIES, "throws");
    const { state } = inbox;
    const progressOf = () =>
      [...inbox.events.values()].map(({ progress: { status, result } }) => ({ status, result }));
    const before = progressOf();
    const nowMs = CHANGED_MS + 30 * MINUTE_MS;
    for (const body of Object.values(BODIES)) {
      for (let copy = 0; copy < 10; copy += 1) {
        inbox.deliver(body, nowMs);
        inbox.work(nowMs);
      }
    }
    for (const key of inbox.events.keys()) inbox.replay(key, nowMs);
    inbox.work(nowMs);
    expect(inbox.state).toEqual(state);
    expect(progressOf()).toEqual(before);
    expect(inbox.receipts).toHaveLength(39);
    expect([...inbox.events.values()].map(({ progress }) => progress.seenCount)).toEqual([15, 13, 11]);
  });
});
