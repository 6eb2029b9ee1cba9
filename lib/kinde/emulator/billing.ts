/** Agreements: which plan a customer has and had. A plan change makes a new agreement and ends the old one. */
import { recordChange } from "./changes.ts";
import { findPlan, type Feature, type Plan } from "./catalogue.ts";
import type { Emulator } from "./context.ts";
import { timedId } from "./ids.ts";

export interface Agreement {
  readonly id: string;
  readonly customerId: string;
  readonly planKey: string;
  readonly startedAtMs: number;
  /** Null while it is in force. */
  readonly endedAtMs: number | null;
}

interface Row {
  id: string;
  customer_id: string;
  plan_key: string;
  started_at_ms: number;
  ended_at_ms: number | null;
}

const SELECT = "SELECT id, customer_id, plan_key, started_at_ms, ended_at_ms FROM agreements";

/** Gives the customer a plan, ending what they had. The plan must be one of the catalogue. */
export function startAgreement(emulator: Emulator, customerId: string, planKey: string): Agreement {
  const { storage, catalogue } = emulator;
  const before = currentAgreement(emulator, customerId);
  if (before !== null) markEnded(emulator, before);
  const nowMs = emulator.nowMs();
  const agreementId = timedId("agreement", nowMs);
  storage.run(
    `INSERT INTO agreements (id, customer_id, plan_key, started_at_ms, seq)
     VALUES (?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM agreements))`,
    agreementId,
    customerId,
    planKey,
    nowMs,
  );
  const what = { customerId, agreementId, planKey };
  recordChange(emulator, { kind: "agreement_created", ...what });
  if (before === null) recordChange(emulator, { kind: "plan_assigned", ...what });
  else recordChange(emulator, { kind: "plan_changed", ...what, oldPlanKey: before.planKey });
  if ((findPlan(catalogue, planKey)?.monthlyPriceCents ?? 0) > 0) {
    recordChange(emulator, { kind: "payment_succeeded", ...what });
  }
  if (before !== null) recordEnd(emulator, before, true);
  return findAgreement(emulator, agreementId)!;
}

export function endAgreement(emulator: Emulator, agreement: Agreement): void {
  markEnded(emulator, agreement);
  recordEnd(emulator, agreement, false);
}

function markEnded(emulator: Emulator, { id }: Agreement): void {
  emulator.storage.run(
    "UPDATE agreements SET ended_at_ms = ? WHERE id = ? AND ended_at_ms IS NULL",
    emulator.nowMs(),
    id,
  );
}

function recordEnd(emulator: Emulator, { id, customerId, planKey }: Agreement, replaced: boolean): void {
  recordChange(emulator, { kind: "agreement_ended", customerId, agreementId: id, planKey, replaced });
}

export function currentAgreement({ storage }: Emulator, customerId: string): Agreement | null {
  return toAgreement(
    storage.get<Row>(`${SELECT} WHERE customer_id = ? AND ended_at_ms IS NULL ORDER BY seq DESC`, customerId),
  );
}

export function findAgreement({ storage }: Emulator, id: string): Agreement | null {
  return toAgreement(storage.get<Row>(`${SELECT} WHERE id = ?`, id));
}

/** All agreements of a customer, the one in force first, then the ended ones from the newest. */
export function agreementsOf({ storage }: Emulator, customerId: string): Agreement[] {
  return storage
    .all<Row>(`${SELECT} WHERE customer_id = ? ORDER BY ended_at_ms IS NULL DESC, seq DESC`, customerId)
    .map((row) => toAgreement(row)!);
}

/**
 * Since when a customer has had a plan, however often it changed: where their cycles start. It is the instant that the
 * events of the first agreement tell, too. Null for one who never had any.
 */
export function subscribedAtMs({ storage }: Emulator, customerId: string): number | null {
  const row = storage.get<{ at_ms: number | null }>(
    "SELECT min(started_at_ms) AS at_ms FROM agreements WHERE customer_id = ?",
    customerId,
  );
  return row?.at_ms ?? null;
}

export interface Entitlement {
  readonly id: string;
  readonly feature: Feature;
}

/** What an agreement entitles to. The id is of this agreement and feature, and stays the same. */
export function entitlementsOf({ catalogue }: Emulator, agreement: Agreement | null): Entitlement[] {
  if (agreement === null) return [];
  const features = findPlan(catalogue, agreement.planKey)?.features ?? [];
  return features.map((feature) => ({ id: entitlementId(agreement.id, feature.key), feature }));
}

export function entitlementId(agreementId: string, featureKey: string): string {
  return `entitlement_${agreementId.replace(/^agreement_/, "")}_${featureKey}`;
}

export function planOf({ catalogue }: Emulator, agreement: Agreement): Plan | null {
  return findPlan(catalogue, agreement.planKey);
}

function toAgreement(row: Row | null): Agreement | null {
  if (row === null) return null;
  return {
    id: row.id,
    customerId: row.customer_id,
    planKey: row.plan_key,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
  };
}
