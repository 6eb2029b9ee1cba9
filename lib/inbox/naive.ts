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
 * `stops` ends it between them.
 */
export function applyNaively(
  account: NaiveAccount,
  { event, stops }: { readonly event: StepKind; readonly stops: boolean },
): NaiveAccount {
  switch (event) {
    case "plan_changed": {
      const changed: NaiveAccount = { ...account, plan: "pro" };
      return stops ? changed : { ...changed, balance: changed.balance + UPGRADE_UNITS };
    }
    case "payment":
      return account.plan === "pro" ? { ...account, balance: account.balance + UPGRADE_UNITS } : account;
    case "cancellation":
      return { ...account, plan: "free" };
  }
}
