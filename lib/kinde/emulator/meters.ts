/** Meter records in storage: each write is one, and the newest of a cycle carries the cycle's total. */
import { cycleAt } from "../../ledger/cycle.ts";
import { subscribedAtMs, type Agreement } from "./billing.ts";
import { recordChange } from "./changes.ts";
import type { Emulator } from "./context.ts";
import { timedId } from "./ids.ts";
import { placeWrite, type MeterType, type MeterWrite } from "./meter-rules.ts";
import { must } from "../../shared/assert.ts";

export interface MeterRecord {
  readonly id: string;
  readonly value: string;
  readonly type: MeterType;
  readonly usedAtMs: number;
  readonly madeAtMs: number;
  readonly cycleStartMs: number;
}

interface Row {
  id: string;
  value: string;
  type: MeterType;
  used_at_ms: number;
  made_at_ms: number;
  cycle_start_ms: number;
}

export type MeterWritten =
  | { kind: "written"; recordId: string }
  | { kind: "refused"; code: string; message: string };

export function writeMeter(
  emulator: Emulator,
  meter: { readonly agreement: Agreement; readonly featureKey: string },
  write: MeterWrite,
): MeterWritten {
  const { agreement, featureKey } = meter;
  // Usage from while it was in force may still come; whether Kinde takes it is unknown (facts §9.6).
  if (agreement.endedAtMs !== null && write.usedAtMs >= agreement.endedAtMs) {
    return { kind: "refused", code: "AGREEMENT_ENDED", message: "the agreement has ended before this usage" };
  }
  const nowMs = emulator.nowMs();
  const anchorMs = anchorOf(emulator, agreement);
  const placed = placeWrite(write, {
    anchorMs,
    nowMs,
    liveTotalUnits: liveTotal(emulator, agreement, featureKey),
  });
  if (placed.kind === "refused") return placed;
  const id = timedId("meter_usage", nowMs);
  emulator.storage.run(
    `INSERT INTO meter_records (id, agreement_id, feature_key, value, type, used_at_ms, made_at_ms, cycle_start_ms,
       total_after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    agreement.id,
    featureKey,
    String(write.valueUnits),
    write.type,
    write.usedAtMs,
    nowMs,
    placed.cycleStartMs,
    placed.totalAfterUnits,
  );
  recordChange(emulator, {
    kind: "meter_written",
    customerId: agreement.customerId,
    agreementId: agreement.id,
    planKey: agreement.planKey,
    featureKey,
    recordId: id,
    totalUnits: placed.totalAfterUnits ?? write.valueUnits,
  });
  return { kind: "written", recordId: id };
}

/** The total of the cycle that it is now, 0 before its first write. */
export function liveTotal(emulator: Emulator, agreement: Agreement, featureKey: string): number {
  const { startMs } = cycleAt(anchorOf(emulator, agreement), emulator.nowMs());
  const row = emulator.storage.get<{ total_after: number }>(
    `SELECT total_after FROM meter_records
     WHERE agreement_id = ? AND feature_key = ? AND cycle_start_ms = ? AND total_after IS NOT NULL
     ORDER BY seq DESC LIMIT 1`,
    agreement.id,
    featureKey,
    startMs,
  );
  return row?.total_after ?? 0;
}

/** Records, newest first: of the current cycle, or of all. */
export function recordsOf(
  emulator: Emulator,
  meter: { readonly agreement: Agreement; readonly featureKey: string },
  options: { readonly allCycles: boolean },
): MeterRecord[] {
  const { startMs } = cycleAt(anchorOf(emulator, meter.agreement), emulator.nowMs());
  return emulator.storage
    .all<Row>(
      `SELECT id, value, type, used_at_ms, made_at_ms, cycle_start_ms FROM meter_records
       WHERE agreement_id = ? AND feature_key = ? AND cycle_start_ms >= ? ORDER BY seq DESC`,
      meter.agreement.id,
      meter.featureKey,
      options.allCycles ? Number.MIN_SAFE_INTEGER : startMs,
    )
    .map((row) => ({
      id: row.id,
      value: row.value,
      type: row.type,
      usedAtMs: row.used_at_ms,
      madeAtMs: row.made_at_ms,
      cycleStartMs: row.cycle_start_ms,
    }));
}

/** Every meter that was ever written to, with its live total. */
export function allMeters(
  emulator: Emulator,
  limit: number,
): { agreementId: string; featureKey: string; records: number }[] {
  return emulator.storage.all(
    `SELECT agreement_id AS agreementId, feature_key AS featureKey, count(*) AS records
     FROM meter_records GROUP BY agreement_id, feature_key ORDER BY max(seq) DESC LIMIT ?`,
    limit,
  );
}

function anchorOf(emulator: Emulator, { customerId }: Agreement): number {
  return must(subscribedAtMs(emulator, customerId), `${customerId} has no agreement`);
}
