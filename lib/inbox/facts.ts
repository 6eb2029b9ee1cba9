/*
 * What events say about a customer, kept even when it changes nothing now. Everything else (plan, agreements, credits,
 * overdue) is worked out from the set of them, so it cannot depend on the order or the number of arrivals.
 */

export const PLAN_FACT_KINDS = [
  /** What a drift check read from the provider, at the instant its question was sent. Not from an event. */
  "provider_read",
  "agreement_cancelled",
  "agreement_created",
  "plan_assigned",
  "plan_changed",
] as const;

export type PlanFactKind = (typeof PLAN_FACT_KINDS)[number];

export interface PlanFact {
  /** Unique: of two facts with one id there is only ever one. For a drift check an id of its own. */
  readonly eventId: string;
  readonly kind: PlanFactKind;
  readonly atNs: bigint;
  /** Null for a cancellation, for an agreement that came without its plan, and for a reading of no plan. */
  readonly planKey: string | null;
  /** Null where the event named none. */
  readonly agreementId: string | null;
}

export interface PaymentFact {
  readonly eventId: string;
  readonly kind: "succeeded" | "failed" | "overdue";
  readonly atNs: bigint;
}

/**
 * The one order of plan facts: by event time to the nanosecond; at one instant by kind, in the order of
 * `PLAN_FACT_KINDS`; then by event id, whose characters are compared by code unit. Later in this order is newer.
 * A reading comes first, since one sent at the instant of an event does not know the event; a cancellation comes before
 * what starts at its instant, since a replacement cancels the old and starts the new; and a change says more than the
 * assignment or the agreement that it brings with it.
 */
export function comparePlanFacts(one: PlanFact, other: PlanFact): number {
  if (one.atNs !== other.atNs) return one.atNs < other.atNs ? -1 : 1;
  const byKind = PLAN_FACT_KINDS.indexOf(one.kind) - PLAN_FACT_KINDS.indexOf(other.kind);
  return byKind === 0 ? compareText(one.eventId, other.eventId) : byKind;
}

/** The facts with one more, unless it is among them: the first copy of a fact stays. */
export function withFact<Fact extends { readonly eventId: string }>(
  facts: readonly Fact[],
  fact: Fact,
): readonly Fact[] {
  return facts.some(({ eventId }) => eventId === fact.eventId) ? facts : [...facts, fact];
}

/**
 * Since when an invoice is overdue; null when none is. The earliest overdue notice that no payment followed. A payment
 * at the very instant of the notice counts as following it.
 */
export function overdueSinceNs(facts: readonly PaymentFact[]): bigint | null {
  let paidAtNs = -1n;
  for (const { kind, atNs } of facts) if (kind === "succeeded" && atNs > paidAtNs) paidAtNs = atNs;
  let sinceNs: bigint | null = null;
  for (const { kind, atNs } of facts) {
    if (kind === "overdue" && atNs > paidAtNs && (sinceNs === null || atNs < sinceNs)) sinceNs = atNs;
  }
  return sinceNs;
}

/** By code unit, never by locale: every machine has to agree. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
