import { RETENTION } from "../retention/rules.ts";
import type { Row } from "./mirror.ts";

/** Whether a row is old enough to be removed, and of those that ever are. */
export function mayGo(table: string, row: Row, nowMs: number): boolean {
  const ageMs = nowMs - ((row["atMs"] ?? row["receivedAtMs"]) as number);
  if (table === "receipts") return ageMs > RETENTION.receipts.keptMs;
  const isDone = row["status"] === "applied" || row["status"] === "ignored";
  return table === "inboxEvents" && isDone && ageMs > RETENTION.inboxEvents.keptMs;
}
