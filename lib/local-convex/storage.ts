/**
 * The one door to SQLite. Two physical tables hold everything: documents by (table number, internal id) and
 * index keys by (index id, key). An internal id is 16 bytes that begin with the creation time, so the
 * documents table itself is the by_creation_time index. Keys are binary strings (one char per byte).
 *
 * Not responsible for: what a document means, transactions of user functions, schema.
 */
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { StorageError } from "./errors.ts";

/** "HOLD": marks the file as ours, so that a foreign database is never written to. */
const APPLICATION_ID = 0x484f4c44;
const FORMAT_VERSION = 1;
/** Where SQLite keeps these in the first bytes of a file. */
const SQLITE_MAGIC = "SQLite format 3\0";
const HEADER_BYTES = 100;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;
/** Greater than every key: user keys start with a tag of at most 0x15, ids with a creation time. */
const KEY_MAX = Buffer.alloc(17, 0xff);
/**
 * Rows lie in the inner pages of these trees too, so a page of 4 KiB held about 17 of them and a million rows were
 * five levels deep. At 8 KiB a point read there costs about 1.6 times one at a thousand rows, at 4 KiB 1.74.
 */
const PAGE_BYTES = 8_192;
/** 128 MiB of page cache: a million-row table (330 MB) stays mostly on disk, the engine well under 300 MB. */
const CACHE_KIB = 128 * 1024;
/** Files up to this size are checked page by page at start (a second or two at most). */
const CHECK_BYTES_MAX = 256 * 1024 * 1024;

/** Prepared scans kept; past it (callers with very many different limits) they are made anew. */
const SCANS_MAX = 256;

export type Row = [key: string, json: string];

const toBuffer = (key: string): Buffer => Buffer.from(key, "latin1");

export class Storage {
  private readonly db: Database.Database;
  private readonly statements;
  private readonly scans;

  private constructor(
    db: Database.Database,
    readonly file: string,
  ) {
    this.db = db;
    this.statements = prepare(db);
    this.scans = scanStatements(db);
  }

  /**
   * Opens or creates the database file.
   * @param pagesMax refuses to grow past this many pages of 8 KiB (a full disk in miniature)
   * @throws StorageError when the file is foreign, damaged, of another version or in use
   */
  static open(file: string, options: { pagesMax?: number } = {}): Storage {
    let db: Database.Database | null = null;
    try {
      if (!existsSync(file) || statSync(file).size === 0) createFile(file);
      else checkFile(file);
      db = new Database(file, { timeout: 0, fileMustExist: true });
      db.pragma("locking_mode = EXCLUSIVE");
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      db.pragma(`cache_size = -${CACHE_KIB}`);
      db.pragma("temp_store = MEMORY");
      db.pragma("wal_autocheckpoint = 2000");
      // Taking the write lock now makes a second opener fail at once instead of at its first write.
      db.exec("BEGIN IMMEDIATE; COMMIT");
      if (options.pagesMax !== undefined) db.pragma(`max_page_count = ${options.pagesMax}`);
      return new Storage(db, file);
    } catch (error) {
      db?.close();
      throw describe(error, file);
    }
  }

  /** Told when a read finds the file damaged or unreadable; the read itself throws the same error. */
  onReadFailure: (error: StorageError) => void = () => undefined;

  getDocument(tableNumber: number, id: string): string | null {
    try {
      const row = this.statements.getDocument.get(tableNumber, toBuffer(id)) as [string] | undefined;
      return row === undefined ? null : row[0];
    } catch (error) {
      throw this.readFailed(error);
    }
  }

  /** Rows of the documents table with lo <= id < hi, in the given order; `hi` null means to the end. */
  scanDocuments(
    tableNumber: number,
    lo: string,
    hi: string | null,
    order: "asc" | "desc",
    limit: number,
  ): Row[] {
    const end = hi === null ? KEY_MAX : toBuffer(hi);
    return this.rows(this.scans.documents(order, limit), tableNumber, toBuffer(lo), end);
  }

  /** Rows of an index with lo <= key < hi, each with its document, in the given order. */
  scanIndex(
    indexId: number,
    tableNumber: number,
    lo: string,
    hi: string | null,
    order: "asc" | "desc",
    limit: number,
  ): Row[] {
    const end = hi === null ? KEY_MAX : toBuffer(hi);
    return this.rows(this.scans.index(order, limit), tableNumber, indexId, toBuffer(lo), end);
  }

  /** The largest internal id of a table, null when it is empty. */
  lastInternalId(tableNumber: number): string | null {
    return this.scanDocuments(tableNumber, "", null, "desc", 1)[0]?.[0] ?? null;
  }

  putDocument(tableNumber: number, id: string, json: string): void {
    this.statements.putDocument.run(tableNumber, toBuffer(id), json);
  }

  deleteDocument(tableNumber: number, id: string): void {
    this.statements.deleteDocument.run(tableNumber, toBuffer(id));
  }

  putIndexKey(indexId: number, key: string): void {
    this.statements.putIndexKey.run(indexId, toBuffer(key));
  }

  deleteIndexKey(indexId: number, key: string): void {
    this.statements.deleteIndexKey.run(indexId, toBuffer(key));
  }

  /** Removes one bounded batch of an index's keys; returns how many went. */
  clearIndex(indexId: number, limit: number): number {
    return this.db
      .prepare(
        "DELETE FROM index_keys WHERE index_id = ? AND key IN (SELECT key FROM index_keys WHERE index_id = ? LIMIT ?)",
      )
      .run(indexId, indexId, limit).changes;
  }

  getMeta(name: string): string | null {
    const row = this.statements.getMeta.get(name) as [string] | undefined;
    return row === undefined ? null : row[0];
  }

  setMeta(name: string, value: string): void {
    this.statements.setMeta.run(name, value);
  }

  get inTransaction(): boolean {
    return this.db.inTransaction;
  }

  begin(): void {
    this.statements.begin.run();
  }

  /** Makes everything since `begin` durable: it returns after the log reached the disk. */
  commit(): void {
    try {
      this.statements.commit.run();
    } catch (error) {
      this.rollback();
      throw describe(error, this.file);
    }
  }

  rollback(): void {
    if (this.db.inTransaction) this.statements.rollback.run();
  }

  /** Turns a driver error raised by any call above into a StorageError. */
  explain(error: unknown): Error {
    return describe(error, this.file);
  }

  close(): void {
    this.db.close();
  }

  private rows(statement: Database.Statement, ...parameters: unknown[]): Row[] {
    try {
      return latin1Keys(statement.all(...parameters));
    } catch (error) {
      throw this.readFailed(error);
    }
  }

  private readFailed(error: unknown): Error {
    const explained = describe(error, this.file);
    if (explained instanceof StorageError) this.onReadFailure(explained);
    return explained;
  }
}

function prepare(db: Database.Database) {
  return {
    getDocument: db.prepare("SELECT value FROM documents WHERE table_number = ? AND id = ?").raw(),
    putDocument: db.prepare("INSERT OR REPLACE INTO documents (table_number, id, value) VALUES (?, ?, ?)"),
    deleteDocument: db.prepare("DELETE FROM documents WHERE table_number = ? AND id = ?"),
    putIndexKey: db.prepare("INSERT OR REPLACE INTO index_keys (index_id, key) VALUES (?, ?)"),
    deleteIndexKey: db.prepare("DELETE FROM index_keys WHERE index_id = ? AND key = ?"),
    getMeta: db.prepare("SELECT value FROM meta WHERE name = ?").raw(),
    setMeta: db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"),
    begin: db.prepare("BEGIN"),
    commit: db.prepare("COMMIT"),
    rollback: db.prepare("ROLLBACK"),
  };
}

type Order = "asc" | "desc";

/**
 * Scan statements, one for each limit: with the limit as a parameter the same scan takes three times as long
 * (15 against 4.5 µs for two rows), because SQLite then plans for any number of rows.
 */
function scanStatements(db: Database.Database) {
  const prepared = new Map<string, Database.Statement>();
  const statement = (name: string, sql: (order: Order) => string, order: Order, limit: number) => {
    const key = `${name} ${order} ${limit}`;
    let found = prepared.get(key);
    if (found === undefined) {
      if (prepared.size >= SCANS_MAX) prepared.clear();
      prepared.set(key, (found = db.prepare(`${sql(order)} LIMIT ${limit}`).raw()));
    }
    return found;
  };
  const documents = (order: Order) =>
    `SELECT id, value FROM documents WHERE table_number = ? AND id >= ? AND id < ? ORDER BY id ${order}`;
  const index = (order: Order) =>
    `SELECT k.key, d.value FROM index_keys k CROSS JOIN documents d
       ON d.table_number = ? AND d.id = substr(k.key, -16)
     WHERE k.index_id = ? AND k.key >= ? AND k.key < ? ORDER BY k.key ${order}`;
  return {
    documents: (order: Order, limit: number) => statement("documents", documents, order, limit),
    index: (order: Order, limit: number) => statement("index", index, order, limit),
  };
}

function latin1Keys(rows: unknown[]): Row[] {
  const typed = rows as [Buffer | string, string][];
  for (const row of typed) row[0] = (row[0] as Buffer).toString("latin1");
  return typed as Row[];
}

/** Builds the file beside its place and moves it there whole: a crash leaves no half-made database. */
function createFile(file: string): void {
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  const db = new Database(draft);
  try {
    db.exec(`
      PRAGMA page_size = ${PAGE_BYTES};
      BEGIN;
      CREATE TABLE documents (table_number INTEGER NOT NULL, id BLOB NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (table_number, id)) WITHOUT ROWID;
      CREATE TABLE index_keys (index_id INTEGER NOT NULL, key BLOB NOT NULL,
        PRIMARY KEY (index_id, key)) WITHOUT ROWID;
      CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${FORMAT_VERSION};
      COMMIT;
    `);
  } finally {
    db.close();
  }
  renameSync(draft, file);
}

/** Looks before anything is opened for writing, so that a file that is not ours keeps every byte. */
function checkFile(file: string): void {
  const header = readHeader(file);
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, SQLITE_MAGIC.length) !== SQLITE_MAGIC) {
    throw new StorageError("not_a_database", `${file} is not a Holdfast database; it was left as it is.`);
  }
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID) {
    throw new StorageError(
      "foreign_database",
      `${file} is an SQLite database of another program; it was left as it is.`,
    );
  }
  const version = header.readUInt32BE(USER_VERSION_AT);
  if (version !== FORMAT_VERSION) {
    throw new StorageError(
      "wrong_version",
      `${file} has format version ${version}, this program reads version ${FORMAT_VERSION}; it was left as it is.`,
    );
  }
  // A reader never moves the log into the file, so a damaged file stays as it was found.
  const db = new Database(file, { timeout: 0, readonly: true });
  try {
    const pages = db.pragma("page_count", { simple: true }) as number;
    const check =
      statSync(file).size > CHECK_BYTES_MAX ? null : db.pragma("quick_check(1)", { simple: true });
    if (pages === 0 || (check !== null && check !== "ok"))
      throw new StorageError("corrupt", `${file} is damaged (${String(check)}); it was left as it is.`);
  } finally {
    db.close();
  }
}

function readHeader(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, "r");
  try {
    return header.subarray(0, readSync(descriptor, header, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}

function describe(error: unknown, file: string): Error {
  if (error instanceof StorageError) return error;
  const code = (error as { code?: unknown }).code;
  const text = error instanceof Error ? error.message : String(error);
  if (typeof code !== "string" || !code.startsWith("SQLITE")) {
    if (/directory does not exist/.test(text))
      return new StorageError("io", `${file} cannot be opened: its folder does not exist.`);
    return error instanceof Error ? error : new Error(text);
  }
  const because = { cause: error };
  if (code === "SQLITE_NOTADB") {
    return new StorageError(
      "not_a_database",
      `${file} is not a Holdfast database; it was left as it is.`,
      because,
    );
  }
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new StorageError("locked", `${file} is in use by another process.`, because);
  }
  if (code.startsWith("SQLITE_CORRUPT")) {
    return new StorageError("corrupt", `${file} is damaged (${text}); it was left as it is.`, because);
  }
  if (code === "SQLITE_FULL") {
    return new StorageError(
      "full",
      `${file} cannot grow: the disk is full. What was answered is safe.`,
      because,
    );
  }
  return new StorageError("io", `${file}: ${text} (${code}).`, because);
}
