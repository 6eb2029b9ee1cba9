/** An entitlement on the wire. The two APIs name the same fields differently (facts §0.4). Pure. */
import type { Entitlement } from "./billing.ts";
import type { ShapeFaults } from "./fault-kinds.ts";

/** What a third party saw in place of "no maximum" (facts §2.1). */
const UNLIMITED_MARK = 2_147_483_647;

type Wire = Record<string, unknown>;

/** `maxValue` stands in for a maximum that is not set, as the query parameter of that name asks. */
export function entitlementAnswer(
  { id, feature }: Entitlement,
  naming: "feature_code" | "feature_key",
  shape: ShapeFaults,
  maxValue: number | null = null,
): Wire {
  const keyField = naming === "feature_code" ? "feature_code" : "feature_key";
  return {
    id,
    fixed_charge: 0,
    price_name: feature.name,
    unit_amount: feature.unitAmountCents,
    [keyField]: feature.key,
    feature_name: feature.name,
    ...maximum(feature.limit ?? maxValue, shape),
    entitlement_limit_min: 0,
  };
}

function maximum(limit: number | null, shape: ShapeFaults): Wire {
  if (limit !== null) return { entitlement_limit_max: limit };
  if (shape.has("unlimited_missing")) return {};
  return { entitlement_limit_max: shape.has("unlimited_max_int") ? UNLIMITED_MARK : null };
}
