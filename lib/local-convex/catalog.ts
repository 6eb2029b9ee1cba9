/**
 * Which tables and indexes exist and under which numbers. Numbers are given once and kept in the database
 * file; the schema of the loaded functions decides which indexes are kept and how documents are checked.
 */
import { encodeCreationTime, encodeKeyPart, getField } from "./values/order-key.ts";
import type { JsonObject, JsonValue } from "./values/json.ts";
import { decodeId } from "./values/doc-id.ts";
import type { Storage } from "./storage.ts";

export interface IndexInfo {
  readonly id: number;
  readonly name: string;
  readonly fields: readonly string[];
}

export interface TableInfo {
  readonly number: number;
  readonly name: string;
  /** System tables start with an underscore; functions read them through `db.system` only. */
  readonly isSystem: boolean;
  indexes: IndexInfo[];
  /** Throws when a document does not fit the schema; null accepts everything. */
  checkDocument: ((document: JsonObject) => void) | null;
  /** The rules the stored documents were last checked against, as JSON text. */
  rules: string | null;
}

/** What a schema asks for: the part of `schema.export()` that the catalog needs. */
export interface TableSpec {
  name: string;
  indexes: { name: string; fields: string[] }[];
  checkDocument: ((document: JsonObject) => void) | null;
  /** The validator as JSON text: stored documents are checked again when it changed. */
  rules: string | null;
}

interface Stored {
  nextTableNumber: number;
  nextIndexId: number;
  tables: { number: number; name: string; indexes: IndexInfo[]; rules: string | null }[];
}

const META_NAME = "catalog";
/** User tables start here, as in real Convex, so ids have the usual 32 characters. */
const FIRST_USER_TABLE = 10_001;
const FIRST_SYSTEM_TABLE = 1;
/** Documents read, and index keys written or cleared, per step when an index is built or dropped. */
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
   * Makes tables and indexes fit `specs` (plus the system tables): new indexes are filled from the documents,
   * indexes no longer named are dropped. Existing documents are checked when a table's rules changed.
   * Call outside of any transaction.
   * @param strict refuse writes to tables that `specs` does not name
   */
  apply(specs: readonly TableSpec[], strict: boolean): void {
    for (const table of this.byName.values()) table.checkDocument = null;
    for (const [position, spec] of SYSTEM_TABLES.entries())
      this.applyTable(spec, FIRST_SYSTEM_TABLE + position);
    for (const spec of specs) this.applyTable(spec, null);
    this.acceptsNewTables = !strict;
    this.inBatch(() => this.save());
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

  private applyTable(spec: TableSpec, systemNumber: number | null): void {
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
    for (const dropped of table.indexes.filter((index) => !kept.includes(index))) this.dropIndex(dropped);
    if (added.length > 0 || spec.rules !== table.rules) {
      this.readThrough(table, (id, document) => {
        spec.checkDocument?.(document);
        for (const index of added) this.storage.putIndexKey(index.id, indexKey(index, document, id));
      });
    }
    table.rules = spec.rules;
    table.indexes = [...kept, ...added];
    table.checkDocument = spec.checkDocument;
  }

  /** Visits every document of a table, one storage transaction per batch. */
  private readThrough(table: TableInfo, visit: (id: string, document: JsonObject) => void): void {
    let from = "";
    for (;;) {
      const rows = this.storage.scanDocuments(table.number, from, null, "asc", BACKFILL_BATCH);
      this.inBatch(() => {
        for (const [id, json] of rows) visit(id, JSON.parse(json) as JsonObject);
      });
      const last = rows.at(-1);
      if (last === undefined || rows.length < BACKFILL_BATCH) return;
      from = `${last[0]}\0`;
    }
  }

  private dropIndex(index: IndexInfo): void {
    let removed: number;
    do {
      removed = this.inBatch(() => this.storage.clearIndex(index.id, BACKFILL_BATCH));
    } while (removed === BACKFILL_BATCH);
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

function sameIndex(index: IndexInfo, wanted: { name: string; fields: string[] }): boolean {
  return index.name === wanted.name && JSON.stringify(index.fields) === JSON.stringify(wanted.fields);
}

/** The key of a document in an index: its fields, then its internal id, which begins with the creation time. */
export function indexKey(index: IndexInfo, document: JsonObject, internalId: string): string {
  let key = "";
  for (const field of index.fields) key += encodeKeyPart(getField(document, field));
  return key + internalId;
}

/** The part of a key that stands for a field value in a range; the tie-breakers have their own form. */
export function rangePart(field: string, value: JsonValue | undefined): string {
  if (field === "_creationTime") {
    if (typeof value !== "number") throw new Error("_creationTime can only be compared with a number.");
    return encodeCreationTime(value).slice(1);
  }
  if (field === "_id") {
    const decoded = typeof value === "string" ? decodeId(value) : null;
    if (decoded === null) throw new Error("_id can only be compared with a document id.");
    return decoded.internal;
  }
  return encodeKeyPart(value);
}
