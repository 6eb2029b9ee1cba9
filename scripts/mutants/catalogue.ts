import { ACCESS_RULES } from "./access.ts";
import { GATE } from "./gate.ts";
import { INBOX } from "./inbox.ts";
import { LEDGER } from "./ledger.ts";
import type { Mutant } from "./mutant.ts";

export const MUTANTS: readonly Mutant[] = [...GATE, ...LEDGER, ...INBOX, ...ACCESS_RULES];

/** Where a text stands in a source; null unless it is there exactly once. */
export function placeOf(source: string, text: string): number | null {
  const at = source.indexOf(text);
  return at === -1 || source.indexOf(text, at + 1) !== -1 ? null : at;
}
