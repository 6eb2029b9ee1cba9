import { assert, must } from "../shared/assert.ts";
import { cycleAt, cycleByName } from "../ledger/cycle.ts";
import { msOfNs, nsOfMs } from "./event-time.ts";
import type { PlanStep } from "./plan.ts";

/** What the plans are worth in credits a month. */
export interface AllowanceCatalogue {
  /** The plan of a customer who has none. Must be in `unitsByPlan`. */
  readonly freePlanKey: string;
  readonly unitsByPlan: Readonly<Record<string, number>>;
}

export const DEFAULT_ALLOWANCES: AllowanceCatalogue = {
  freePlanKey: "customer_free_plan",
  unitsByPlan: { customer_free_plan: 10, customer_starter_plan: 100, customer_pro_plan: 500 },
};

/**
 * Reads a catalogue from a setting: `key=credits` for each plan, separated by commas, the free plan first. Throws
 * RangeError, naming the part that is wrong.
 */
export function parseAllowances(text: string): AllowanceCatalogue {
  const plans = text.split(",").map((part) => {
    const [, planKey, digits] = /^\s*([\w.:-]{1,100})\s*=\s*(\d{1,9})\s*$/.exec(part) ?? [];
    if (planKey === undefined || digits === undefined) {
      throw new RangeError(`"${part.trim()}" is not a plan key and its credits, such as my_free_plan=10`);
    }
    return [planKey, Number(digits)] as const;
  });
  const unitsByPlan = Object.fromEntries(plans);
  if (Object.keys(unitsByPlan).length !== plans.length) throw new RangeError("a plan is named twice");
  return { freePlanKey: plans[0]![0], unitsByPlan };
}

/** A line of the credit ledger. Never changed; the balance of a period is the sum of its lines. */
export interface CreditRow {
  /** The UTC month the credits are of: "2026-10". They end with it. */
  readonly period: string;
  /** Negative for a reminder that takes, and for a grant that puts an earlier one right. */
  readonly units: number;
  readonly reason: "grant" | "reminder" | "reminder_returned";
  /** Unique over all lines of the account: writing it twice is refused. */
  readonly entryKey: string;
  /** For a grant: the plan whose allowance it brings the period up to. */
  readonly planKey: string | null;
}

/** The credit period of an instant: its UTC calendar month. */
export function periodAt(atMs: number): string {
  return cycleAt(null, atMs).name;
}

/** The monthly credits of a plan; null for a plan that the catalogue does not have, which a person has to look at. */
export function allowanceOf(catalogue: AllowanceCatalogue, planKey: string): number | null {
  return Object.hasOwn(catalogue.unitsByPlan, planKey) ? catalogue.unitsByPlan[planKey]! : null;
}

/**
 * The highest allowance of the plans in force at some time of a period, which is what its grants have to come to: the
 * plan it started with and every one that came after. So a downgrade takes nothing back before the next period. Plans
 * that are not in the catalogue count as nothing.
 */
export function allowanceIn(
  period: string,
  timeline: readonly PlanStep[],
  catalogue: AllowanceCatalogue,
): { readonly planKey: string; readonly units: number } {
  const { startMs, endMs } = must(cycleByName(null, period), `not a month: ${period}`);
  const [startNs, endNs] = [nsOfMs(startMs), nsOfMs(endMs)];
  const free = catalogue.freePlanKey;
  const startKey = timeline.findLast(({ atNs }) => atNs <= startNs)?.planKey ?? free;
  const laterKeys = timeline
    .filter(({ atNs }) => atNs > startNs && atNs < endNs)
    .map(({ planKey }) => planKey);
  let best = { planKey: startKey, units: allowanceOf(catalogue, startKey) ?? 0 };
  for (const planKey of laterKeys) {
    const units = allowanceOf(catalogue, planKey) ?? 0;
    if (units > best.units) best = { planKey, units };
  }
  return best;
}

/**
 * The grant rows that are still to be written, one at most for each period. A row brings the sum of the period's grants
 * up to its allowance, whatever the balance is, so the same call again finds nothing to write.
 *
 * The sum is above the allowance only when a fact learnt late shows that the plan it was granted for was not in force
 * in that period at all. Then the row is negative: without it, two orders of the same events would end with different
 * credits. Its key counts the grants of the period, so two transactions that saw the same rows cannot both write.
 */
export function missingGrants(
  periods: Iterable<string>,
  grants: readonly CreditRow[],
  timeline: readonly PlanStep[],
  catalogue: AllowanceCatalogue,
): readonly CreditRow[] {
  const rows: CreditRow[] = [];
  for (const period of new Set(periods)) {
    const written = grants.filter((row) => row.period === period && row.reason === "grant");
    const { planKey, units } = allowanceIn(period, timeline, catalogue);
    const missing = units - sumOf(written);
    if (missing === 0) continue;
    const entryKey = `grant:${period}:${written.length + 1}`;
    rows.push({ period, units: missing, reason: "grant", entryKey, planKey });
  }
  return rows;
}

export type CreditTaken =
  | { readonly kind: "taken"; readonly row: CreditRow }
  | { readonly kind: "refused"; readonly balanceUnits: number };

/** What is left of a period. A correction may come after more was spent, so it is never shown below zero. */
export function balanceOf(period: string, rows: readonly CreditRow[]): number {
  return Math.max(0, sumOf(rows.filter((row) => row.period === period)));
}

/**
 * Takes the one credit that a reminder costs from a period. `rows` are all rows of it, the grant that was missing
 * included, read in the transaction that writes the answer.
 */
export function takeCredit(period: string, reminderId: string, rows: readonly CreditRow[]): CreditTaken {
  const balanceUnits = balanceOf(period, rows);
  if (balanceUnits < 1) return { kind: "refused", balanceUnits };
  const entryKey = `reminder:${reminderId}`;
  return { kind: "taken", row: { period, units: -1, reason: "reminder", entryKey, planKey: null } };
}

/** Gives the credit of a cancelled reminder back to the period it was taken from, where it ends with the others. */
export function returnCredit(taken: CreditRow): CreditRow {
  assert(taken.reason === "reminder", `only what a reminder took can be returned: ${taken.entryKey}`);
  const entryKey = `returned:${taken.entryKey}`;
  return { ...taken, units: -taken.units, reason: "reminder_returned", entryKey };
}

/** The period that a fact asks for its credits by. */
export function periodOfNs(atNs: bigint): string {
  return periodAt(msOfNs(atNs));
}

function sumOf(rows: readonly CreditRow[]): number {
  return rows.reduce((sum, row) => sum + row.units, 0);
}
