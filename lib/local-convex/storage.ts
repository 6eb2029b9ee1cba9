/**
 * The one door to SQLite. Every table and every index is a B-tree of its own, made by the first write to it:
 * documents_<table number> by creation time, index_<index id> by key. An internal id is 16 bytes that begin with
 * the creation time, unique in the database, so the documents are their own by_creation_time index. Keys are
 * binary strings (one char per byte).
 *
 * Not responsible for: what a document means, transactions of user functions, schema.
 */
import { chmodSync, closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { closeDatabaseToOthers, PRIVATE_FILE_MODE } from "../shared/private-files.ts";
import { StorageError } from "./errors.ts";
import { Trees } from "./trees.ts";

/** "HOLD": marks the file as ours, so that a foreign database is never written to. */
const APPLICATION_ID = 0x484f4c44;
const FORMAT_VERSION = 2;
/** Where SQLite keeps these in the first bytes of a file. */
const SQLITE_MAGIC = "SQLite format 3\0";
const HEADER_BYTES = 100;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;
/** Greater than every key: user keys start with a tag of at most 0x15, ids with a creation time. */
const KEY_MAX = Buffer.alloc(17, 0xff);
/**
 * Documents are keyed by an integer, so the inner pages of their trees hold no rows and a million are three levels
 * deep, with pages of 4 KiB as with 8. A point read there mostly waits for one leaf of an index and one of documents
 * to come in from the file: a third less time with the smaller page while the cache fills, the same once it is full.
 */
const PAGE_BYTES = 4_096;
/** 128 MiB of page cache: a million-row table (370 MB) stays mostly on disk, the engine well under 300 MB. */
const CACHE_KIB = 128 * 1024;
/** Files up to this size are checked page by page at start (a second or two at most). */
const CHECK_BYTES_MAX = 256 * 1024 * 1024;
/** Pages that a copy takes in one turn of the event loop: about a millisecond. */
const COPY_PAGES = 200;
const ID_BYTES = 16;
/** Pages the log holds before they are moved into the file: 16 MiB. */
const CHECKPOINT_PAGES = 4_000;
const CREATION_TIME_BYTES = 8;
const CREATED_MAX = 2n ** 63n - 1n;

export type Row = [key: string, json: string];

const toBuffer = (key: string): Buffer => Buffer.from(key, "latin1");

const scratch = new DataView(new ArrayBuffer(CREATION_TIME_BYTES));

/**
 * The integer key of a document: the bits of its creation time, which order positive numbers. In an id the sign
 * bit is flipped. Shorter texts, which bounds can be, count as if zeros followed.
 */
function createdOf(id: string): bigint {
  for (let i = 0; i < CREATION_TIME_BYTES; i++) scratch.setUint8(i, i < id.length ? id.charCodeAt(i) : 0);
  scratch.setUint8(0, scratch.getUint8(0) ^ 0x80);
  return scratch.getBigInt64(0);
}

export class Storage {
  private readonly db: Database.Database;
  private readonly statements;
  private readonly trees: Trees;

  private constructor(
    db: Database.Database,
    readonly file: string,
  ) {
    this.db = db;
    this.statements = prepare(db);
    this.trees = new Trees(db);
  }

  /**
   * Opens or creates the database file.
   * @param pagesMax refuses to grow past this many pages of 4 KiB (a full disk in miniature)
   * @throws StorageError when the file is foreign, damaged, of another version or in use
   */
  static open(file: string, options: { pagesMax?: number } = {}): Storage {
    let db: Database.Database | null = null;
    try {
      if (!existsSync(file) || statSync(file).size === 0) createFile(file);
      else checkFile(file);
      closeDatabaseToOthers(file);
      db = new Database(file, { timeout: 0, fileMustExist: true });
      db.pragma("locking_mode = EXCLUSIVE");
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      db.pragma(`cache_size = -${CACHE_KIB}`);
      db.pragma("temp_store = MEMORY");
      db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
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
      const row = this.trees.documents(tableNumber)?.get.get(createdOf(id), toBuffer(id));
      return row === undefined ? null : (row as [string])[0];
    } catch (error) {
      throw this.readFailed(error);
    }
  }

  /** Documents with lo <= id < hi, in the given order; `hi` null means to the end. */
  scanDocuments(
    tableNumber: number,
    lo: string,
    hi: string | null,
    order: "asc" | "desc",
    limit: number,
  ): Row[] {
    const scan = this.trees.scanDocuments(tableNumber, order, limit);
    const until = hi === null ? CREATED_MAX : createdOf(hi);
    return this.rows(scan, createdOf(lo), until, toBuffer(lo), hi === null ? KEY_MAX : toBuffer(hi));
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
    const scan = this.trees.scanIndex(indexId, tableNumber, order, limit);
    return this.rows(scan, toBuffer(lo), hi === null ? KEY_MAX : toBuffer(hi));
  }

  /** The largest internal id of a table, null when it is empty. */
  lastInternalId(tableNumber: number): string | null {
    return this.scanDocuments(tableNumber, "", null, "desc", 1)[0]?.[0] ?? null;
  }

  /** @throws StorageError when another document of the table has the same creation time */
  putDocument(tableNumber: number, id: string, json: string): void {
    const { put } = this.trees.documentsForWrite(tableNumber);
    if (put.run(createdOf(id), toBuffer(id), json).changes === 1) return;
    throw new StorageError("corrupt", `${this.file}: two documents have one creation time.`);
  }

  deleteDocument(tableNumber: number, id: string): void {
    this.trees.documents(tableNumber)?.delete.run(createdOf(id));
  }

  /** Every key ends with the internal id of its document. */
  putIndexKey(indexId: number, key: string): void {
    this.trees.indexForWrite(indexId).put.run(toBuffer(key), createdOf(key.slice(-ID_BYTES)));
  }

  deleteIndexKey(indexId: number, key: string): void {
    this.trees.index(indexId)?.delete.run(toBuffer(key));
  }

  /** Removes an index with all its keys; pages that held keys are not written, so it takes little of the log. */
  dropIndex(indexId: number): void {
    this.trees.dropIndex(indexId);
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
    if (!this.db.inTransaction) return;
    this.statements.rollback.run();
    this.trees.forget();
  }

  /**
   * Copies the database into a new file while it is read and written: what is committed meanwhile is in the copy too.
   * There is a step in each turn of the event loop, and `onStep` is called after it; one that met an open transaction
   * (`isInTheWay`) has copied nothing, and the first may not meet one.
   * @throws StorageError when the copy cannot be written; nothing is left of it then
   */
  async copyTo(file: string, onStep: (isInTheWay: boolean) => void): Promise<void> {
    const draft = `${file}.part`;
    try {
      await this.db.backup(draft, {
        progress: () => {
          onStep(this.db.inTransaction);
          return COPY_PAGES;
        },
      });
      chmodSync(draft, 0o600);
      checkFile(draft);
      renameSync(draft, file);
    } catch (error) {
      throw describe(error, draft);
    } finally {
      for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(`${draft}${suffix}`, { force: true });
    }
  }

  /** Turns a driver error raised by any call above into a StorageError. */
  explain(error: unknown): Error {
    return describe(error, this.file);
  }

  close(): void {
    this.db.close();
  }

  private rows(scan: Database.Statement | null, ...parameters: unknown[]): Row[] {
    if (scan === null) return [];
    try {
      return latin1Keys(scan.all(...parameters));
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
    getMeta: db.prepare("SELECT value FROM meta WHERE name = ?").raw(),
    setMeta: db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"),
    begin: db.prepare("BEGIN"),
    commit: db.prepare("COMMIT"),
    rollback: db.prepare("ROLLBACK"),
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
  // SQLite makes its log as open as the file is.
  closeSync(openSync(draft, "wx", PRIVATE_FILE_MODE));
  const db = new Database(draft);
  try {
    db.exec(`
      PRAGMA page_size = ${PAGE_BYTES};
      BEGIN;
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
