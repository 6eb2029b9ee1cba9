/** The plans that are offered. Their keys and limits are set at the provider, whose own page has the last word. */
export interface OfferedPlan {
  readonly key: string;
  readonly name: string;
  readonly monthlyPriceCents: number;
  readonly tokensUnits: number;
  /** On top of the monthly price. */
  readonly clickPriceCents: number;
  readonly about: string;
}

export const PLANS: readonly OfferedPlan[] = [
  {
    key: "customer_free_plan",
    name: "Free",
    monthlyPriceCents: 0,
    tokensUnits: 10_000,
    clickPriceCents: 0,
    about: "To try it.",
  },
  {
    key: "customer_starter_plan",
    name: "Starter",
    monthlyPriceCents: 900,
    tokensUnits: 30_000,
    clickPriceCents: 0,
    about: "For one worker.",
  },
  {
    key: "customer_pro_plan",
    name: "Pro",
    monthlyPriceCents: 2_900,
    tokensUnits: 100_000,
    clickPriceCents: 0,
    about: "For several at once.",
  },
];

/** The name of a plan, or its key when it is not one of the offered. */
export function planName(planKey: string): string {
  return PLANS.find(({ key }) => key === planKey)?.name ?? planKey;
}
