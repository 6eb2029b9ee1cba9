import { expect, test } from "vitest";
import { UNKNOWN_CUSTOMER, type CustomerState } from "../../lib/inbox/consequences.ts";
import { apply, event, FREE, PRO, settled, STARTER } from "./model.ts";

/*
 * The order proof on the pure decisions: of seven events, every choice of one to five of them, each delivered once or
 * twice, in every distinct order. A decision is a pure function of the rows and the event, so each is worked out once
 * for every pair of rows and event that turns up, and looked up in the other orders that come by the same pair.
 */

type Body = ReturnType<typeof event>;

const on = (type: string, at: string, data: object = {}): Body => event(type, at, { ...data });
const plan = (key: string, agreementId?: string) => ({ plan: { key }, agreement_id: agreementId });

const AGREEMENT_1 = on("customer.agreement_created", "2026-09-28T08:00:00Z", plan(STARTER, "a1"));
const TO_PRO = on("customer.plan_changed", "2026-09-29T12:00:00.000001Z", plan(PRO));
const END_OF_1 = on("customer.agreement_cancelled", "2026-09-29T12:00:00.005Z", { agreement_id: "a1" });
const END_OF_2 = on("customer.agreement_cancelled", "2026-09-30T23:59:59.999999999Z", { agreement_id: "a2" });
const PAYMENT = on("customer.payment_succeeded", "2026-10-01T00:00:00Z");

const POOLS: Readonly<Record<string, readonly Body[]>> = {
  "a change replaced within milliseconds, named and unnamed, and two months": [
    AGREEMENT_1,
    TO_PRO,
    on("customer.agreement_created", "2026-09-29T12:00:00.000002Z", plan(PRO, "a2")),
    END_OF_1,
    END_OF_2,
    PAYMENT,
    on("customer.plan_assigned", "2026-10-10T00:00:00Z", plan(STARTER)),
  ],
  "equal instants, a cancellation of everything, an invoice and a person": [
    TO_PRO,
    END_OF_2,
    PAYMENT,
    on("customer.plan_assigned", "2026-10-10T00:00:00Z", plan(STARTER)),
    on("customer.plan_changed", "2026-10-10T00:00:00Z", plan(FREE, "a3")),
    on("customer.agreement_cancelled", "2026-10-10T00:00:30Z"),
    on("user.deleted", "2026-10-11T00:00:00Z"),
  ],
  "people, invoices and a plan that nobody knows": [
    on("user.created", "2026-10-01T00:00:00Z", { email: "a@b.example" }),
    on("user.updated", "2026-10-02T00:00:00Z", { email: "c@d.example" }),
    on("user.updated", "2026-10-02T00:00:00Z", { email: null }),
    on("customer.invoice_overdue", "2026-10-03T00:00:00Z"),
    on("customer.invoice_overdue", "2026-10-05T00:00:00Z"),
    on("customer.payment_succeeded", "2026-10-04T00:00:00Z"),
    on("customer.plan_changed", "2026-10-04T00:00:00Z", plan("customer_gold_plan", "a4")),
  ],
};

/** Of seven events one to five can be chosen in 119 ways, and with one or two copies of each in 1,610. */
const CHOICES_PER_POOL = 1_610;
/** Distinct orders by the number of events chosen: 7 × 2 + 21 × 14 + 35 × 222 + 35 × 6,384 + 21 × 291,720. */
const RUNS_PER_POOL = 6_357_638;

/** The states that were reached, by their rows, and what every event makes of each. */
class Decisions {
  readonly states: CustomerState[] = [];
  /** What of each state has to come out the same in every order. */
  readonly ends: string[] = [];
  private readonly known = new Map<string, number>();
  private readonly next: (number | undefined)[][] = [];

  constructor(private readonly events: readonly Body[]) {
    this.add(UNKNOWN_CUSTOMER);
  }

  after(state: number, index: number): number {
    const known = this.next[state]![index];
    if (known !== undefined) return known;
    const reached = this.add(apply(this.states[state]!, this.events[index]!).state);
    this.next[state]![index] = reached;
    return reached;
  }

  private add(state: CustomerState): number {
    const key = text(state);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const index = this.states.push(state) - 1;
    this.known.set(key, index);
    this.ends.push(text(settled(state)));
    this.next.push([]);
    return index;
  }
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
}

/** Counts the orders of the deliveries that are left, and collects the states they end in. */
function runOrders(decisions: Decisions, left: number[], state: number, ends: Set<number>): number {
  let runs = 0;
  let isEnd = true;
  for (let index = 0; index < left.length; index += 1) {
    if (left[index] === 0) continue;
    isEnd = false;
    left[index]! -= 1;
    runs += runOrders(decisions, left, decisions.after(state, index), ends);
    left[index]! += 1;
  }
  if (!isEnd) return runs;
  ends.add(state);
  return 1;
}

/** Every choice of one to five events, each with one or two copies, as the number of deliveries of each event. */
function* choices(size: number): Generator<number[]> {
  for (let code = 1; code < 3 ** size; code += 1) {
    const copies = Array.from({ length: size }, (_, index) => Math.floor(code / 3 ** index) % 3);
    if (copies.filter((count) => count > 0).length <= 5) yield copies;
  }
}

test.each(Object.entries(POOLS))(
  "every order of up to five events with one or two copies each ends in one state: %s",
  (_, pool) => {
    const decisions = new Decisions(pool);
    const endOfChoice = new Map<string, string>();
    let runs = 0;
    let sets = 0;
    for (const copies of choices(pool.length)) {
      const ends = new Set<number>();
      runs += runOrders(decisions, copies, 0, ends);
      sets += 1;
      const distinct = new Set([...ends].map((state) => decisions.ends[state]!));
      expect(distinct.size).toBe(1);
      // Copies make no difference either: the events alone decide.
      const chosen = copies.map((count) => Math.min(count, 1)).join("");
      const [end] = distinct;
      expect(endOfChoice.get(chosen) ?? end).toBe(end);
      endOfChoice.set(chosen, end!);
    }
    console.log(`order proof: ${runs} runs of ${sets} choices over ${decisions.states.length} states`);
    expect({ sets, runs }).toEqual({ sets: CHOICES_PER_POOL, runs: RUNS_PER_POOL });
  },
);
