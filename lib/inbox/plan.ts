import { MINUTE_MS } from "../shared/durations.ts";
import { nsOfMs } from "./event-time.ts";
import type { PlanFact } from "./facts.ts";

/**
 * Kinde cancels the agreement that a plan change replaces within moments of the change. A cancellation of an agreement
 * that nothing else is known of is taken for that one when it comes at most this much later.
 */
export const REPLACED_WITHIN_MS = MINUTE_MS;
const REPLACED_WITHIN_NS = nsOfMs(REPLACED_WITHIN_MS);

export interface PlanDecision {
  readonly planKey: string;
  /** The agreement of the plan; null when it is not known or there is none. */
  readonly agreementId: string | null;
  /** The fact that made it so; null when no fact did: nothing ever happened. */
  readonly setBy: PlanFact | null;
}

/** The plan from an instant on. */
export interface PlanStep {
  readonly atNs: bigint;
  readonly planKey: string;
}

/**
 * The plan that a set of facts comes to. It is that of the newest fact that names a plan and is still in force:
 *
 * - A fact that names an agreement is in force until a newer cancellation names that agreement. So ending one agreement
 *   leaves the others, and the plan is Free only when none is left.
 * - A fact that names no agreement is in force until a newer fact names a plan, or a cancellation of its agreement
 *   comes. Which one that is has to be guessed: see `endsUnnamed`.
 * - A cancellation without an agreement, and a reading of the provider, end all that is older.
 *
 * `facts` are all facts of the customer in their order, as `allFacts` gives them.
 */
export function decidePlan(facts: readonly PlanFact[], freePlanKey: string): PlanDecision {
  let isNewestWithPlan = true;
  for (let index = facts.length - 1; index >= 0; index -= 1) {
    const fact = facts[index]!;
    const newer = facts.slice(index + 1);
    const endsAllBefore =
      fact.kind === "provider_read" || (fact.kind === "agreement_cancelled" && fact.agreementId === null);
    if (fact.planKey !== null) {
      const inForce =
        fact.agreementId === null
          ? isNewestWithPlan && !newer.some((other) => endsUnnamed(other, fact, facts))
          : !newer.some((other) => isCancellationOf(other, fact.agreementId));
      if (inForce) return { planKey: fact.planKey, agreementId: fact.agreementId, setBy: fact };
      isNewestWithPlan = false;
    }
    if (endsAllBefore) break;
  }
  const setBy = facts.findLast(
    (fact) => fact.kind === "agreement_cancelled" || fact.kind === "provider_read",
  );
  return { planKey: freePlanKey, agreementId: null, setBy: setBy ?? null };
}

/**
 * The plan after each instant at which something happened, in order of time. Before the first it is Free. What is
 * outranked at its own instant was never in force. Takes the facts in their order, as `decidePlan` does.
 */
export function planTimeline(facts: readonly PlanFact[], freePlanKey: string): readonly PlanStep[] {
  return facts.flatMap(({ atNs }, index) => {
    if (facts[index + 1]?.atNs === atNs) return [];
    return { atNs, planKey: decidePlan(facts.slice(0, index + 1), freePlanKey).planKey };
  });
}

/**
 * Whether a newer cancellation of an agreement ends a plan fact that names none. Not when the agreement is known to be
 * of another plan. Nor when it is the one that the fact, a plan change, has replaced: cancelled right after the change,
 * and not known to have started with it.
 */
function endsUnnamed(cancellation: PlanFact, fact: PlanFact, facts: readonly PlanFact[]): boolean {
  const { kind, agreementId } = cancellation;
  if (kind !== "agreement_cancelled" || agreementId === null) return false;
  const told = facts.filter((other) => other.agreementId === agreementId && other.kind !== kind);
  const planKey = told.findLast((other) => other.planKey !== null)?.planKey;
  if (planKey !== undefined && planKey !== fact.planKey) return false;
  const followsAtOnce = cancellation.atNs - fact.atNs <= REPLACED_WITHIN_NS;
  const startedWithIt = told[0] !== undefined && told[0].atNs >= fact.atNs - REPLACED_WITHIN_NS;
  return !(fact.kind === "plan_changed" && followsAtOnce && !startedWithIt);
}

function isCancellationOf(fact: PlanFact, agreementId: string | null): boolean {
  return fact.kind === "agreement_cancelled" && fact.agreementId === agreementId;
}
