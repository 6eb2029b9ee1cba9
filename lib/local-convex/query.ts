/**
 * Runs a serialized query (facts §1.3): a source, then filters and limits in order. The read set grows only
 * as far as rows were consumed, filtered-out rows included.
 */
import { createHash } from "node:crypto";
import type { Catalog, IndexInfo, TableInfo } from "./catalog.ts";
import { after, type ReadInterval } from "./read-set.ts";
import { documentSource, indexSource, type RowSource, type Transaction } from "./transaction.ts";
import { compileFilter, type FilterExpression } from "./values/filter-expr.ts";
import type { JsonObject, JsonValue } from "./values/json.ts";
import { decodeId } from "./values/doc-id.ts";
import { encodeKeyPart, keySuccessor } from "./values/order-key.ts";
import { notSupported } from "./errors.ts";
import type { Row } from "./storage.ts";

type Order = "asc" | "desc";

interface RangeStep {
  type: "Eq" | "Gt" | "Gte" | "Lt" | "Lte";
  fieldPath: string;
  value: JsonValue;
}

export interface SerializedQuery {
  source:
    | { type: "FullTableScan"; tableName: string; order: Order | null }
    | { type: "IndexRange"; indexName: string; range: RangeStep[]; order: Order | null }
    | { type: "Search"; indexName: string };
  operators: ({ filter: FilterExpression } | { limit: number })[];
}

/** A range of one key order, ready to be read. `fields` names what the keys are made of. */
export interface ResolvedRange {
  source: RowSource;
  lo: string;
  hi: string | null;
  order: Order;
  fields: readonly string[];
}

/** Rows fetched at once: small at first, since most reads want a few rows, then doubling. */
const PAGE_ROWS_FIRST = 16;
const PAGE_ROWS_MAX = 512;
const OPERATORS_MAX = 256;

/** Resolves the source of a query, or null when the table does not exist yet (an empty result). */
export function resolveRange(
  catalog: Catalog,
  query: SerializedQuery,
  system: boolean,
): ResolvedRange | null {
  if (query.operators.length > OPERATORS_MAX)
    throw new Error(`Too many operators in a query (limit: ${OPERATORS_MAX}).`);
  const { source } = query;
  if (source.type === "Search") throw notSupported("Text search");
  const [tableName, indexName] =
    source.type === "FullTableScan"
      ? [source.tableName, "by_creation_time"]
      : splitIndexName(source.indexName);
  if (tableName.startsWith("_") !== system) {
    throw new Error(
      system
        ? `Table ${tableName} is not a system table.`
        : `System table ${tableName} is read with ctx.db.system.`,
    );
  }
  const table = catalog.find(tableName);
  const order = source.order ?? "asc";
  const steps = source.type === "FullTableScan" ? [] : source.range;
  if (indexName === "by_creation_time" || indexName === "by_id") {
    if (table === null) return null;
    const fields = indexName === "by_id" ? ["_id"] : ["_creationTime", "_id"];
    return {
      source: documentSource(table),
      order,
      fields,
      ...bounds(table, `${tableName}.${indexName}`, fields, steps),
    };
  }
  const index = visibleIndex(table, indexName);
  if (table === null || index === undefined) throw new Error(`Index ${tableName}.${indexName} not found.`);
  const fields = [...index.fields, "_creationTime", "_id"];
  return {
    source: indexSource(table, index),
    order,
    fields,
    ...bounds(table, `${tableName}.${indexName}`, fields, steps),
  };
}

/** Identifies a query for cursors: another query's cursor must be refused. */
export function queryFingerprint(query: SerializedQuery, range: ResolvedRange | null): string {
  return createHash("sha256")
    .update(JSON.stringify([query, range?.fields ?? null]))
    .digest("base64url")
    .slice(0, 16);
}

/** Pulls rows of a range one at a time, recording what was consumed. */
export class RangeStream {
  private buffer: Row[] = [];
  private position = 0;
  private next: string | null;
  private exhausted = false;
  private pageRows: number;
  private readonly interval: ReadInterval;

  constructor(
    private readonly tx: Transaction,
    private readonly range: ResolvedRange,
    /** How many rows the caller will take at most, when it knows. */
    rowsMax: number | null,
  ) {
    this.pageRows = Math.min(rowsMax ?? PAGE_ROWS_FIRST, PAGE_ROWS_MAX);
    this.next = range.order === "asc" ? range.lo : range.hi;
    tx.limits.countRange();
    const start = range.order === "asc" ? range.lo : (range.hi ?? END);
    this.interval = tx.reads.add(range.source.space, start, start);
  }

  /** The next row, or null at the end of the range. */
  pull(): Row | null {
    while (this.position >= this.buffer.length) {
      if (this.exhausted) {
        this.consumeTo(null);
        return null;
      }
      this.fetch();
    }
    const row = this.buffer[this.position++]!;
    this.consumeTo(row[0]);
    this.tx.limits.countRead(row[1].length);
    return row;
  }

  private fetch(): void {
    const { source, lo, hi, order } = this.range;
    const page =
      order === "asc"
        ? this.tx.page(source, this.next ?? lo, hi, order, this.pageRows)
        : this.tx.page(source, lo, this.next, order, this.pageRows);
    this.buffer = page.rows;
    this.position = 0;
    this.next = page.next;
    this.exhausted = page.next === null;
    this.pageRows = Math.min(this.pageRows * 2, PAGE_ROWS_MAX);
  }

  private consumeTo(key: string | null): void {
    if (this.range.order === "asc") this.interval.hi = key === null ? this.range.hi : after(key);
    else {
      this.interval.lo = key ?? this.range.lo;
      this.interval.hi = this.range.hi;
    }
    this.tx.recordRead(this.interval);
  }
}

/** A running query: the operators applied to a stream. */
export class QueryRun {
  private readonly stream: RangeStream | null;
  private readonly steps: ((document: JsonObject) => "keep" | "drop" | "stop")[];
  private readonly needsDocument: boolean;
  private finished = false;

  constructor(tx: Transaction, range: ResolvedRange | null, operators: SerializedQuery["operators"]) {
    const first = operators[0];
    const rowsMax = first !== undefined && "limit" in first ? first.limit : null;
    this.steps = operators.map(compileOperator);
    this.needsDocument = operators.some((operator) => "filter" in operator);
    this.finished = operators.some((operator) => "limit" in operator && operator.limit === 0);
    this.stream = range === null || this.finished ? null : new RangeStream(tx, range, rowsMax);
  }

  /** The next document as JSON text, or null when the query is done. */
  next(): string | null {
    return this.nextRow()?.[1] ?? null;
  }

  private nextRow(): Row | null {
    for (let read = this.advance(); read !== null; read = this.advance()) if (read.kept) return read.row;
    return null;
  }

  /** Reads one row, null at the end. A row that a filter drops was read all the same. */
  advance(): { row: Row; kept: boolean } | null {
    const row = this.finished ? null : (this.stream?.pull() ?? null);
    if (row === null) {
      this.finished = true;
      return null;
    }
    return { row, kept: this.keeps(row) };
  }

  private keeps(row: Row): boolean {
    const document = this.needsDocument ? (JSON.parse(row[1]) as JsonObject) : NO_DOCUMENT;
    for (const step of this.steps) {
      const verdict = step(document);
      if (verdict === "drop") return false;
      if (verdict === "stop") this.finished = true;
    }
    return true;
  }
}

const NO_DOCUMENT: JsonObject = {};
/** Greater than every key; the start of a descending read that has consumed nothing. */
const END = "\xff".repeat(17);
/** What the keys of numbers begin with, and the end of what the keys of strings begin with. */
const FLOAT64_TAG = "\x0d";
const STRING_TAG_END = "\x11";
const CREATION_TIME_BYTES = 8;

function compileOperator(
  operator: { filter: FilterExpression } | { limit: number },
): (document: JsonObject) => "keep" | "drop" | "stop" {
  if ("filter" in operator) {
    const matches = compileFilter(operator.filter);
    return (document) => (matches(document) ? "keep" : "drop");
  }
  let left = operator.limit;
  return () => (--left === 0 ? "stop" : "keep");
}

function splitIndexName(indexName: string): [table: string, index: string] {
  const dot = indexName.indexOf(".");
  return [indexName.slice(0, dot), indexName.slice(dot + 1)];
}

function visibleIndex(table: TableInfo | null, name: string): IndexInfo | undefined {
  return name.startsWith("_") ? undefined : table?.indexes.find((index) => index.name === name);
}

/** Turns range steps into key bounds; equalities must be a prefix, one field may have bounds after them. */
function bounds(
  table: TableInfo,
  name: string,
  fields: readonly string[],
  steps: RangeStep[],
): { lo: string; hi: string | null } {
  const equal = new Map<string, RangeStep>();
  let lower: RangeStep | null = null;
  let upper: RangeStep | null = null;
  for (const step of steps) {
    if (!fields.includes(step.fieldPath)) {
      throw new Error(
        `The index range included a comparison with ${step.fieldPath}, but ${name} with fields ` +
          `${JSON.stringify(fields)} doesn't index this field.`,
      );
    }
    if (step.type === "Eq") equal.set(step.fieldPath, step);
    else if (step.type === "Gt" || step.type === "Gte") {
      if (lower !== null)
        throw new Error(`Already defined lower bound in index range. Can't add ${step.fieldPath}.`);
      lower = step;
    } else {
      if (upper !== null)
        throw new Error(`Already defined upper bound in index range. Can't add ${step.fieldPath}.`);
      upper = step;
    }
  }
  let prefix = "";
  for (const [position, field] of fields.slice(0, equal.size).entries()) {
    const step = equal.get(field);
    if (step === undefined) throw outOfOrder(name);
    const { from, to } = place(table, fields, position, prefix, plain(step.value));
    if (from === to) return { lo: from, hi: from };
    prefix = from;
  }
  const bounded = fields[equal.size];
  for (const step of [lower, upper]) if (step !== null && step.fieldPath !== bounded) throw outOfOrder(name);
  const placed = (step: RangeStep): Place => place(table, fields, equal.size, prefix, plain(step.value));
  return {
    lo: lower === null ? prefix : lower.type === "Gte" ? placed(lower).from : placed(lower).to,
    hi: upper === null ? keySuccessor(prefix) : upper.type === "Lt" ? placed(upper).from : placed(upper).to,
  };
}

/** The keys that hold one value in one field: from <= key < to. Equal ends mean a place between keys. */
interface Place {
  from: string;
  to: string;
}

/**
 * Where a value lies among the keys that begin with `prefix`. The two tie-breakers share the internal id at
 * the end of a key: the creation time is its first half, without a type tag, so values of other types lie
 * before or after all of them.
 */
function place(
  table: TableInfo,
  fields: readonly string[],
  position: number,
  prefix: string,
  value: JsonValue | undefined,
): Place {
  const part = encodeKeyPart(value);
  const before: Place = { from: prefix, to: prefix };
  const end = keySuccessor(prefix) ?? END;
  const behind: Place = { from: end, to: end };
  const at = (key: string): Place => ({ from: key, to: keySuccessor(key) ?? END });
  switch (fields[position]) {
    case "_creationTime":
      if (part.startsWith(FLOAT64_TAG)) return at(prefix + part.slice(1));
      return part < FLOAT64_TAG ? before : behind;
    case "_id": {
      const id = typeof value === "string" ? decodeId(value) : null;
      if (id === null) return part < STRING_TAG_END ? before : behind;
      if (id.tableNumber !== table.number) return id.tableNumber < table.number ? before : behind;
      const afterTime = fields[position - 1] === "_creationTime";
      const key = (afterTime ? prefix.slice(0, -CREATION_TIME_BYTES) : prefix) + id.internal;
      if (key.startsWith(prefix)) return at(key);
      return key < prefix ? before : behind;
    }
    default:
      return at(prefix + part);
  }
}

function outOfOrder(name: string): Error {
  return new Error(`Tried to query index ${name} but the query didn't use the index fields in order.`);
}

/** `{"$undefined": null}` stands for a missing field in range values. */
function plain(value: JsonValue): JsonValue | undefined {
  return value !== null && typeof value === "object" && "$undefined" in value ? undefined : value;
}
