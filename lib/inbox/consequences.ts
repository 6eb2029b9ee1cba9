import { agreementChanges, allFacts, firstAgreementMs, type KnownAgreement } from "./agreements.ts";
import {
  allowanceOf,
  missingGrants,
  periodOfNs,
  type AllowanceCatalogue,
  type CreditRow,
} from "./allowance.ts";
import { msOfNs } from "./event-time.ts";
import { comparePlanFacts, overdueSinceNs, type PaymentFact, type PlanFact } from "./facts.ts";
import { decidePlan, planTimeline, type PlanDecision } from "./plan.ts";

/** Where the anchor of the billing cycles came from, the one that outranks the others first. */
export type AnchorSource = "operator" | "subscription" | "agreement" | "creation";

/** What of an account the inbox reads and writes. */
export interface CustomerAccount {
  readonly userId: string | null;
  readonly customerId: string | null;
  readonly planKey: string;
  /** The event id of the fact that set the plan; null while none did. */
  readonly planSetBy: string | null;
  readonly anchor: { readonly atMs: number; readonly source: AnchorSource; readonly isFrozen: boolean };
  readonly overdueSinceMs: number | null;
  /** The newest email that an event told, and the event; null while none did. */
  readonly profile: { readonly email: string | null; readonly atNs: bigint; readonly eventId: string } | null;
  readonly deletedAtMs: number | null;
}

/** Everything that is known of one customer, read in the transaction that writes the effects. */
export interface CustomerState {
  /** Null for a customer who is not known yet. */
  readonly account: CustomerAccount | null;
  readonly planFacts: readonly PlanFact[];
  readonly paymentFacts: readonly PaymentFact[];
  readonly agreements: readonly KnownAgreement[];
  /** The credit rows with the reason `grant`, of all periods. */
  readonly grants: readonly CreditRow[];
}

export const UNKNOWN_CUSTOMER: CustomerState = {
  account: null,
  planFacts: [],
  paymentFacts: [],
  agreements: [],
  grants: [],
};

/** One write. A handler's effects are written together and in their order, or none is. */
export type Effect =
  /** Makes the account, or adds an id that it lacked. Always the first. */
  | { readonly kind: "account"; readonly userId: string | null; readonly customerId: string | null }
  | { readonly kind: "plan_fact"; readonly fact: PlanFact }
  | { readonly kind: "payment_fact"; readonly fact: PaymentFact }
  /** Sets the row with this agreement id. */
  | { readonly kind: "agreement"; readonly agreement: KnownAgreement }
  | { readonly kind: "plan"; readonly planKey: string; readonly planSetBy: string | null }
  | { readonly kind: "credit"; readonly row: CreditRow }
  /** The limit has to be read again, by a question sent after this transaction. */
  | { readonly kind: "limit_read" }
  | { readonly kind: "anchor"; readonly anchorMs: number }
  | { readonly kind: "overdue"; readonly sinceMs: number | null }
  | {
      readonly kind: "profile";
      readonly email: string | null;
      readonly atNs: bigint;
      readonly eventId: string;
    }
  /** The account is deleted: its email goes, its keys are revoked, its links disabled; the ledger stays. */
  | { readonly kind: "tombstone"; readonly deletedAtMs: number }
  /** For a person, once while one about the same subject is open. */
  | { readonly kind: "review"; readonly review: "unknown_plan"; readonly subject: string };

export interface Consequences {
  readonly plan: PlanDecision;
  readonly effects: readonly Effect[];
}

/**
 * What the facts of a customer come to, as the writes that bring the stored rows there; none when they are there
 * already. It looks at the set of facts and never at the event that came last, so it is also what a merge of two
 * accounts, a drift check or the first look at a balance calls: those name the periods they need credits of.
 */
export function consequencesOf(
  state: CustomerState,
  catalogue: AllowanceCatalogue,
  neededPeriods: readonly string[] = [],
): Consequences {
  const { account, planFacts, agreements } = state;
  // The plan follows what was told to be a fact. A listing that the ledger read once may lag behind an event.
  const facts = planFacts.toSorted(comparePlanFacts);
  const plan = decidePlan(facts, catalogue.freePlanKey);
  const timeline = planTimeline(facts, catalogue.freePlanKey);
  const effects: Effect[] = [];
  const told = allFacts(planFacts, agreements);
  for (const agreement of agreementChanges(told, agreements)) effects.push({ kind: "agreement", agreement });
  const planSetBy = plan.setBy?.eventId ?? null;
  const storedKey = account?.planKey ?? catalogue.freePlanKey;
  // Who set it is part of the state: another fact may come to set the same plan.
  if (plan.planKey !== storedKey || planSetBy !== (account?.planSetBy ?? null)) {
    effects.push({ kind: "plan", planKey: plan.planKey, planSetBy });
  }
  const periods = [...neededPeriods, ...periodsOf(state)];
  for (const row of missingGrants(periods, state.grants, timeline, catalogue)) {
    effects.push({ kind: "credit", row });
  }
  const anchorMs = anchorChange(account?.anchor ?? null, firstAgreementMs(planFacts));
  if (anchorMs !== null) effects.push({ kind: "anchor", anchorMs });
  const overdueNs = overdueSinceNs(state.paymentFacts);
  const sinceMs = overdueNs === null ? null : msOfNs(overdueNs);
  if (sinceMs !== (account?.overdueSinceMs ?? null)) effects.push({ kind: "overdue", sinceMs });
  return { plan, effects };
}

/** A review for a plan that the catalogue does not have; nothing for one that it has. */
export function reviewOfPlan(planKey: string | null, catalogue: AllowanceCatalogue): readonly Effect[] {
  if (planKey === null || allowanceOf(catalogue, planKey) !== null) return [];
  return [{ kind: "review", review: "unknown_plan", subject: planKey }];
}

/** The months that something happened in: a plan fact or a payment. And those that have grants, to put them right. */
function periodsOf({ planFacts, paymentFacts, grants }: CustomerState): string[] {
  const paid = paymentFacts.filter(({ kind }) => kind === "succeeded");
  return [
    ...[...planFacts, ...paid].map(({ atNs }) => periodOfNs(atNs)),
    ...grants.map(({ period }) => period),
  ];
}

/**
 * Where the first agreement moves the anchor; null when it stays. It outranks the creation of the account only, an
 * earlier one outranks a later one, and nothing moves an anchor that a click or a job has frozen.
 */
function anchorChange(anchor: CustomerAccount["anchor"] | null, agreementMs: number | null): number | null {
  if (agreementMs === null || anchor === null) return agreementMs;
  if (anchor.isFrozen) return null;
  const isOutranked =
    anchor.source === "creation" || (anchor.source === "agreement" && agreementMs < anchor.atMs);
  return isOutranked ? agreementMs : null;
}
