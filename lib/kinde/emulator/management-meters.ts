/** Management API: writing and reading meter usage (design §7). */
import { apiRefusal, errorsAnswer, json, type Answer } from "./answers.ts";
import { cutPage, readJsonBody, requiredQuery, requiredText } from "./api-input.ts";
import { requireMachine } from "./bearer.ts";
import { findAgreement, planOf, type Agreement } from "./billing.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { parseMeterValue, type MeterType, type MeterWrite } from "./meter-rules.ts";
import { liveTotal, recordsOf, writeMeter } from "./meters.ts";
import { timestampText } from "./timestamps.ts";
import { parseTimestamp } from "./timestamps.ts";

export const managementMeterRoutes: readonly Route[] = [
  { method: "POST", path: "/api/v1/billing/meter_usage", handler: postUsage },
  { method: "GET", path: "/api/v1/billing/meter_usage", handler: getUsage },
];

interface Meter {
  readonly agreement: Agreement;
  readonly featureKey: string;
}

function postUsage(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "create:meter_usage");
  const body = readJsonBody(call);
  const meter = findMeter(
    emulator,
    requiredText(body, "customer_agreement_id"),
    requiredText(body, "billing_feature_code"),
  );
  keep(emulator, meter, readWrite(emulator, body));
  const second = call.shape.get("second_writer");
  if (second !== undefined) {
    keep(emulator, meter, { valueUnits: second.deltaUnits, type: "delta", usedAtMs: emulator.nowMs() });
  }
  // True to its word: the write is there, once.
  if (call.shape.has("already_exists")) {
    return errorsAnswer(400, "METER_USAGE_ALREADY_EXISTS", "The meter usage already exists.");
  }
  return json(200, { message: "Success", code: "OK" });
}

function keep(emulator: Emulator, meter: Meter, write: MeterWrite): void {
  const outcome = writeMeter(emulator, meter, write);
  if (outcome.kind === "refused") throw apiRefusal(400, outcome.code, outcome.message);
}

function readWrite({ config, nowMs }: Emulator, body: Record<string, unknown>): MeterWrite {
  const type = readType(body["meter_type_code"], config.strict);
  const value = parseMeterValue(body["meter_value"], type, config.strict);
  if (!value.ok) throw apiRefusal(400, "METER_VALUE_INVALID", value.message);
  const stamp = body["meter_usage_timestamp"];
  if (stamp === undefined || stamp === null) return { valueUnits: value.units, type, usedAtMs: nowMs() };
  const usedAtMs = typeof stamp === "string" ? parseTimestamp(stamp) : null;
  if (usedAtMs === null) {
    throw apiRefusal(400, "METER_USAGE_TIMESTAMP_INVALID", "meter_usage_timestamp is not a date-time");
  }
  return { valueUnits: value.units, type, usedAtMs };
}

/** The default is documented nowhere, so strict mode wants it said. */
function readType(type: unknown, strict: boolean): MeterType {
  if (type === "absolute" || type === "delta") return type;
  if (type === undefined && !strict) return "absolute";
  throw apiRefusal(400, "METER_TYPE_INVALID", "meter_type_code must be absolute or delta");
}

function findMeter(emulator: Emulator, agreementId: string, featureKey: string): Meter {
  const agreement = findAgreement(emulator, agreementId);
  if (agreement === null) throw apiRefusal(404, "AGREEMENT_NOT_FOUND", "There is no such agreement.");
  const feature = planOf(emulator, agreement)?.features.find(({ key }) => key === featureKey);
  if (feature?.metered !== true) {
    throw apiRefusal(400, "FEATURE_NOT_METERED", "The plan of the agreement does not meter this feature.");
  }
  return { agreement, featureKey };
}

/** In no public specification; shaped as those measured it who could (facts §0.1). */
function getUsage(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:meter_usage");
  const meter = findMeter(
    emulator,
    requiredQuery(call, "customer_agreement_id"),
    requiredQuery(call, "billing_feature_code"),
  );
  const allCycles = call.query.get("all_cycles") === "true";
  const page = cutPage(call, recordsOf(emulator, meter, { allCycles }));
  const spelling = { twoDigitOffset: call.shape.has("two_digit_offset") };
  return json(200, {
    code: "OK",
    message: "Success",
    usage: {
      current_total: String(liveTotal(emulator, meter.agreement, meter.featureKey)),
      records: page.items.map((record) => ({
        id: record.id,
        meter_value: record.value,
        meter_type_code: record.type,
        meter_usage_timestamp: timestampText(record.usedAtMs, spelling),
        created_on: timestampText(record.madeAtMs, spelling),
        cycle_start: timestampText(record.cycleStartMs, spelling),
      })),
      has_more: page.hasMore,
    },
  });
}
