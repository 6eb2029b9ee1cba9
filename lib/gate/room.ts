import { assert } from "../shared/assert.ts";
import { addUnits, UNITS_MAX } from "../shared/units.ts";
import type { Budget } from "./types.ts";

export interface RoomQuestion {
  /** Null means unlimited. */
  readonly limitUnits: number | null;
  readonly budget: Budget;
  readonly requestedUnits: number;
  /** The smallest grant that is still of use; null means all of `requestedUnits`. */
  readonly acceptUnits: number | null;
}

export type RoomDecision =
  | { readonly kind: "room"; readonly grantedUnits: number }
  /** Would not fit even if every running job ended without using anything. */
  | { readonly kind: "limit_reached"; readonly freeUnits: number }
  /** Would fit if running jobs ended. */
  | { readonly kind: "held_by_running_jobs"; readonly freeUnits: number };

/** `max(0, limit - used - held)`; null when there is no limit. */
export function freeUnitsOf(limitUnits: number | null, budget: Budget): number | null {
  return limitUnits === null ? null : freeBelow(limitUnits, budget);
}

function freeBelow(limitUnits: number, budget: Budget): number {
  return Math.max(0, limitUnits - budget.usedUnits - budget.heldUnits);
}

/** What used and held may come to in a cycle. Without a limit of the plan it is the largest amount that can be counted. */
export function roomLimitOf(limitUnits: number | null): number {
  return limitUnits ?? UNITS_MAX;
}

/** The one place that compares a request with a limit: used + held + granted never passes the limit it was given. */
export function decideRoom(question: RoomQuestion): RoomDecision {
  const { budget, requestedUnits } = question;
  const acceptUnits = question.acceptUnits ?? requestedUnits;
  const limitUnits = roomLimitOf(question.limitUnits);
  const freeUnits = freeBelow(limitUnits, budget);
  if (freeUnits >= acceptUnits) return { kind: "room", grantedUnits: Math.min(requestedUnits, freeUnits) };
  const fitsWhenJobsEnd = acceptUnits <= limitUnits - budget.usedUnits;
  return { kind: fitsWhenJobsEnd ? "held_by_running_jobs" : "limit_reached", freeUnits };
}

/** The budget with one more hold. Checks again what `decideRoom` allowed, on the numbers that will be stored. */
export function placeHold(budget: Budget, units: number, limitUnits: number | null): Budget {
  const after = { usedUnits: budget.usedUnits, heldUnits: addUnits(budget.heldUnits, units) };
  const total = addUnits(after.usedUnits, after.heldUnits);
  assert(
    limitUnits === null || total <= limitUnits,
    `${total} units used and held pass the limit ${limitUnits}`,
  );
  return after;
}
