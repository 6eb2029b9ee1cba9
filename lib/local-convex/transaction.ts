/**
 * One transaction: a snapshot, what was read, and a write overlay that later reads of the same transaction
 * see. Nothing reaches storage before the commit. Nested mutations mark the overlay and undo to the mark.
 *
 * Concurrent commits: a read of an interval that another commit wrote since this transaction began raises
 * ConflictError, so the values seen always belong to one snapshot.
 */
import { ConflictError, notSupported } from "./errors.ts";
import { indexKey, type Catalog, type IndexInfo, type TableInfo } from "./catalog.ts";
import { after, contains, ReadSet, type ReadInterval, type WrittenKeys } from "./read-set.ts";
import { Limits } from "./limits.ts";
import { OverlayIndex } from "./overlay-index.ts";
import { checkDocument } from "./values/check-value.ts";
import { encodeId } from "./values/doc-id.ts";
import type { JsonObject } from "./values/json.ts";
import type { Row, Storage } from "./storage.ts";

/** What a transaction needs from its engine. */
export interface TransactionHost {
  readonly storage: Storage;
  readonly catalog: Catalog;
  /** Number of commits so far; a transaction begins at this number. */
  commitCount(): number;
  /** Keys written by commits numbered above `sinceCount`. */
  writtenSince(sinceCount: number): Iterable<WrittenKeys>;
  /** A fresh internal id for a document created now, unique and increasing in this database. */
  nextInternalId(nowMs: number): { internalId: string; creationTimeMs: number };
  /** Test seam: called before a write to a table is taken in; may throw. */
  beforeWrite?: (table: string) => void;
}

/** The keys of one version of a document, in the order of its table's indexes; null when there is no document. */
type VersionKeys = readonly string[] | null;

/** What a transaction made of a document; `json` and `keys` are null together, when it is deleted. */
interface Version {
  readonly json: string | null;
  readonly keys: VersionKeys;
}

interface PendingDocument {
  readonly table: TableInfo;
  readonly internalId: string;
  /** As stored before this transaction. */
  readonly storedKeys: VersionKeys;
  version: Version;
}

interface UndoStep {
  readonly key: string;
  /** Null when the transaction had not written the document before. */
  readonly previous: Version | null;
}

const documentKey = (tableNumber: number, internalId: string): string => `${tableNumber}:${internalId}`;

export class Transaction {
  readonly reads = new ReadSet();
  readonly limits = new Limits();
  readonly beganAtCount: number;
  /** Set when a conflict was found: the transaction can no longer commit, whatever user code catches. */
  conflict: ConflictError | null = null;
  private readonly pending = new Map<string, PendingDocument>();
  private readonly overlays = new Map<number, OverlayIndex>();
  private readonly undoLog: UndoStep[] = [];

  constructor(
    private readonly host: TransactionHost,
    readonly nowMs: number,
  ) {
    this.beganAtCount = host.commitCount();
  }

  get hasWrites(): boolean {
    return this.pending.size > 0;
  }

  /** The stored JSON text of a document, or null. */
  get(table: TableInfo, internalId: string): string | null {
    this.recordRead(this.reads.add(-table.number, internalId, `${internalId}\0`));
    this.limits.countRange();
    const json = this.peek(table, internalId);
    if (json !== null) this.limits.countRead(json.length);
    return json;
  }

  /** Creates a document and returns its id. */
  insert(table: TableInfo, value: JsonObject): string {
    const { internalId, creationTimeMs } = this.host.nextInternalId(this.nowMs);
    const id = encodeId(table.number, internalId);
    this.write(table, internalId, null, { ...value, _creationTime: creationTimeMs, _id: id });
    return id;
  }

  /**
   * Replaces the document (null deletes it). `before` is what `get` returned.
   * @param afterText `after` as JSON text, when the caller already has it
   */
  update(
    table: TableInfo,
    internalId: string,
    before: JsonObject,
    after: JsonObject | null,
    afterText?: string,
  ): void {
    this.write(table, internalId, before, after, afterText);
  }

  /**
   * One page of rows with keys in [lo, hi): storage with this transaction's own writes merged in. `next` is
   * where to go on (the new `lo`, or the new `hi` when descending), null when the range is exhausted.
   * Records no read: the caller knows what it consumed.
   */
  page(source: RowSource, lo: string, hi: string | null, order: "asc" | "desc", limit: number): RowPage {
    const overlay = this.overlays.get(source.space);
    const ascending = order === "asc";
    const stored = source.scan(this.host.storage, lo, hi, order, limit);
    const last = stored.length === limit ? stored.at(-1)![0] : null;
    const next = last === null ? null : ascending ? after(last) : last;
    const rows = this.withPending(source, stored);
    if (overlay === undefined || overlay.size === 0) return { rows, next };
    const merged = rows.filter(([key]) => !overlay.has(key));
    const from = !ascending && next !== null ? next : lo;
    const to = ascending && next !== null ? next : hi;
    const added = overlay.present(from, to, order, limit);
    if (added.length === 0) return { rows: merged, next };
    for (const key of added) merged.push([key, this.peek(source.table, source.internalIdOf(key))!]);
    const direction = ascending ? 1 : -1;
    merged.sort((a, b) => (a[0] < b[0] ? -direction : direction));
    // Both parts hold their first `limit` rows, so the first `limit` of the merge are surely complete.
    if (merged.length < limit) return { rows: merged, next };
    merged.length = limit;
    const cut = merged.at(-1)![0];
    return { rows: merged, next: ascending ? after(cut) : cut };
  }

  /** Notes an interval that a stream widened; raises ConflictError when another commit wrote into it. */
  recordRead(interval: ReadInterval): void {
    if (this.host.commitCount() === this.beganAtCount) return;
    for (const written of this.host.writtenSince(this.beganAtCount)) {
      if (written.get(interval.space)?.some((key) => contains(interval, key))) this.fail(interval.space);
    }
  }

  /** Final check before the commit. */
  validate(): void {
    if (this.conflict !== null) throw this.conflict;
    if (this.host.commitCount() === this.beganAtCount) return;
    for (const written of this.host.writtenSince(this.beganAtCount)) {
      const space = this.reads.touchedBy(written);
      if (space !== null) this.fail(space);
    }
  }

  mark(): number {
    return this.undoLog.length;
  }

  /** Takes back every write made after `mark`; reads stay recorded. */
  undoTo(mark: number): void {
    while (this.undoLog.length > mark) {
      const step = this.undoLog.pop()!;
      const entry = this.pending.get(step.key)!;
      const { previous } = step;
      this.moveKeys(entry, entry.version.keys, previous === null ? entry.storedKeys : previous.keys);
      if (previous === null) this.pending.delete(step.key);
      else entry.version = previous;
    }
  }

  /** Writes the overlay into the open storage transaction; returns the keys readers may have depended on. */
  apply(): WrittenKeys {
    const written: WrittenKeys = new Map();
    const { storage } = this.host;
    for (const { table, internalId, storedKeys, version } of this.pending.values()) {
      if (storedKeys === null && version.keys === null) continue;
      addKey(written, -table.number, internalId);
      if (version.json === null) storage.deleteDocument(table.number, internalId);
      else storage.putDocument(table.number, internalId, version.json);
      for (const [position, index] of table.indexes.entries()) {
        const from = storedKeys?.[position] ?? null;
        applyIndex(storage, written, index, from, version.keys?.[position] ?? null);
      }
    }
    return written;
  }

  /** Tables written, for the scheduler and for conflict texts. */
  writtenTables(): Set<string> {
    return new Set([...this.pending.values()].map((entry) => entry.table.name));
  }

  private peek(table: TableInfo, internalId: string): string | null {
    const entry = this.pending.get(documentKey(table.number, internalId));
    return entry === undefined ? this.host.storage.getDocument(table.number, internalId) : entry.version.json;
  }

  private withPending(source: RowSource, rows: Row[]): Row[] {
    if (this.pending.size === 0) return rows;
    for (const row of rows) {
      const entry = this.pending.get(documentKey(source.table.number, source.internalIdOf(row[0])));
      if (entry !== undefined && entry.version.json !== null) row[1] = entry.version.json;
    }
    return rows;
  }

  private write(
    table: TableInfo,
    internalId: string,
    before: JsonObject | null,
    next: JsonObject | null,
    nextText?: string,
  ): void {
    this.host.beforeWrite?.(table.name);
    let json: string | null = null;
    let bytes = 0;
    if (next !== null) {
      bytes = checkDocument(next);
      const failure = table.checkDocument?.(next) ?? null;
      if (failure !== null) {
        throw new Error(
          `Failed to insert or update a document in table "${table.name}" because it does not match the ` +
            `schema: ${failure}`,
        );
      }
      json = nextText ?? JSON.stringify(next);
      if (json.includes('{"$commitTs":null}')) throw notSupported("db.vars.commitTs");
    }
    const key = documentKey(table.number, internalId);
    const entry = this.pending.get(key);
    this.limits.countWrite(bytes);
    const version: Version = { json, keys: keysOf(table, internalId, next) };
    if (entry === undefined) {
      const storedKeys = keysOf(table, internalId, before);
      const created: PendingDocument = { table, internalId, storedKeys, version };
      this.pending.set(key, created);
      this.undoLog.push({ key, previous: null });
      this.moveKeys(created, storedKeys, version.keys);
      return;
    }
    this.undoLog.push({ key, previous: entry.version });
    this.moveKeys(entry, entry.version.keys, version.keys);
    entry.version = version;
  }

  /** Keeps the overlays equal to the difference between what is stored and the version with the keys `to`. */
  private moveKeys(entry: PendingDocument, from: VersionKeys, to: VersionKeys): void {
    const { table, internalId, storedKeys } = entry;
    if ((from === null) !== (to === null)) {
      this.overlay(-table.number).set(internalId, to !== null, storedKeys !== null);
    }
    for (const [position, index] of table.indexes.entries()) {
      const left = from?.[position];
      const entered = to?.[position];
      if (left === entered) continue;
      const stored = storedKeys?.[position];
      const overlay = this.overlay(index.id);
      if (left !== undefined) overlay.set(left, false, left === stored);
      if (entered !== undefined) overlay.set(entered, true, entered === stored);
    }
  }

  private overlay(space: number): OverlayIndex {
    let overlay = this.overlays.get(space);
    if (overlay === undefined) this.overlays.set(space, (overlay = new OverlayIndex()));
    return overlay;
  }

  private fail(space: number): never {
    this.conflict = new ConflictError(
      this.host.catalog.findByNumber(-space)?.name ?? this.tableOfIndex(space),
    );
    throw this.conflict;
  }

  private tableOfIndex(indexId: number): string {
    return this.host.catalog.tableOfIndex(indexId) ?? String(indexId);
  }
}

export interface RowPage {
  rows: Row[];
  next: string | null;
}

/** Where a range reads from: an index, or the documents of a table in creation order. */
export interface RowSource {
  readonly table: TableInfo;
  readonly space: number;
  scan(storage: Storage, lo: string, hi: string | null, order: "asc" | "desc", limit: number): Row[];
  internalIdOf(key: string): string;
}

export function indexSource(table: TableInfo, index: IndexInfo): RowSource {
  return {
    table,
    space: index.id,
    scan: (storage, lo, hi, order, limit) => storage.scanIndex(index.id, table.number, lo, hi, order, limit),
    internalIdOf: (key) => key.slice(-16),
  };
}

export function documentSource(table: TableInfo): RowSource {
  return {
    table,
    space: -table.number,
    scan: (storage, lo, hi, order, limit) => storage.scanDocuments(table.number, lo, hi, order, limit),
    internalIdOf: (key) => key,
  };
}

function keysOf(table: TableInfo, internalId: string, document: JsonObject | null): VersionKeys {
  return document === null ? null : table.indexes.map((index) => indexKey(index, document, internalId));
}

function applyIndex(
  storage: Storage,
  written: WrittenKeys,
  index: IndexInfo,
  from: string | null,
  to: string | null,
): void {
  if (from !== null) addKey(written, index.id, from);
  if (from === to) return;
  if (from !== null) storage.deleteIndexKey(index.id, from);
  if (to !== null) {
    storage.putIndexKey(index.id, to);
    addKey(written, index.id, to);
  }
}

function addKey(written: WrittenKeys, space: number, key: string): void {
  const keys = written.get(space);
  if (keys === undefined) written.set(space, [key]);
  else keys.push(key);
}
