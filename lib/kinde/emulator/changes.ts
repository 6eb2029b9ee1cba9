/**
 * What happened, in order, append only. Nothing reads it to decide: it is there for those who tell others about it
 * (webhooks) and for tests. The events of a change are written with it, in the transaction of the request.
 */
import type { Emulator } from "./context.ts";
import { publishEvent } from "./webhooks-outbox.ts";
import type { SentType } from "./webhooks-types.ts";

interface OfAgreement {
  readonly customerId: string;
  readonly agreementId: string;
  readonly planKey: string;
}

export type Change =
  | {
      readonly kind: "user_created" | "user_updated" | "user_deleted" | "user_signed_in";
      readonly userId: string;
    }
  | ({ readonly kind: "agreement_created" | "plan_assigned" | "payment_succeeded" } & OfAgreement)
  | ({ readonly kind: "plan_changed"; readonly oldPlanKey: string } & OfAgreement)
  /** `replaced`: another agreement has taken its place. */
  | ({ readonly kind: "agreement_ended"; readonly replaced: boolean } & OfAgreement)
  | {
      readonly kind: "meter_written";
      readonly customerId: string;
      readonly agreementId: string;
      readonly planKey: string;
      readonly featureKey: string;
      readonly recordId: string;
      readonly totalUnits: number;
    }
  /** An event told by hand, with no change behind it. */
  | {
      readonly kind: "event_told";
      readonly type: SentType;
      readonly customerId: string;
      readonly agreementId: string | null;
      readonly planKey: string | null;
      /** When it is to have happened, in business time; null for now. */
      readonly happenedAtMs: number | null;
      /** Put over the fields of `data`; null takes one away. */
      readonly data: Readonly<Record<string, unknown>>;
    };

export interface ChangeRow {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: Change["kind"];
  readonly body: unknown;
}

/** Returns the id of the event that tells it. */
export function recordChange(emulator: Emulator, change: Change): string {
  const { kind, ...body } = change;
  emulator.storage.run(
    "INSERT INTO changes (at_ms, kind, body) VALUES (?, ?, ?)",
    emulator.nowMs(),
    kind,
    JSON.stringify(body),
  );
  return publishEvent(emulator, change);
}

/** The oldest `limit` changes after the one numbered `afterSeq`. */
export function changesAfter(emulator: Emulator, afterSeq: number, limit: number): ChangeRow[] {
  return emulator.storage
    .all<{ seq: number; at_ms: number; kind: Change["kind"]; body: string }>(
      "SELECT seq, at_ms, kind, body FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",
      afterSeq,
      limit,
    )
    .map((row) => ({ seq: row.seq, atMs: row.at_ms, kind: row.kind, body: JSON.parse(row.body) as unknown }));
}
