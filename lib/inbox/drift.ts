import { DAY_MS, HOUR_MS, MINUTE_MS } from "../shared/durations.ts";
import type { AllowanceCatalogue } from "./allowance.ts";
import { consequencesOf, type CustomerState, type Effect, reviewOfPlan } from "./consequences.ts";
import { msOfNs, nsOfMs } from "./event-time.ts";
import { compareText, type PlanFact, withFact } from "./facts.ts";

/*
 * What the provider says now beside what events have told. A reading may be older than it looks, so one is not enough
 * to change anything. Rule source: design §6.
 */

/** Two readings that agree count as one when they are closer together than this. */
export const READS_APART_MS = 5 * MINUTE_MS;
/** A reading may lag this far behind a plan fact. */
export const FACT_FRESH_MS = 10 * MINUTE_MS;
/** A customer is looked at right after the first sign-in. What is seen by then was so before. */
const FIRST_LOOK_MS = 10 * MINUTE_MS;

/** What one look at the provider brought. */
export interface DriftReading {
  /** When the first of its questions was sent: what changed after it may not be in the answer. */
  readonly sentAtMs: number;
  /** Null for a customer without a plan. */
  readonly planKey: string | null;
  /** When the customer subscribed, where the provider tells it. A change of plan does not move it (facts §7). */
  readonly subscribedAtMs: number | null;
  readonly inForceIds: readonly string[];
}

/** A difference that was seen once. At most one an account. */
export interface Sighting {
  readonly firstSentAtMs: number;
  readonly planKey: string | null;
  /** Sorted by code unit. */
  readonly endedAgreementIds: readonly string[];
}

/** A customer who has just signed up may not be found yet. Later on one who is not found is gone. */
export function isGoneForGood(knownSinceMs: number, nowMs: number): boolean {
  return nowMs - knownSinceMs > FIRST_LOOK_MS;
}

export type DriftDecision =
  /** The provider says what events have told. A sighting is dropped. */
  | { readonly kind: "same" }
  /** Stored in place of whatever was sighted before. */
  | { readonly kind: "sighted"; readonly sighting: Sighting }
  /** Nothing is written. Until then no reading can be believed. */
  | { readonly kind: "wait"; readonly untilMs: number; readonly dropsSighting: boolean }
  | {
      readonly kind: "repair";
      readonly facts: readonly PlanFact[];
      readonly endedAgreementIds: readonly string[];
      /** Whether there must have been an event about it that never came. */
      readonly missedEvent: boolean;
    };

export interface DriftInput {
  readonly accountId: string;
  readonly state: CustomerState;
  /** When the newest plan fact was stored here; null while there is none. */
  readonly factStoredAtMs: number | null;
  readonly freePlanKey: string;
  readonly reading: DriftReading;
  readonly sighting: Sighting | null;
  /** Since when the customer is known here. */
  readonly knownSinceMs: number;
}

/**
 * Decides what a reading means. It is believed, and repaired, when one sent at least five minutes before said the same
 * and no plan fact was stored in between or in the ten minutes before it.
 */
export function decideDrift(input: DriftInput): DriftDecision {
  const { state, reading, sighting, freePlanKey, factStoredAtMs } = input;
  const planOf = (planKey: string | null): string => planKey ?? freePlanKey;
  const toldPlanKey = state.account?.planKey ?? freePlanKey;
  const endedIds = endedOf(state, reading);
  if (planOf(reading.planKey) === toldPlanKey && endedIds.length === 0) return { kind: "same" };

  const freshUntilMs = factStoredAtMs === null ? null : factStoredAtMs + FACT_FRESH_MS;
  if (freshUntilMs !== null && reading.sentAtMs < freshUntilMs) {
    // A first reading that lags is as wrong as a second one, so none is kept while a fact is fresh.
    return { kind: "wait", untilMs: freshUntilMs, dropsSighting: sighting !== null };
  }
  const { sentAtMs: firstSentAtMs, planKey } = reading;
  const anew: DriftDecision = {
    kind: "sighted",
    sighting: { firstSentAtMs, planKey, endedAgreementIds: endedIds },
  };
  if (sighting === null || isOutdated(sighting, state, factStoredAtMs)) return anew;
  const secondFromMs = sighting.firstSentAtMs + READS_APART_MS;
  if (planOf(sighting.planKey) !== planOf(planKey)) {
    // Of two readings that overlap the one that was sent later is the news.
    const isNewer = firstSentAtMs > sighting.firstSentAtMs;
    return isNewer ? anew : { kind: "wait", untilMs: secondFromMs, dropsSighting: false };
  }
  if (firstSentAtMs < secondFromMs) return { kind: "wait", untilMs: secondFromMs, dropsSighting: false };
  const bothIds = endedIds.filter((id) => sighting.endedAgreementIds.includes(id));
  if (planOf(planKey) === toldPlanKey && bothIds.length === 0) return anew;
  return {
    kind: "repair",
    facts: factsOf(input.accountId, sighting.firstSentAtMs, planKey, bothIds),
    endedAgreementIds: bothIds,
    missedEvent: missedEvent(input, sighting, bothIds),
  };
}

/** The agreements that events told to be in force and the reading does not list so. */
function endedOf({ planFacts, agreements }: CustomerState, reading: DriftReading): string[] {
  const started = new Set(
    planFacts.flatMap(({ kind, agreementId }) => (kind === "agreement_cancelled" ? [] : (agreementId ?? []))),
  );
  return agreements
    .filter(({ agreementId, untilMs }) => {
      const isInForce = untilMs === null || untilMs > reading.sentAtMs;
      return isInForce && started.has(agreementId) && !reading.inForceIds.includes(agreementId);
    })
    .map(({ agreementId }) => agreementId)
    .toSorted(compareText);
}

/** Something was told of the customer since the first reading, so it is no witness any more. */
function isOutdated(
  { firstSentAtMs }: Sighting,
  { planFacts }: CustomerState,
  factStoredAtMs: number | null,
): boolean {
  if (factStoredAtMs !== null && factStoredAtMs >= firstSentAtMs) return true;
  return planFacts.some(({ atNs }) => msOfNs(atNs) >= firstSentAtMs);
}

/**
 * The reading as a fact of the instant its question was sent, and the ends of the agreements that were gone by then.
 * They come a nanosecond before it: a cancellation that is not older than a reading may be about the plan it read.
 */
function factsOf(
  accountId: string,
  firstSentAtMs: number,
  planKey: string | null,
  endedIds: readonly string[],
): readonly PlanFact[] {
  const eventId = `drift:${accountId}:${firstSentAtMs}`;
  const atNs = nsOfMs(firstSentAtMs);
  const ends = endedIds.map((agreementId): PlanFact => ({
    eventId: `${eventId}:${agreementId}`,
    kind: "agreement_cancelled",
    atNs: atNs - 1n,
    planKey: null,
    agreementId,
  }));
  return [...ends, { eventId, kind: "provider_read", atNs, planKey, agreementId: null }];
}

/**
 * An agreement that events had told of has ended without one, a plan that a fact had set is another one, or a customer
 * without any fact was seen to have a plan later than right after the first sign-in. What was so by then is from before
 * anybody would have told us.
 */
function missedEvent(
  { state, knownSinceMs }: DriftInput,
  { firstSentAtMs }: Sighting,
  endedIds: readonly string[],
): boolean {
  if (endedIds.length > 0 || (state.account?.planSetBy ?? null) !== null) return true;
  return firstSentAtMs > knownSinceMs + FIRST_LOOK_MS;
}

/** The writes of a repair: its facts, what they come to, and a fresh reading of the limit. */
export function repairEffects(
  state: CustomerState,
  facts: readonly PlanFact[],
  catalogue: AllowanceCatalogue,
): readonly Effect[] {
  const planFacts = facts.reduce<readonly PlanFact[]>(withFact, state.planFacts);
  const newFacts = planFacts.filter((fact) => !state.planFacts.includes(fact));
  return [
    ...newFacts.map((fact) => ({ kind: "plan_fact", fact }) as const),
    ...consequencesOf({ ...state, planFacts }, catalogue).effects,
    ...newFacts.flatMap(({ planKey }) => reviewOfPlan(planKey, catalogue)),
    { kind: "limit_read" },
  ];
}

interface ListedPlan {
  readonly key: string;
  readonly subscribedAtMs: number | null;
}

interface ListedAgreement {
  readonly id: string;
  readonly planKey: string;
  readonly expiresAtMs: number | null;
}

/**
 * One reading of two lists. They are two answers, between which the plan may have changed: where they contradict each
 * other, or several plans are equally new, nothing is known.
 */
export function readingOf(
  entitlements: { readonly sentAtMs: number; readonly plans: readonly ListedPlan[] },
  listed: { readonly sentAtMs: number; readonly agreements: readonly ListedAgreement[] },
):
  | { readonly kind: "read"; readonly reading: DriftReading }
  | { readonly kind: "unclear"; readonly reason: string } {
  const sentAtMs = Math.min(entitlements.sentAtMs, listed.sentAtMs);
  const inForce = listed.agreements.filter(
    ({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > sentAtMs,
  );
  const newestMs = Math.max(...entitlements.plans.map(startOf));
  const newest = entitlements.plans.filter((plan) => startOf(plan) === newestMs);
  const keys = new Set(newest.map(({ key }) => key));
  if (keys.size > 1) return { kind: "unclear", reason: "several plans are equally new" };
  const [plan] = newest;
  const agrees = inForce.length === 0 || inForce.some(({ planKey }) => planKey === plan?.key);
  if (!agrees) return { kind: "unclear", reason: "the entitlements and the agreements name different plans" };
  const inForceIds = inForce.map(({ id }) => id);
  const { key: planKey = null, subscribedAtMs = null } = plan ?? {};
  return { kind: "read", reading: { sentAtMs, planKey, subscribedAtMs, inForceIds } };
}

function startOf({ subscribedAtMs }: ListedPlan): number {
  return subscribedAtMs ?? 0;
}

/** How long nothing may arrive while customers subscribe at the provider. */
export const SILENCE_HOURS_DEFAULT = 72;
const SILENCE_HOURS_MAX = (365 * DAY_MS) / HOUR_MS;
/** A webhook takes a moment, and the two clocks are not one. */
const SILENCE_SLACK_MS = HOUR_MS;

/**
 * Whether webhooks are missing although nothing else shows it: nothing arrived for longer than allowed, and a
 * customer has subscribed since the last arrival, of which Kinde would have told. A tenant in which nothing happens is
 * silent by right.
 */
export function isSilent(
  lastArrivalMs: number,
  newestSubscribedAtMs: number | null,
  allowedHours: number,
  nowMs: number,
): boolean {
  if (nowMs - lastArrivalMs <= allowedHours * HOUR_MS || newestSubscribedAtMs === null) return false;
  return (
    newestSubscribedAtMs > lastArrivalMs + SILENCE_SLACK_MS &&
    newestSubscribedAtMs <= nowMs - SILENCE_SLACK_MS
  );
}

/** Reads HOLDFAST_WEBHOOK_SILENCE_HOURS; null for what is no whole number of hours from 1 to a year. */
export function parseSilenceHours(text: string | undefined): number | null {
  if (text === undefined || text === "") return SILENCE_HOURS_DEFAULT;
  const hours = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return hours >= 1 && hours <= SILENCE_HOURS_MAX ? hours : null;
}
