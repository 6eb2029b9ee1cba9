import type { Budget, Job } from "./types.ts";
import { addUnits } from "../shared/units.ts";

/** What the budget of one cycle must say, from the rows it is a copy of. */
export function recomputeBudget(
  settledUnits: number,
  running: readonly Pick<Job, "cycle" | "heldUnits">[],
  cycle: string,
): Budget {
  const heldUnits = running
    .filter((job) => job.cycle === cycle)
    .reduce((sum, job) => addUnits(sum, job.heldUnits), 0);
  return { usedUnits: settledUnits, heldUnits };
}

/** Whether the stored budget has to be repaired. A missing one counts as zeros, which may be right. */
export function budgetDiffers(stored: Budget | null, recomputed: Budget): boolean {
  const usedUnits = stored?.usedUnits ?? 0;
  const heldUnits = stored?.heldUnits ?? 0;
  return usedUnits !== recomputed.usedUnits || heldUnits !== recomputed.heldUnits;
}

/** The sum of ledger units. Corrections are negative, so a part of the rows may sum below zero; the whole may not. */
export function sumUnits(entries: readonly { readonly units: number }[]): number {
  return entries.reduce((sum, entry) => sum + entry.units, 0);
}
