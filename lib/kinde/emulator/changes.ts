/**
 * What happened, in order, append only. Nothing reads it to decide: it is there for those who tell others about it
 * (webhooks) and for tests.
 */
import type { Emulator } from "./context.ts";

export type ChangeKind =
  | "user_created"
  | "user_signed_in"
  | "agreement_created"
  | "agreement_ended"
  | "plan_changed"
  | "meter_written";

export interface Change {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: ChangeKind;
  readonly body: unknown;
}

interface Row {
  seq: number;
  at_ms: number;
  kind: ChangeKind;
  body: string;
}

export function recordChange(emulator: Emulator, kind: ChangeKind, body: Record<string, unknown>): void {
  emulator.storage.run(
    "INSERT INTO changes (at_ms, kind, body) VALUES (?, ?, ?)",
    emulator.nowMs(),
    kind,
    JSON.stringify(body),
  );
}

/** The oldest `limit` changes after the one numbered `afterSeq`. */
export function changesAfter(emulator: Emulator, afterSeq: number, limit: number): Change[] {
  return emulator.storage
    .all<Row>(
      "SELECT seq, at_ms, kind, body FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",
      afterSeq,
      limit,
    )
    .map((row) => ({ seq: row.seq, atMs: row.at_ms, kind: row.kind, body: JSON.parse(row.body) as unknown }));
}
