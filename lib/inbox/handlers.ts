import type { AllowanceCatalogue } from "./allowance.ts";
import {
  consequencesOf,
  reviewOfPlan,
  type Consequences,
  type CustomerAccount,
  type CustomerState,
  type Effect,
} from "./consequences.ts";
import { msOfNs } from "./event-time.ts";
import { compareText, comparePlanFacts, withFact, type PaymentFact, type PlanFact } from "./facts.ts";
import type { PlanDecision } from "./plan.ts";
import type { ReadEvent, Subject } from "./read-event.ts";

/** What becomes of an event. `note` says what its owner would otherwise wonder about. */
export type Outcome =
  | { readonly kind: "applied"; readonly note: string | null }
  /** It changes nothing but what is kept of it, and this is why. */
  | { readonly kind: "ignored"; readonly reason: string }
  | { readonly kind: "permanent"; readonly path: string; readonly message: string };

export interface Decision {
  /** All of them are written in one transaction, also those of an ignored event: its fact is kept. */
  readonly effects: readonly Effect[];
  readonly outcome: Outcome;
}

export const NEWER_CHANGE = "a newer plan change is already stored";
export const NEWER_CANCELLATION = "a newer cancellation is already stored";
export const NOTHING_TO_END = "nothing that it could end is in force";
const NEWER_PROFILE = "a newer profile is already stored";
const DELETED = "the customer is deleted";

/**
 * Decides one event over all that is known of its customer. Pure, and safe to repeat: what is stored already is not
 * written again. Facts come first and the rest follows from their set, so any order and any number of copies of some
 * events end with the same rows. Only the outcome, which tells what an event did when it came, depends on the order.
 */
export function decideEvent(event: ReadEvent, state: CustomerState, catalogue: AllowanceCatalogue): Decision {
  if (event.kind !== "read") return { effects: [], outcome: event };
  const effects = identify(event.subject, state.account);
  const { content } = event;
  switch (content.kind) {
    case "plan":
      return withEffects(effects, decidePlanFact(content.fact, state, catalogue));
    case "payment":
      return withEffects(effects, decidePayment(content.fact, state, catalogue));
    case "profile":
      return withEffects(effects, decideProfile(content.email, event, state.account));
    case "deleted":
      return withEffects(effects, decideDeletion(event.atNs, state.account));
  }
}

function decidePlanFact(fact: PlanFact, state: CustomerState, catalogue: AllowanceCatalogue): Decision {
  const planFacts = withFact(state.planFacts, fact);
  const isNew = planFacts !== state.planFacts;
  const after = consequencesOf({ ...state, planFacts }, catalogue);
  const newer = planFacts.filter((other) => comparePlanFacts(other, fact) > 0);
  // The provider's limit follows its newest plan, so an older change asks for no reading.
  const changesPlan = after.plan.planKey !== planKeyOf(state, catalogue);
  const needsReading = changesPlan || (isNew && newer.length === 0);
  return {
    effects: [
      ...(isNew ? [{ kind: "plan_fact", fact } as const] : []),
      ...after.effects,
      ...reviewOfPlan(fact.planKey, catalogue),
      ...(needsReading ? [{ kind: "limit_read" } as const] : []),
    ],
    outcome: outcomeOfPlanFact(fact, newer, after, state, catalogue),
  };
}

function outcomeOfPlanFact(
  fact: PlanFact,
  newer: readonly PlanFact[],
  { plan, effects }: Consequences,
  state: CustomerState,
  catalogue: AllowanceCatalogue,
): Outcome {
  const changesPlan = plan.planKey !== planKeyOf(state, catalogue);
  const reason = changesPlan || isSetBy(plan, fact) ? null : reasonToIgnore(fact, newer, state);
  if (reason === null) return { kind: "applied", note: null };
  // Late, but for a while it was in force: the credits of that time are its due.
  return effects.some((effect) => movesCredits(effect, catalogue))
    ? { kind: "applied", note: reason }
    : { kind: "ignored", reason };
}

/** The credits of Free are everybody's, so bringing a month up to them is no event's work. */
function movesCredits(effect: Effect, { freePlanKey }: AllowanceCatalogue): boolean {
  return effect.kind === "credit" && (effect.row.planKey !== freePlanKey || effect.row.units < 0);
}

function reasonToIgnore(
  fact: PlanFact,
  newer: readonly PlanFact[],
  { planFacts, agreements }: CustomerState,
): string | null {
  const isCancellation = fact.kind === "agreement_cancelled";
  // An agreement that came without its plan is not outranked by anything: it tells of itself only.
  if (!isCancellation && fact.planKey === null) return null;
  if (newer.some(({ planKey }) => planKey !== null)) return NEWER_CHANGE;
  if (!isCancellation) return newer.length > 0 ? NEWER_CANCELLATION : null;
  const { agreementId } = fact;
  // One that ends an agreement has done its work, even when another agreement keeps the plan.
  const isKnown = (other: { agreementId: string | null; kind?: string }): boolean =>
    other.agreementId === agreementId && other.kind !== "agreement_cancelled";
  const ends = agreementId !== null && (planFacts.some(isKnown) || agreements.some(isKnown));
  return ends ? null : NOTHING_TO_END;
}

function planKeyOf({ account }: CustomerState, catalogue: AllowanceCatalogue): string {
  return account?.planKey ?? catalogue.freePlanKey;
}

/** Only a fact that names a plan sets one. Free is set by what is missing. */
function isSetBy({ setBy }: PlanDecision, fact: PlanFact): boolean {
  return fact.planKey !== null && setBy?.eventId === fact.eventId;
}

/** A payment never sets a plan. It asks for the credits of its month, and ends what was overdue before it. */
function decidePayment(fact: PaymentFact, state: CustomerState, catalogue: AllowanceCatalogue): Decision {
  const paymentFacts = withFact(state.paymentFacts, fact);
  const { effects } = consequencesOf({ ...state, paymentFacts }, catalogue);
  const isNew = paymentFacts !== state.paymentFacts;
  return {
    effects: isNew ? [{ kind: "payment_fact", fact }, ...effects] : effects,
    outcome: { kind: "applied", note: null },
  };
}

function decideProfile(
  email: string | null | undefined,
  { eventId, atNs }: Extract<ReadEvent, { kind: "read" }>,
  account: CustomerAccount | null,
): Decision {
  if (account !== null && account.deletedAtMs !== null) {
    return { effects: [], outcome: { kind: "ignored", reason: DELETED } };
  }
  if (email === undefined) return { effects: [], outcome: { kind: "applied", note: null } };
  const known = account?.profile ?? null;
  if (known !== null && isLater(known, { atNs, eventId })) {
    return { effects: [], outcome: { kind: "ignored", reason: NEWER_PROFILE } };
  }
  const isStored = known?.eventId === eventId;
  return {
    effects: isStored ? [] : [{ kind: "profile", email, atNs, eventId }],
    outcome: { kind: "applied", note: null },
  };
}

type Moment = { readonly atNs: bigint; readonly eventId: string };

function isLater(one: Moment, other: Moment): boolean {
  return one.atNs === other.atNs ? compareText(one.eventId, other.eventId) > 0 : one.atNs > other.atNs;
}

/** A deletion stands whenever it came: ids are never given again. Of two the earlier instant is kept. */
function decideDeletion(atNs: bigint, account: CustomerAccount | null): Decision {
  const deletedAtMs = msOfNs(atNs);
  const isKnown = account !== null && account.deletedAtMs !== null && account.deletedAtMs <= deletedAtMs;
  return {
    effects: isKnown ? [] : [{ kind: "tombstone", deletedAtMs }],
    outcome: { kind: "applied", note: null },
  };
}

/** An id that the account has is never replaced by another one. */
function identify({ userId, customerId }: Subject, account: CustomerAccount | null): readonly Effect[] {
  const lacksUser = userId !== null && (account === null || account.userId === null);
  const lacksCustomer = customerId !== null && (account === null || account.customerId === null);
  return lacksUser || lacksCustomer ? [{ kind: "account", userId, customerId }] : [];
}

function withEffects(first: readonly Effect[], { effects, outcome }: Decision): Decision {
  return { effects: [...first, ...effects], outcome };
}
