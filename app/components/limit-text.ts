import { limitStateOf } from "../../lib/gate/limit-state.ts";
import { formatUnits } from "./format.ts";

/** How a limit is said on every screen: the words of `limitState` in the API. */

/** As far as the words go. Null: it was not read, or too long ago. */
type Limit = { readonly limitUnits: number | null } | null;

/** Where its name stands beside it: "10,000", "no limit", "not known". */
export function limitFigure(limit: Limit): string {
  const units = limit?.limitUnits ?? null;
  if (units !== null) return formatUnits(units);
  return limitStateOf(limit) === "unlimited" ? "no limit" : "not known";
}

/** On its own: "limit 10,000", "no limit", "limit not known". */
export function limitName(limit: Limit): string {
  return limitStateOf(limit) === "unlimited" ? "no limit" : `limit ${limitFigure(limit)}`;
}

/** After an amount: "of 10,000", "(no limit)", "(limit not known)". */
export function ofLimit(limit: Limit): string {
  return limitStateOf(limit) === "known" ? `of ${limitFigure(limit)}` : `(${limitName(limit)})`;
}

/** What is free of it, by the same words. `freeUnits` is a number where the limit is one. */
export function freeFigure(limit: Limit, freeUnits: number | null): string {
  return freeUnits === null ? limitFigure(limit) : formatUnits(freeUnits);
}

/** The whole of a bar that shows parts of it. */
export function wholeOf(limit: Limit): number | null | "unknown" {
  return limit === null ? "unknown" : limit.limitUnits;
}
