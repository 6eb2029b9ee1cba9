/** What a meter write does (design §7, facts §2.4). Pure. */
import { cycleAt } from "../../ledger/cycle.ts";
import { UNITS_MAX } from "../../shared/units.ts";

export type MeterType = "absolute" | "delta";

export interface MeterWrite {
  readonly valueUnits: number;
  readonly type: MeterType;
  /** When the usage was; the instant of the write when it does not say. */
  readonly usedAtMs: number;
}

export type PlacedWrite =
  | {
      kind: "placed";
      cycleStartMs: number;
      /** The live total afterwards; null for a write into a closed cycle, which moves no total. */
      totalAfterUnits: number | null;
    }
  | { kind: "refused"; code: string; message: string };

/**
 * Puts a write where it belongs. `anchorMs` is when the customer got the first plan: cycles are monthly from there. The live
 * total is that of the cycle in which the write arrives: absolute sets it, delta adds to it, and a new cycle is at 0.
 */
export function placeWrite(
  write: MeterWrite,
  at: { readonly anchorMs: number; readonly nowMs: number; readonly liveTotalUnits: number },
): PlacedWrite {
  const current = cycleAt(at.anchorMs, at.nowMs);
  if (write.usedAtMs >= current.endMs) {
    return {
      kind: "refused",
      code: "METER_USAGE_TIMESTAMP_IN_FUTURE",
      message: "meter_usage_timestamp is after the current cycle",
    };
  }
  if (write.usedAtMs < current.startMs) {
    const { startMs } = cycleAt(at.anchorMs, write.usedAtMs);
    return { kind: "placed", cycleStartMs: startMs, totalAfterUnits: null };
  }
  const total = write.type === "absolute" ? write.valueUnits : at.liveTotalUnits + write.valueUnits;
  if (total < 0 || total > UNITS_MAX) {
    return {
      kind: "refused",
      code: "METER_VALUE_INVALID",
      message: `the total would be outside 0 to ${UNITS_MAX}`,
    };
  }
  return { kind: "placed", cycleStartMs: current.startMs, totalAfterUnits: total };
}

export type ParsedValue = { ok: true; units: number } | { ok: false; message: string };

/** `meter_value`: a string with a whole number. Strict mode refuses a JSON number, as the specification has a string. */
export function parseMeterValue(value: unknown, type: MeterType, strict: boolean): ParsedValue {
  if (typeof value === "number" && strict) return { ok: false, message: "meter_value must be a string" };
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || !/^-?\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text))) {
    return { ok: false, message: "meter_value must be a whole number, given as a string" };
  }
  const units = Number(text);
  if (type === "absolute" && units < 0) {
    return { ok: false, message: "an absolute meter_value cannot be negative" };
  }
  return { ok: true, units };
}
