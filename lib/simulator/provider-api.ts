/** The part of the provider's management API that the product uses, answered by the model. */
import { entitlementAnswer } from "../kinde/emulator/entitlement-answers.ts";
import { parseMeterValue } from "../kinde/emulator/meter-rules.ts";
import { timestampText } from "../kinde/emulator/timestamps.ts";
import type { Provider, ProviderAgreement } from "./provider.ts";

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

const PLAIN = { twoDigitOffset: false } as const;
const TOKEN_LIFE_SECONDS = 600;
const OK = { code: "OK", message: "Success" };

export function answer(provider: Provider, request: ApiRequest): ApiAnswer {
  switch (`${request.method} ${request.path}`) {
    case "POST /oauth2/token":
      return ok({ access_token: provider.id("token"), expires_in: TOKEN_LIFE_SECONDS, token_type: "bearer" });
    case "GET /api/v1/user":
      return user(provider, request);
    case "GET /api/v1/billing/entitlements":
      return entitlements(provider, request);
    case "GET /api/v1/billing/agreements":
      return agreements(provider, request);
    case "GET /api/v1/billing/meter_usage":
      return readMeter(provider, request);
    case "POST /api/v1/billing/meter_usage":
      return writeMeter(provider, request);
    case "GET /api/v1/webhooks":
      return ok({ ...OK, webhooks: [] });
    default:
      return refused(404, "ROUTE_NOT_FOUND", `${request.method} ${request.path}`);
  }
}

function ok(json: unknown): ApiAnswer {
  return { status: 200, json };
}

function refused(status: number, code: string, message: string): ApiAnswer {
  return { status, json: { errors: [{ code, message }] } };
}

function user(provider: Provider, { query }: ApiRequest): ApiAnswer {
  const found = provider.customers.find(({ userId }) => userId === query.get("id"));
  if (found === undefined) return refused(404, "USER_NOT_FOUND", "There is no such user.");
  return ok({ id: found.userId, preferred_email: found.email, billing: { customer_id: found.customerId } });
}

function entitlements(provider: Provider, { query }: ApiRequest): ApiAnswer {
  const customer = provider.customerOf(query.get("customer_id") ?? "");
  if (customer === null) return refused(404, "CUSTOMER_NOT_FOUND", "There is no such customer.");
  const agreement = provider.current(customer);
  const plan = provider.catalogue.plans.find(({ key }) => key === agreement?.planKey);
  const subscribed_on = timestampText(customer.signedUpAtMs, PLAIN);
  return ok({
    ...OK,
    has_more: false,
    plans: plan === undefined ? [] : [{ code: plan.key, subscribed_on }],
    entitlements: (plan?.features ?? []).map((feature) =>
      entitlementAnswer({ id: `${agreement!.id}_${feature.key}`, feature }, "feature_code", new Map()),
    ),
  });
}

function agreements(provider: Provider, { query }: ApiRequest): ApiAnswer {
  const customerId = query.get("customer_id");
  const mine = provider.agreements.filter((one) => one.customerId === customerId);
  return ok({
    ...OK,
    has_more: false,
    agreements: mine.toReversed().map(({ id, planKey, endedAtMs }) => ({
      id,
      plan_code: planKey,
      expires_on: endedAtMs === null ? null : timestampText(endedAtMs, PLAIN),
    })),
  });
}

function meterOf(
  provider: Provider,
  agreementId: string | null,
  featureKey: string | null,
): { agreement: ProviderAgreement; featureKey: string } | ApiAnswer {
  const agreement = provider.find(agreementId ?? "");
  if (agreement === null) return refused(404, "AGREEMENT_NOT_FOUND", "There is no such agreement.");
  return { agreement, featureKey: featureKey ?? "" };
}

function readMeter(provider: Provider, { query }: ApiRequest): ApiAnswer {
  const meter = meterOf(provider, query.get("customer_agreement_id"), query.get("billing_feature_code"));
  if ("status" in meter) return meter;
  const { agreement, featureKey } = meter;
  const records = provider.recordsOf(agreement.id, featureKey).toReversed();
  return ok({
    ...OK,
    usage: {
      current_total: String(provider.tellTotal(agreement, featureKey)),
      records: records.map((record) => ({
        id: record.id,
        meter_value: record.value,
        meter_type_code: record.type,
        meter_usage_timestamp: timestampText(record.usedAtMs, PLAIN),
        created_on: timestampText(record.madeAtMs, PLAIN),
        cycle_start: timestampText(record.cycleStartMs, PLAIN),
      })),
      has_more: false,
    },
  });
}

function writeMeter(provider: Provider, { body }: ApiRequest): ApiAnswer {
  const sent = JSON.parse(body) as Record<string, string>;
  const meter = meterOf(provider, sent["customer_agreement_id"]!, sent["billing_feature_code"]!);
  if ("status" in meter) return meter;
  const value = parseMeterValue(sent["meter_value"], "absolute", true);
  if (!value.ok) return refused(400, "METER_VALUE_INVALID", value.message);
  const refusal = provider.write(meter.agreement, meter.featureKey, { units: value.units, type: "absolute" });
  return refusal === null ? ok(OK) : refused(400, refusal.code, refusal.message);
}
