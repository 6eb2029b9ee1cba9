import { type AllowanceCatalogue, DEFAULT_ALLOWANCES, parseAllowances } from "../lib/inbox/allowance";

/** What the plans of this deployment are worth: HOLDFAST_ALLOWANCES, else those of the built-in plans. */
export function allowances(): AllowanceCatalogue {
  const text = process.env.HOLDFAST_ALLOWANCES;
  return text === undefined || text === "" ? DEFAULT_ALLOWANCES : parseAllowances(text);
}
