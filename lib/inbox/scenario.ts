import { cycleAt } from "../ledger/cycle.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";

/* S10: nine deliveries of three events, one of them old and one stopped half-way. The account starts Free with 10. */

export const STEP_KINDS = ["payment", "plan_changed", "cancellation"] as const;
export type StepKind = (typeof STEP_KINDS)[number];

export interface ScenarioStep {
  readonly event: StepKind;
  /** The worker stops between its two writes. */
  readonly stops: boolean;
}

/** A type and not an interface, so that it is also a record of anything, which bodies are everywhere else. */
export type ScenarioBody = Readonly<{
  type: string;
  event_id: string;
  timestamp: string;
  event_timestamp: string;
  source: string;
  data: Readonly<Record<string, unknown>>;
}>;

/** The order in which the deliveries come. */
export const DELIVERIES: readonly StepKind[] = [
  "payment",
  "plan_changed",
  "plan_changed",
  "payment",
  "payment",
  "payment",
  "cancellation",
  "plan_changed",
  "payment",
];

/** The deliveries as steps: the worker stops in the first one that changes the plan, whatever the order is. */
export function stepsOf(order: readonly StepKind[]): readonly ScenarioStep[] {
  const stopsAt = order.indexOf("plan_changed");
  return order.map((event, index) => ({ event, stops: index === stopsAt }));
}

/** The old cancellation happened this long before the plan change. */
const CANCELLED_BEFORE_MS = 3 * MINUTE_MS;
const PAID_AFTER_MS = 2 * SECOND_MS;

/**
 * When the plan change of a run that begins now happened, so that all three events are past and of one month: where the
 * month is younger than they are, at the end of the month before. Events of two months would have credits in both.
 */
export function changeInstant(nowMs: number): number {
  const changedAtMs = nowMs - PAID_AFTER_MS;
  const { startMs } = cycleAt(null, nowMs);
  return changedAtMs - CANCELLED_BEFORE_MS >= startMs ? changedAtMs : startMs - MINUTE_MS;
}

/**
 * The bodies of the three events for one customer, with the plan change at `changedAtMs`, which has to be such as
 * `changeInstant` tells. Every delivery of an event has the same body.
 */
export function scenarioBodies(
  ids: { readonly userId: string; readonly customerId: string; readonly run: string },
  planKey: string,
  changedAtMs: number,
): Readonly<Record<StepKind, ScenarioBody>> {
  const { userId, customerId, run } = ids;
  const customer = { user_id: userId, customer_id: customerId, customer_type: "user" };
  const body = (type: string, name: string, atMs: number, data: object): ScenarioBody => ({
    type,
    event_id: `event_${run}_${name}`,
    timestamp: new Date(atMs).toISOString(),
    event_timestamp: new Date(atMs).toISOString(),
    source: "user",
    data: { ...customer, ...data },
  });
  const plan = { key: planKey };
  return {
    payment: body("customer.payment_succeeded", "payment", changedAtMs + PAID_AFTER_MS, { plan }),
    plan_changed: body("customer.plan_changed", "change", changedAtMs, { plan }),
    cancellation: body("customer.agreement_cancelled", "cancellation", changedAtMs - CANCELLED_BEFORE_MS, {
      agreement_id: `agreement_${run}_before`,
    }),
  };
}

/** Every distinct order of some deliveries, copies being equal: of the nine there are 504. In a fixed order. */
export function* distinctOrders<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  if (items.length === 0) yield [];
  for (const first of new Set(items)) {
    const at = items.indexOf(first);
    for (const rest of distinctOrders(items.toSpliced(at, 1))) yield [first, ...rest];
  }
}

/** One order of the deliveries, told by a seed: the same seed gives the same order everywhere. */
export function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const random = seededRandom(seed);
  const order = [...items];
  for (let index = order.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [order[index], order[other]] = [order[other]!, order[index]!];
  }
  return order;
}

/** A small generator of numbers in [0, 1), good enough to mix nine things and the same in every process. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
