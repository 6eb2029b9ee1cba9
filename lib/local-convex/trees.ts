/**
 * The B-trees of a database file and the statements on them. A tree of its own for every table and index keeps each
 * as shallow as its own size allows; a documents tree is keyed by an integer, so its inner pages hold no rows.
 * A tree is made by the first write to it; until then it reads as empty.
 */
import type Database from "better-sqlite3";

type Order = "asc" | "desc";

interface DocumentStatements {
  /** Creation time and id: an id with another tail is another document's. */
  readonly get: Database.Statement;
  readonly put: Database.Statement;
  readonly delete: Database.Statement;
}

interface IndexStatements {
  readonly put: Database.Statement;
  readonly delete: Database.Statement;
}

/** Prepared scans kept; past it (callers with very many different limits) they are made anew. */
const SCANS_MAX = 1_024;

export class Trees {
  private readonly documentTrees = new Map<number, DocumentStatements>();
  private readonly indexTrees = new Map<number, IndexStatements>();
  /** One for each limit: see `scan`. */
  private readonly scans = new Map<string, Database.Statement>();
  private names: Set<string>;

  constructor(private readonly db: Database.Database) {
    this.names = namesIn(db);
  }

  /** Null when nothing was ever written to the table. */
  documents(tableNumber: number): DocumentStatements | null {
    const known = this.documentTrees.get(tableNumber);
    if (known !== undefined) return known;
    const name = `documents_${tableNumber}`;
    if (!this.names.has(name)) return null;
    const { db } = this;
    const made: DocumentStatements = {
      get: db.prepare(`SELECT value FROM ${name} WHERE created = ? AND id = ?`).raw(),
      put: db.prepare(
        `INSERT INTO ${name} (created, id, value) VALUES (?, ?, ?)
         ON CONFLICT (created) DO UPDATE SET value = excluded.value WHERE id = excluded.id`,
      ),
      delete: db.prepare(`DELETE FROM ${name} WHERE created = ?`),
    };
    this.documentTrees.set(tableNumber, made);
    return made;
  }

  documentsForWrite(tableNumber: number): DocumentStatements {
    return this.documents(tableNumber) ?? this.documents(this.makeDocuments(tableNumber))!;
  }

  /** Null when nothing was ever written to the index. */
  index(indexId: number): IndexStatements | null {
    const known = this.indexTrees.get(indexId);
    if (known !== undefined) return known;
    const name = `index_${indexId}`;
    if (!this.names.has(name)) return null;
    const made: IndexStatements = {
      put: this.db.prepare(`INSERT OR REPLACE INTO ${name} (key, created) VALUES (?, ?)`),
      delete: this.db.prepare(`DELETE FROM ${name} WHERE key = ?`),
    };
    this.indexTrees.set(indexId, made);
    return made;
  }

  indexForWrite(indexId: number): IndexStatements {
    return this.index(indexId) ?? this.index(this.makeIndex(indexId))!;
  }

  dropIndex(indexId: number): void {
    this.db.exec(`DROP TABLE IF EXISTS index_${indexId}`);
    this.forget();
  }

  /** Takes creation times from and to (both included), then ids from and to (the last excluded). */
  scanDocuments(tableNumber: number, order: Order, limit: number): Database.Statement | null {
    const name = `documents_${tableNumber}`;
    if (!this.names.has(name)) return null;
    return this.scan(`${name} ${order} ${limit}`, () => {
      return `SELECT id, value FROM ${name} WHERE created >= ? AND created <= ? AND id >= ? AND id < ?
        ORDER BY created ${order} LIMIT ${limit}`;
    });
  }

  /** Takes keys from and to (excluded). */
  scanIndex(indexId: number, tableNumber: number, order: Order, limit: number): Database.Statement | null {
    const name = `index_${indexId}`;
    if (!this.names.has(name)) return null;
    return this.scan(`${name} ${order} ${limit}`, () => {
      return `SELECT k.key, d.value FROM ${name} k CROSS JOIN documents_${tableNumber} d ON d.created = k.created
        WHERE k.key >= ? AND k.key < ? ORDER BY k.key ${order} LIMIT ${limit}`;
    });
  }

  /** After a rollback or a drop: trees may be gone. */
  forget(): void {
    this.documentTrees.clear();
    this.indexTrees.clear();
    this.scans.clear();
    this.names = namesIn(this.db);
  }

  /**
   * With the limit as a parameter the same scan takes three times as long (15 against 4.5 µs for two rows),
   * because SQLite then plans for any number of rows.
   */
  private scan(key: string, sql: () => string): Database.Statement {
    let found = this.scans.get(key);
    if (found === undefined) {
      if (this.scans.size >= SCANS_MAX) this.scans.clear();
      this.scans.set(key, (found = this.db.prepare(sql()).raw()));
    }
    return found;
  }

  private makeDocuments(tableNumber: number): number {
    this.make(
      `documents_${tableNumber}`,
      "(created INTEGER PRIMARY KEY, id BLOB NOT NULL, value TEXT NOT NULL)",
    );
    return tableNumber;
  }

  private makeIndex(indexId: number): number {
    this.make(`index_${indexId}`, "(key BLOB PRIMARY KEY, created INTEGER NOT NULL) WITHOUT ROWID");
    return indexId;
  }

  private make(name: string, columns: string): void {
    this.db.exec(`CREATE TABLE ${name} ${columns}`);
    this.names.add(name);
  }
}

function namesIn(db: Database.Database): Set<string> {
  return new Set(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]);
}
