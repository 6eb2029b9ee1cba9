/**
 * Which tables and indexes exist and under which numbers. Numbers are given once and kept in the database
 * file; the schema of the loaded functions decides which indexes are kept and how documents are checked.
 */
import { encodeKeyPart, getField } from "./values/order-key.ts";
import type { JsonObject } from "./values/json.ts";
import { encodeId } from "./values/doc-id.ts";
import type { Row, Storage } from "./storage.ts";

export interface IndexInfo {
  readonly id: number;
  readonly name: string;
  readonly fields: readonly string[];
}

export type DocumentCheck = (document: JsonObject) => string | null;

export interface TableInfo {
  readonly number: number;
  readonly name: string;
  /** System tables start with an underscore; functions read them through `db.system` only. */
  readonly isSystem: boolean;
  indexes: IndexInfo[];
  /** Says why a document does not fit the schema, null when it does. No check accepts everything. */
  checkDocument: DocumentCheck | null;
  /** The rules the stored documents were last checked against, as JSON text. */
  rules: string | null;
}

/** What a schema asks for: the part of `schema.export()` that the catalog needs. */
export interface TableSpec {
  name: string;
  indexes: { name: string; fields: string[] }[];
  checkDocument: DocumentCheck | null;
  /** The validator as JSON text: stored documents are checked again when it changed. */
  rules: string | null;
}

interface Stored {
  nextTableNumber: number;
  nextIndexId: number;
  tables: { number: number; name: string; indexes: IndexInfo[]; rules: string | null }[];
  /** Indexes that are in no table any more, or not yet: their keys are removed before anything else happens. */
  abandoned?: number[];
}

/** What a new schema changes about one table. */
interface TablePlan {
  table: TableInfo;
  spec: TableSpec;
  kept: IndexInfo[];
  added: IndexInfo[];
  dropped: IndexInfo[];
}

const META_NAME = "catalog";
/** User tables start here, as in real Convex, so ids have the usual 32 characters. */
const FIRST_USER_TABLE = 10_001;
const FIRST_SYSTEM_TABLE = 1;
/** Documents read, and index keys written, per step when an index is built. */
const BACKFILL_BATCH = 2_000;

/** Tables the engine itself writes. `_scheduled_functions` is visible to functions, the others are not. */
export const SYSTEM_TABLES: TableSpec[] = [
  {
    name: "_scheduled_functions",
    indexes: [
      { name: "_by_due", fields: ["state.kind", "scheduledTime"] },
      { name: "_by_completed", fields: ["completedTime"] },
    ],
    checkDocument: null,
    rules: null,
  },
  { name: "_storage", indexes: [], checkDocument: null, rules: null },
  {
    name: "_cron_state",
    indexes: [{ name: "_by_name", fields: ["name"] }],
    checkDocument: null,
    rules: null,
  },
  {
    name: "_mutation_records",
    indexes: [{ name: "_by_request", fields: ["sessionId", "requestId", "part"] }],
    checkDocument: null,
    rules: null,
  },
];

export class Catalog {
  private readonly byName = new Map<string, TableInfo>();
  private readonly byNumber = new Map<number, TableInfo>();
  private stored: Stored;
  private acceptsNewTables = true;

  constructor(private readonly storage: Storage) {
    const text = storage.getMeta(META_NAME);
    this.stored =
      text === null
        ? { nextTableNumber: FIRST_USER_TABLE, nextIndexId: 1, tables: [] }
        : (JSON.parse(text) as Stored);
    for (const table of this.stored.tables)
      this.register(table.number, table.name, table.indexes, table.rules);
  }

  /**
   * Makes tables and indexes fit `specs` (plus the system tables). Stored documents are checked when a table's
   * rules changed, new indexes are filled from the documents, and only then do the new rules and indexes take
   * effect, in one commit: a schema that is refused, or a crash half-way, leaves everything as it was.
   * Call outside of any transaction.
   * @param strict refuse writes to tables that `specs` does not name
   */
  apply(specs: readonly TableSpec[], strict: boolean): void {
    this.clearAbandoned();
    const plans = SYSTEM_TABLES.map((spec, position) => this.plan(spec, FIRST_SYSTEM_TABLE + position));
    for (const spec of specs) plans.push(this.plan(spec, null));
    const named = new Set(plans.map((plan) => plan.table));
    for (const table of this.byName.values()) {
      if (!named.has(table)) plans.push(this.plan(unnamedTable(table.name, strict), null));
    }
    for (const plan of plans) this.checkStored(plan);
    // Number the new indexes durably before their first key is written, so that no number is ever used twice.
    this.stored.abandoned = plans.flatMap((plan) => plan.added.map((index) => index.id));
    this.inBatch(() => this.save());
    for (const plan of plans) this.backfill(plan);
    this.stored.abandoned = plans.flatMap((plan) => plan.dropped.map((index) => index.id));
    for (const { table, spec, kept, added } of plans) {
      table.rules = spec.rules;
      table.indexes = [...kept, ...added];
      table.checkDocument = spec.checkDocument;
    }
    this.acceptsNewTables = !strict;
    this.inBatch(() => this.save());
    this.clearAbandoned();
  }

  /** The table of this name, or null when no document or schema ever named it. */
  find(name: string): TableInfo | null {
    return this.byName.get(name) ?? null;
  }

  findByNumber(tableNumber: number): TableInfo | null {
    return this.byNumber.get(tableNumber) ?? null;
  }

  /** The table for a write: creates it when no schema forbids that. Must run inside a storage transaction or none. */
  findOrCreate(name: string): TableInfo {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    if (!this.acceptsNewTables) throw new Error(`Table "${name}" is not in the schema.`);
    if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name)) throw new Error(`Invalid table name "${name}".`);
    const table = this.register(this.stored.nextTableNumber++, name, [], null);
    if (this.storage.inTransaction) this.save();
    else this.inBatch(() => this.save());
    return table;
  }

  get tableNumbers(): number[] {
    return [...this.byNumber.keys()];
  }

  /** Name of the table an index belongs to, for conflict texts. */
  tableOfIndex(indexId: number): string | null {
    return (
      [...this.byName.values()].find((table) => table.indexes.some((index) => index.id === indexId))?.name ??
      null
    );
  }

  /** Table name of a document id's table number: what `v.id()` checks need. */
  readonly tableNameOf = (tableNumber: number): string | null => this.byNumber.get(tableNumber)?.name ?? null;

  private register(number: number, name: string, indexes: IndexInfo[], rules: string | null): TableInfo {
    const table: TableInfo = {
      number,
      name,
      isSystem: name.startsWith("_"),
      indexes,
      checkDocument: null,
      rules,
    };
    this.byName.set(name, table);
    this.byNumber.set(number, table);
    return table;
  }

  private plan(spec: TableSpec, systemNumber: number | null): TablePlan {
    const table =
      this.byName.get(spec.name) ??
      this.register(systemNumber ?? this.stored.nextTableNumber++, spec.name, [], null);
    const kept: IndexInfo[] = [];
    const added: IndexInfo[] = [];
    for (const wanted of spec.indexes) {
      const existing = table.indexes.find((index) => sameIndex(index, wanted));
      if (existing !== undefined) kept.push(existing);
      else added.push({ id: this.stored.nextIndexId++, name: wanted.name, fields: [...wanted.fields] });
    }
    return { table, spec, kept, added, dropped: table.indexes.filter((index) => !kept.includes(index)) };
  }

  /** @throws Error naming the first stored document that the new rules refuse */
  private checkStored({ table, spec }: TablePlan): void {
    const check = spec.checkDocument;
    if (check === null || spec.rules === table.rules || spec.rules === null) return;
    for (const rows of this.batches(table)) {
      for (const [internalId, json] of rows) {
        const failure = check(JSON.parse(json) as JsonObject);
        if (failure === null) continue;
        const id = encodeId(table.number, internalId);
        throw new Error(
          `Document with ID "${id}" in table "${table.name}" does not match the schema: ${failure}`,
        );
      }
    }
  }

  private backfill({ table, added }: TablePlan): void {
    if (added.length === 0) return;
    for (const rows of this.batches(table)) {
      this.inBatch(() => {
        for (const [internalId, json] of rows) {
          const document = JSON.parse(json) as JsonObject;
          for (const index of added)
            this.storage.putIndexKey(index.id, indexKey(index, document, internalId));
        }
      });
    }
  }

  /** Every document of a table, a bounded number at a time. */
  private *batches(table: TableInfo): Generator<Row[]> {
    let from = "";
    for (;;) {
      const rows = this.storage.scanDocuments(table.number, from, null, "asc", BACKFILL_BATCH);
      if (rows.length > 0) yield rows;
      if (rows.length < BACKFILL_BATCH) return;
      from = `${rows.at(-1)![0]}\0`;
    }
  }

  /** Removes the keys of indexes that were dropped, or whose building never ended. */
  private clearAbandoned(): void {
    const abandoned = this.stored.abandoned ?? [];
    if (abandoned.length === 0) return;
    this.inBatch(() => {
      for (const indexId of abandoned) this.storage.dropIndex(indexId);
      this.stored.abandoned = [];
      this.save();
    });
  }

  private save(): void {
    this.stored.tables = [...this.byName.values()].map(({ number, name, indexes, rules }) => ({
      number,
      name,
      indexes,
      rules,
    }));
    this.storage.setMeta(META_NAME, JSON.stringify(this.stored));
  }

  private inBatch<T>(work: () => T): T {
    this.storage.begin();
    try {
      const result = work();
      this.storage.commit();
      return result;
    } catch (error) {
      this.storage.rollback();
      throw error;
    }
  }
}

/** A table with documents that the schema does not name: it keeps them, without indexes. */
function unnamedTable(name: string, strict: boolean): TableSpec {
  const refuse = (): string => `Table "${name}" is not in the schema.`;
  return { name, indexes: [], checkDocument: strict ? refuse : null, rules: null };
}

function sameIndex(index: IndexInfo, wanted: { name: string; fields: string[] }): boolean {
  return index.name === wanted.name && JSON.stringify(index.fields) === JSON.stringify(wanted.fields);
}

/** The key of a document in an index: its fields, then its internal id, which begins with the creation time. */
export function indexKey(index: IndexInfo, document: JsonObject, internalId: string): string {
  let key = "";
  for (const field of index.fields) key += encodeKeyPart(getField(document, field));
  return key + internalId;
}
