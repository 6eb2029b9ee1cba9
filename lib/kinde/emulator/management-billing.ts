/** Management API: entitlements and agreements (facts §2). */
import { apiRefusal, json, type Answer } from "./answers.ts";
import { customerFromQuery, customerOf, cutPage, expands, readJsonBody, requiredText } from "./api-input.ts";
import { requireMachine } from "./bearer.ts";
import {
  agreementsOf,
  currentAgreement,
  endAgreement,
  entitlementId,
  entitlementsOf,
  findAgreement,
  planOf,
  startAgreement,
  subscribedAtMs,
  type Agreement,
} from "./billing.ts";
import { findPlan } from "./catalogue.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { entitlementAnswer } from "./entitlement-answers.ts";
import { timestampText } from "./timestamps.ts";

export const managementBillingRoutes: readonly Route[] = [
  { method: "GET", path: "/api/v1/billing/entitlements", handler: getEntitlements },
  { method: "GET", path: "/api/v1/billing/agreements", handler: getAgreements },
  { method: "POST", path: "/api/v1/billing/agreements", handler: createAgreement },
  { method: "DELETE", path: "/api/v1/billing/agreements", handler: cancelAgreement },
];

function getEntitlements(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:billing_entitlements");
  const user = customerFromQuery(emulator, call);
  const maxValue = readMaxValue(call);
  const agreement = currentAgreement(emulator, user.customerId);
  const entitlements = call.shape.has("empty_entitlements") ? [] : entitlementsOf(emulator, agreement);
  const page = cutPage(call, entitlements);
  return json(200, {
    code: "OK",
    message: "Success",
    has_more: page.hasMore,
    ...(expands(call, "plans") ? { plans: subscribedPlans(emulator, agreement, "code", call) } : {}),
    entitlements: page.items.map((item) => entitlementAnswer(item, "feature_code", call.shape, maxValue)),
  });
}

/** `subscribed_on` is the start of the first plan, whatever came after: the anchor of the cycles does not move (facts §7). */
export function subscribedPlans(
  emulator: Emulator,
  agreement: Agreement | null,
  naming: "code" | "key",
  { shape }: Call,
): Record<string, unknown>[] {
  if (agreement === null) return [];
  const twoDigitOffset = shape.has("two_digit_offset");
  const subscribed_on = timestampText(
    subscribedAtMs(emulator, agreement.customerId) ?? agreement.startedAtMs,
    {
      twoDigitOffset,
    },
  );
  return [
    naming === "code"
      ? { code: agreement.planKey, subscribed_on }
      : { key: agreement.planKey, subscribed_on },
  ];
}

function readMaxValue({ query }: Call): number | null {
  const text = query.get("max_value");
  if (text === null || text === "") return null;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw apiRefusal(400, "INVALID_REQUEST", "max_value must be a whole number");
  }
  return value;
}

/** Ended agreements are listed with `expires_on`: whether Kinde does so is unknown, and a client must not care. */
function getAgreements(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:billing_agreements");
  const user = customerFromQuery(emulator, call);
  const featureCode = call.query.get("feature_code");
  const all = agreementsOf(emulator, user.customerId).filter(
    (agreement) => featureCode === null || hasFeature(emulator, agreement, featureCode),
  );
  const page = cutPage(call, all);
  return json(200, {
    code: "OK",
    message: "Success",
    has_more: page.hasMore,
    agreements: page.items.map((agreement) => agreementAnswer(emulator, agreement, call)),
  });
}

function agreementAnswer(emulator: Emulator, agreement: Agreement, { shape }: Call): Record<string, unknown> {
  const { id, planKey, customerId, endedAtMs } = agreement;
  const twoDigitOffset = shape.has("two_digit_offset");
  return {
    id,
    plan_code: planKey,
    expires_on: endedAtMs === null ? null : timestampText(endedAtMs, { twoDigitOffset }),
    billing_group_id: customerId.replace(/^customer_/, "sbg_"),
    entitlements: (planOf(emulator, agreement)?.features ?? []).map((feature) => ({
      feature_code: feature.key,
      entitlement_id: entitlementId(id, feature.key),
    })),
  };
}

function hasFeature(emulator: Emulator, agreement: Agreement, featureCode: string): boolean {
  return planOf(emulator, agreement)?.features.some(({ key }) => key === featureCode) ?? false;
}

/** Answers without the new id, as documented: whoever needs it reads the agreements again. */
function createAgreement(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "create:billing_agreements");
  const body = readJsonBody(call);
  const user = customerOf(emulator, requiredText(body, "customer_id"));
  const planCode = requiredText(body, "plan_code");
  if (findPlan(emulator.catalogue, planCode) === null) {
    throw apiRefusal(400, "PLAN_NOT_FOUND", "There is no such plan.");
  }
  startAgreement(emulator, user.customerId, planCode);
  return json(200, { message: "Success", code: "OK" });
}

/** The id is read from query or body: the documentation does not say where it goes (facts §2.6). */
function cancelAgreement(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "delete:billing_agreements");
  const id = call.query.get("agreement_id") ?? requiredText(readJsonBody(call), "agreement_id");
  const agreement = findAgreement(emulator, id);
  if (agreement === null || agreement.endedAtMs !== null) {
    throw apiRefusal(404, "AGREEMENT_NOT_FOUND", "There is no such agreement in force.");
  }
  endAgreement(emulator, agreement);
  return json(200, { message: "Success", code: "OK" });
}
