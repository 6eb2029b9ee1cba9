/** The syscalls of `ctx.db`: documents, queries and pages of one transaction. */
import type { Invocation, Journal } from "./invocation.ts";
import type { TableInfo } from "./catalog.ts";
import { readPage, type PageRequest } from "./paginate.ts";
import { QueryRun, resolveRange, type SerializedQuery } from "./query.ts";
import type { Runtime } from "./runtime.ts";
import type { Transaction } from "./transaction.ts";
import { decodeId, decodeIdOrExplain } from "./values/doc-id.ts";
import type { JsonObject, JsonValue } from "./values/json.ts";

/** Syscalls answered without a promise. */
export function databaseSync(runtime: Runtime, invocation: Invocation, op: string, args: JsonObject): string {
  switch (op) {
    case "1.0/queryStream": {
      const query = args["query"] as unknown as SerializedQuery;
      const range = resolveRange(runtime.catalog, query, sourceIsSystem(query));
      const queryId = invocation.nextQueryId++;
      invocation.queries.set(queryId, new QueryRun(transaction(invocation), range, query.operators));
      return `{"queryId":${queryId}}`;
    }
    case "1.0/queryCleanup":
      return String(invocation.queries.delete(args["queryId"] as number));
    case "1.0/db/normalizeId": {
      const decoded = decodeId(args["idString"] as string);
      const table = decoded === null ? null : runtime.catalog.findByNumber(decoded.tableNumber);
      return JSON.stringify({ id: table?.name === args["table"] ? args["idString"] : null });
    }
    default:
      throw new Error(`Unknown operation ${op}`);
  }
}

/** Syscalls answered with a promise by the library's contract; all of them are done at once. */
export function databaseAsync(
  runtime: Runtime,
  invocation: Invocation,
  op: string,
  args: JsonObject,
): string {
  const tx = transaction(invocation);
  switch (op) {
    case "1.0/get": {
      const place = locate(runtime, args, "db.get");
      return place === null ? "null" : (tx.get(place.table, place.internalId) ?? "null");
    }
    case "1.0/queryStreamNext": {
      const value = invocation.queries.get(args["queryId"] as number)?.next() ?? null;
      return value === null ? '{"value":null,"done":true}' : `{"value":${value},"done":false}`;
    }
    case "1.0/queryPage":
      return pageText(runtime, invocation, tx, args);
    case "1.0/count": {
      const table = runtime.catalog.find(args["table"] as string);
      return String(table === null ? 0 : countRows(tx, runtime, table));
    }
    default:
  }
  if (invocation.kind !== "mutation") throw new Error(`Can't write in a query (${op}).`);
  switch (op) {
    case "1.0/insert": {
      const table = writableTable(runtime, args["table"] as string);
      return JSON.stringify({ _id: tx.insert(table, insertable(args["value"] as JsonObject)) });
    }
    case "1.0/shallowMerge":
      return change(runtime, tx, args, "db.patch", (before) => merge(before, args["value"] as JsonObject));
    case "1.0/replace":
      return change(runtime, tx, args, "db.replace", (before) => {
        const value = args["value"] as JsonObject;
        keepSystemFields(before, value);
        return { ...value, _creationTime: before["_creationTime"]!, _id: before["_id"]! };
      });
    case "1.0/remove":
      return change(runtime, tx, args, "db.delete", () => null);
    default:
      throw new Error(`Unknown async operation ${op}`);
  }
}

function transaction(invocation: Invocation): Transaction {
  if (invocation.tx === null)
    throw new Error("The database cannot be used in an action; run a query or a mutation.");
  return invocation.tx;
}

/** `db.system` queries name system tables, `db` queries the others; the library sends no flag for queries. */
function sourceIsSystem(query: SerializedQuery): boolean {
  const { source } = query;
  return (source.type === "FullTableScan" ? source.tableName : source.indexName).startsWith("_");
}

function pageText(runtime: Runtime, invocation: Invocation, tx: Transaction, args: JsonObject): string {
  if (invocation.paginated) {
    throw new Error(
      "This query or mutation function ran multiple paginated queries. " +
        "Convex only supports a single paginated query in each function.",
    );
  }
  invocation.paginated = true;
  const request = args as unknown as PageRequest;
  const range = resolveRange(runtime.catalog, request.query, sourceIsSystem(request.query));
  const { page, ...rest } = readPage(tx, range, withJournal(request, invocation.journal));
  // A page that its caller ends needs no journal: the end is in its arguments.
  if (invocation.journal !== null && request.endCursor == null)
    invocation.journal.nextEndCursor = rest.continueCursor;
  return `{"page":[${page.join(",")}],${JSON.stringify(rest).slice(1)}`;
}

/** A re-run of a live page ends where the first run ended, or neighbouring pages would overlap or leave a gap. */
function withJournal(request: PageRequest, journal: Journal | null): PageRequest {
  if (request.endCursor != null || journal === null || journal.endCursor === null) return request;
  return { ...request, endCursor: journal.endCursor };
}

interface Place {
  table: TableInfo;
  internalId: string;
}

/** Finds the table of an id; null when no such table exists. Refuses ids of the wrong table or of no form. */
function locate(runtime: Runtime, args: JsonObject, what: string): Place | null {
  const id = args["id"] as string;
  const decoded = decodeIdOrExplain(id);
  if (!decoded.ok) throw new Error(`Invalid argument \`id\` for \`${what}\`: ${decoded.message}`);
  const table = runtime.catalog.findByNumber(decoded.tableNumber);
  const expected = args["table"] as string | undefined;
  if (expected !== undefined && table !== null && table.name !== expected) {
    throw new Error(
      `Invalid argument \`id\` for \`${what}\`: expected to be an Id<"${expected}">, got Id<"${table.name}"> instead.`,
    );
  }
  if (table === null) return null;
  const wantsSystem = args["isSystem"] === true;
  if (table.isSystem !== wantsSystem) {
    throw new Error(
      table.isSystem
        ? `Cannot access system table ${table.name} with ${what}; use db.system.`
        : `Table ${table.name} is not a system table.`,
    );
  }
  return { table, internalId: decoded.internal };
}

function change(
  runtime: Runtime,
  tx: Transaction,
  args: JsonObject,
  what: string,
  next: (before: JsonObject) => JsonObject | null,
): string {
  const place = locate(runtime, args, what);
  const text = place === null ? null : tx.get(place.table, place.internalId);
  if (place === null || text === null) {
    const verb = what === "db.delete" ? "Delete" : "Update";
    throw new Error(`${verb} on nonexistent document ID ${args["id"] as string}`);
  }
  const before = JSON.parse(text) as JsonObject;
  const after = next(before);
  if (after === null) {
    tx.update(place.table, place.internalId, before, null);
    return IGNORED;
  }
  // Field order is kept by every write, so equal documents have equal texts, and an equal document is no write.
  const afterText = JSON.stringify(after);
  if (afterText !== text) tx.update(place.table, place.internalId, before, after, afterText);
  return IGNORED;
}

/** The library parses the document that a write answers and drops it: an empty answer saves both sides the work. */
const IGNORED = "null";

function merge(before: JsonObject, patch: JsonObject): JsonObject {
  keepSystemFields(before, patch);
  const after: JsonObject = { ...before };
  for (const [field, value] of Object.entries(patch)) {
    if (isUndefined(value)) delete after[field];
    else after[field] = value;
  }
  return after;
}

function isUndefined(value: JsonValue): boolean {
  return value !== null && typeof value === "object" && "$undefined" in value;
}

function keepSystemFields(before: JsonObject, value: JsonObject): void {
  for (const field of ["_id", "_creationTime"]) {
    if (field in value && value[field] !== before[field]) {
      throw new Error(`Field '${field}' of a document cannot be changed.`);
    }
  }
}

function insertable(value: JsonObject): JsonObject {
  for (const field of ["_id", "_creationTime"]) {
    if (field in value)
      throw new Error(`Provided document has field '${field}', which the database gives itself.`);
  }
  return value;
}

function writableTable(runtime: Runtime, name: string): TableInfo {
  if (name.startsWith("_")) throw new Error(`System table ${name} cannot be written.`);
  const isKnown = runtime.catalog.find(name) !== null;
  const table = runtime.catalog.findOrCreate(name);
  // Live queries that found no table have read nothing that a commit could write into.
  if (!isKnown) for (const listener of runtime.listeners) listener.reloaded();
  return table;
}

function countRows(tx: Transaction, runtime: Runtime, table: TableInfo): number {
  const run = new QueryRun(
    tx,
    resolveRange(
      runtime.catalog,
      { source: { type: "FullTableScan", tableName: table.name, order: "asc" }, operators: [] },
      false,
    ),
    [],
  );
  let rows = 0;
  while (run.next() !== null) rows++;
  return rows;
}
