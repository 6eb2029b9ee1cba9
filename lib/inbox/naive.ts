import type { StepKind } from "./scenario.ts";

/** The account as the naive handler keeps it: two numbers that it changes on arrival. */
export interface NaiveAccount {
  readonly plan: "free" | "pro";
  readonly balance: number;
}

export const NAIVE_START: NaiveAccount = { plan: "free", balance: 10 };
/** What Pro has more than Free. */
const UPGRADE_UNITS = 490;

/**
 * The handler that webhook tutorials show, kept to stand beside the pipeline in the Engine Room: it trusts that every
 * event comes once, in order and to the end. It adds to the balance instead of working it out, and in two writes;
 * `stops` ends it between them. `upgradeUnits` is what Pro has more than Free.
 */
export function applyNaively(
  account: NaiveAccount,
  { event, stops }: { readonly event: StepKind; readonly stops: boolean },
  upgradeUnits = UPGRADE_UNITS,
): NaiveAccount {
  switch (event) {
    case "plan_changed": {
      const changed: NaiveAccount = { ...account, plan: "pro" };
      return stops ? changed : { ...changed, balance: changed.balance + upgradeUnits };
    }
    case "payment":
      return account.plan === "pro" ? { ...account, balance: account.balance + upgradeUnits } : account;
    case "cancellation":
      return { ...account, plan: "free" };
  }
}
