import { afterEach, beforeEach, expect, test } from "vitest";

import { compareText } from "../../lib/inbox/facts.ts";
import { distinctOrders } from "../../lib/inbox/scenario.ts";
import { type Backend, createBackend } from "../helpers/backend.ts";
import { FREE, PRO, STARTER } from "../helpers/inbox.ts";
import { InboxCrash } from "../helpers/inbox-crash.ts";
import { type Body, readCustomers } from "../helpers/inbox-customers.ts";
import { expectAllDone, play, type Run } from "../helpers/inbox-runs.ts";
import { seededRandom } from "../helpers/random-values.ts";
import { applyAll, settled } from "../inbox/model.ts";

/*
 * The order proof on the engine: every run is a customer of its own in one deployment, and the runs go on side by side,
 * one delivery of each at a time. What all of them end with is also what the pure decisions come to.
 */

/** The official mock has no writes that fail. */
const cannotFail = process.env["HOLDFAST_TEST_BACKEND"] === "convex-test";
/** All event times are within the seven days that an event may be away from its first delivery. */
const BEGIN_MS = Date.parse("2026-10-02T12:00:00Z");
const TIMEOUT_MS = 5 * 60_000;
const ORDERS = 120;
const SEEDED_RUNS = 2_000;
/** Writes of an attempt: one for a fact, up to eight for a change of plans. */
const CRASH_WRITES = 9;

type Event = readonly [type: string, at: string, data?: Readonly<Record<string, unknown>>];

/** Agreements are told apart by `#`, which stands for the customer. */
const plan = (key: string, agreementId?: string) => ({
  plan: { key },
  ...(agreementId === undefined ? {} : { agreement_id: agreementId }),
});

const POOLS: readonly (readonly [name: string, events: readonly Event[]])[] = [
  [
    "a change within milliseconds, and two months",
    [
      ["customer.agreement_created", "2026-09-28T08:00:00Z", plan(STARTER, "#a1")],
      ["customer.plan_changed", "2026-09-29T12:00:00.000001Z", plan(PRO)],
      ["customer.agreement_cancelled", "2026-09-29T12:00:00.005Z", { agreement_id: "#a1" }],
      ["customer.payment_succeeded", "2026-10-01T00:00:00Z"],
      ["customer.plan_assigned", "2026-10-05T00:00:00Z", plan(STARTER)],
    ],
  ],
  [
    "equal instants and a cancellation of everything",
    [
      ["customer.plan_changed", "2026-09-29T12:00:00.000001Z", plan(PRO)],
      ["customer.agreement_cancelled", "2026-09-30T23:59:59.999999999Z", { agreement_id: "#a2" }],
      ["customer.plan_assigned", "2026-10-05T00:00:00Z", plan(STARTER)],
      ["customer.plan_changed", "2026-10-05T00:00:00Z", plan(FREE, "#a3")],
      ["customer.agreement_cancelled", "2026-10-05T00:00:30Z"],
    ],
  ],
  [
    "a person, invoices and a plan that nobody knows",
    [
      ["user.created", "2026-10-01T00:00:00Z", { email: "a@b.example" }],
      ["user.updated", "2026-10-02T00:00:00Z", { email: "c@d.example" }],
      ["customer.invoice_overdue", "2026-10-03T00:00:00Z"],
      ["customer.payment_succeeded", "2026-10-02T12:00:00Z"],
      ["customer.plan_changed", "2026-10-04T00:00:00Z", plan("customer_gold_plan", "#a4")],
    ],
  ],
  [
    "a customer who is deleted",
    [
      ["user.created", "2026-10-01T00:00:00Z", { email: "a@b.example" }],
      ["user.deleted", "2026-10-03T00:00:00Z"],
      ["customer.agreement_created", "2026-10-01T08:00:00Z", plan(PRO, "#a5")],
      ["customer.agreement_cancelled", "2026-10-02T23:59:59Z", { agreement_id: "#a5" }],
      ["customer.invoice_overdue", "2026-10-03T00:00:00Z"],
    ],
  ],
];

let backend: Backend;
let crash: InboxCrash;
beforeEach(async () => {
  crash = new InboxCrash();
  backend = await createBackend({ startMs: BEGIN_MS, beforeWrite: crash.beforeWrite });
});
afterEach(() => backend.close());

/** Names of one length, and none is part of another. */
const customerOf = (run: number): string => `c${String(run).padStart(5, "0")}x`;

function bodiesFor(customer: string, events: readonly Event[]): Body[] {
  return events.map(([type, at, data], index) => {
    const text = JSON.stringify(data ?? {}).replaceAll("#", customer);
    const more = JSON.parse(text) as Record<string, unknown>;
    const subject = type.startsWith("user.")
      ? { user: { id: `user_${customer}`, ...more } }
      : { user_id: `user_${customer}`, customer_id: `customer_${customer}`, customer_type: "user", ...more };
    return { type, event_id: `${customer}_${index}`, event_timestamp: at, timestamp: at, data: subject };
  });
}

/** The one end of a set of events, by the pure decisions. The anchor of the cycles starts with the account's row. */
function endOf(events: readonly Event[]): string {
  const customer = customerOf(0);
  const { account, ...rest } = settled(applyAll(bodiesFor(customer, events))) as {
    account: Record<string, unknown>;
  };
  const { anchor: _, ...known } = account;
  return text({ account: known, ...rest }).replaceAll(customer, "#");
}

/** What every customer ended with, the customer's own name taken out. */
async function endsOf(runs: readonly Run[]): Promise<Map<string, string[]>> {
  const customers = await readCustomers(backend);
  expect(customers.size).toBe(runs.length);
  const ends = new Map<string, string[]>();
  for (const { customer } of runs) {
    const end = text(customers.get(`user_${customer}`)).replaceAll(customer, "#");
    ends.set(end, [...(ends.get(end) ?? []), customer]);
  }
  return ends;
}

/** The same rows are the same text, in whatever order their fields came. */
function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`;
    const isRecord = typeof part === "object" && part !== null && !Array.isArray(part);
    return isRecord
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => compareText(one, other)))
      : part;
  });
}

// The pools with the most writes; every set of events is among the pure orders and the seeded runs.
test.each([POOLS[0]!, POOLS[3]!])(
  "all 120 orders of five events end in one state: %s",
  async (_, events) => {
    const orders = [...distinctOrders(events.map((__, index) => index))];
    const runs = orders.map((order, run) => {
      const customer = customerOf(run);
      const bodies = bodiesFor(customer, events);
      return { customer, deliveries: order.map((index) => bodies[index]!), crash: null };
    });
    expect(runs).toHaveLength(ORDERS);
    await play(backend, crash, runs, 1_000);
    await expectAllDone(backend);
    const ends = await endsOf(runs);
    expect([...ends.keys()]).toEqual([endOf(events)]);
    console.log(`order proof on the engine: ${runs.length} orders, ${ends.size} state`);
  },
  TIMEOUT_MS,
);

/** Five events with one or two copies of some, mixed, and a crash of the first attempt at one of them. */
function seededRun(seed: number, events: readonly Event[]): Run {
  const random = seededRandom(seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const customer = customerOf(seed);
  const bodies = bodiesFor(customer, events);
  const copies = Array.from({ length: 1 + below(2) }, () => bodies[below(bodies.length)]!);
  const deliveries = [...bodies, ...copies];
  for (let index = deliveries.length - 1; index > 0; index -= 1) {
    const other = below(index + 1);
    [deliveries[index], deliveries[other]] = [deliveries[other]!, deliveries[index]!];
  }
  const firsts = deliveries.flatMap((body, index) => (deliveries.indexOf(body) === index ? [index] : []));
  const step = firsts[below(firsts.length)]!;
  const kind = random() < 0.5 ? "throws" : "dies";
  return { customer, deliveries, crash: { step, kind, atWrite: below(CRASH_WRITES) } };
}

test.skipIf(cannotFail).each(POOLS)(
  "seeded orders with copies and a crash at a random write end in one state: %s",
  async (_, events) => {
    const count = SEEDED_RUNS / POOLS.length;
    const runs = Array.from({ length: count }, (__, seed) => seededRun(seed, events));
    await play(backend, crash, runs, 6_500);
    const rows = await expectAllDone(backend);
    expect(crash.count).toBe(count);
    expect(rows.filter(({ attempts }) => attempts > 1)).toHaveLength(count);
    const ends = await endsOf(runs);
    expect([...ends.keys()]).toEqual([endOf(events)]);
    const kinds = runs.filter((run) => run.crash?.kind === "dies").length;
    console.log(
      `order proof on the engine: ${count} seeded runs with a crash each (${kinds} workers died), ${ends.size} state`,
    );
  },
  TIMEOUT_MS,
);
