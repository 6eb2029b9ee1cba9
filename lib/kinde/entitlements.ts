import type { ManagementApi } from "./api.ts";
import type { Failure } from "./failure.ts";
import { readPages, tooLong } from "./paging.ts";
import { entitlementsAnswer } from "./schemas.ts";

const PATH = "/api/v1/billing/entitlements";

export interface Entitlement {
  readonly featureKey: string;
  /** The most units of a cycle; null means unlimited. A whole number from 0 to 2^53 - 1. */
  readonly limitUnits: number | null;
}

export interface EntitlementsRead {
  readonly kind: "read";
  /** When the first request was sent: what changed after it may not be in the answer. */
  readonly sentAtMs: number;
  readonly plans: readonly { readonly key: string; readonly subscribedAtMs: number | null }[];
  readonly entitlements: readonly Entitlement[];
}

/** What a customer is entitled to, all pages of it. A list that could not be read to its end is a failure. */
export async function readEntitlements(
  api: ManagementApi,
  { customerId }: { readonly customerId: string },
): Promise<EntitlementsRead | Failure> {
  const answer = await readPages(api, api.startBudget(), {
    path: PATH,
    query: { customer_id: customerId, expand: "plans" },
    schema: entitlementsAnswer,
    split: (page) => ({ ids: page.entitlements.map(({ id }) => id), hasMore: page.has_more, page }),
  });
  if (answer.kind === "failed") return answer;
  if (answer.value.truncated) return tooLong(PATH);
  const { pages } = answer.value;
  // Every page repeats the plans, and an item may slide onto the next page between two reads.
  const plans = new Map(pages.flatMap((page) => page.plans).map((plan) => [plan.key, plan]));
  const rows = new Map(pages.flatMap((page) => page.entitlements).map((row) => [row.id, row]));
  return {
    kind: "read",
    sentAtMs: answer.sentAtMs,
    plans: [...plans.values()],
    entitlements: [...rows.values()].map(({ featureKey, limitUnits }) => ({ featureKey, limitUnits })),
  };
}

export type FeatureLimit =
  | { readonly kind: "limit"; readonly limitUnits: number | null }
  /** The customer is not entitled to the feature at all. */
  | { readonly kind: "none" };

/**
 * The limit of one feature. Two entitlements to it, as an old and a new agreement may give for a moment, count as the
 * larger: being entitled twice is not less than once, and a sum would grant what nobody sold.
 */
export function limitOf(entitlements: readonly Entitlement[], featureKey: string): FeatureLimit {
  const limits = entitlements.filter((row) => row.featureKey === featureKey).map((row) => row.limitUnits);
  if (limits.length === 0) return { kind: "none" };
  return { kind: "limit", limitUnits: limits.reduce(larger) };
}

function larger(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(a, b);
}
