/**
 * Reading and writing `_scheduled_functions` inside a transaction. One document is one job; its states are
 * pending, inProgress (actions only), success, failed and canceled.
 */
import type { Catalog, TableInfo } from "./catalog.ts";
import { indexSource, type Transaction } from "./transaction.ts";
import { decodeId, encodeId } from "./values/doc-id.ts";
import type { JsonObject } from "./values/json.ts";
import { encodeKeyPart } from "./values/order-key.ts";

export type JobState =
  | { kind: "pending" | "inProgress" | "success" | "canceled" }
  | { kind: "failed"; error: string };

export interface Job {
  id: string;
  internalId: string;
  document: JsonObject;
  name: string;
  args: JsonObject;
  scheduledTimeMs: number;
  state: JobState["kind"];
}

export const JOBS_TABLE = "_scheduled_functions";

export function jobsTable(catalog: Catalog): TableInfo {
  return catalog.find(JOBS_TABLE)!;
}

export function insertJob(
  tx: Transaction,
  catalog: Catalog,
  name: string,
  args: JsonObject,
  dueMs: number,
): string {
  return tx.insert(jobsTable(catalog), {
    args: [args],
    name,
    scheduledTime: dueMs,
    state: { kind: "pending" },
  });
}

export function readJob(tx: Transaction, catalog: Catalog, id: string): Job | null {
  const decoded = decodeId(id);
  const table = jobsTable(catalog);
  if (decoded === null || decoded.tableNumber !== table.number) return null;
  const text = tx.get(table, decoded.internal);
  return text === null ? null : toJob(table, decoded.internal, text);
}

export function setJobState(
  tx: Transaction,
  catalog: Catalog,
  job: Job,
  state: JobState,
  completedMs: number | null,
): void {
  const next: JsonObject = { ...job.document, state: { ...state } };
  if (completedMs !== null) next["completedTime"] = completedMs;
  tx.update(jobsTable(catalog), job.internalId, job.document, next);
}

/** Pending jobs by due time, the earliest first; `dueMs` null means all of them. */
export function pendingJobs(tx: Transaction, catalog: Catalog, dueMs: number | null, limit: number): Job[] {
  return jobsByIndex(tx, catalog, "_by_due", encodeKeyPart("pending"), dueMs, limit);
}

/** Jobs an earlier process left running. */
export function jobsInProgress(tx: Transaction, catalog: Catalog, limit: number): Job[] {
  return jobsByIndex(tx, catalog, "_by_due", encodeKeyPart("inProgress"), null, limit);
}

/** Jobs that ended before `beforeMs`. */
export function completedJobs(tx: Transaction, catalog: Catalog, beforeMs: number, limit: number): Job[] {
  return jobsByIndex(tx, catalog, "_by_completed", "", beforeMs, limit);
}

function jobsByIndex(
  tx: Transaction,
  catalog: Catalog,
  indexName: string,
  prefix: string,
  untilMs: number | null,
  limit: number,
): Job[] {
  const table = jobsTable(catalog);
  const source = indexSource(
    table,
    table.indexes.find((index) => index.name === indexName)!,
  );
  const lo = prefix + encodeKeyPart(0);
  const hi = prefix + encodeKeyPart(untilMs === null ? Number.MAX_VALUE : untilMs + 0.001);
  return tx
    .page(source, lo, hi, "asc", limit)
    .rows.map(([key, text]) => toJob(table, source.internalIdOf(key), text));
}

function toJob(table: TableInfo, internalId: string, text: string): Job {
  const document = JSON.parse(text) as JsonObject;
  return {
    id: encodeId(table.number, internalId),
    internalId,
    document,
    name: document["name"] as string,
    args: (document["args"] as JsonObject[])[0]!,
    scheduledTimeMs: document["scheduledTime"] as number,
    state: (document["state"] as unknown as JobState).kind,
  };
}
