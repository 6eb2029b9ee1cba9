/**
 * The one door to the emulator's SQLite file. It knows the tables and how to run statements, not what they mean.
 * A commit is on disk before the answer goes out, so what was answered is still there after a kill.
 */
import { closeSync, openSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { closeDatabaseToOthers, PRIVATE_FILE_MODE } from "../../shared/private-files.ts";

/** "KEMU": a file of another program is never written to. */
const APPLICATION_ID = 0x4b454d55;
const FORMAT_VERSION = 2;

/** Who writes: keys.ts; users.ts; sessions.ts (codes, sessions, refresh tokens, revoked); billing.ts; portal.ts; meters.ts; changes.ts. */
const FIRST_TABLES = `
  CREATE TABLE signing_keys (kid TEXT PRIMARY KEY, private_pem TEXT NOT NULL, made_at_ms INTEGER NOT NULL,
    state TEXT NOT NULL);
  CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE COLLATE NOCASE, given_name TEXT NOT NULL,
    family_name TEXT NOT NULL, permissions TEXT NOT NULL, customer_id TEXT NOT NULL UNIQUE,
    signed_up_at_ms INTEGER NOT NULL, seq INTEGER NOT NULL UNIQUE);
  CREATE TABLE codes (hash TEXT PRIMARY KEY, grant_json TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE sessions (id TEXT PRIMARY KEY, grant_json TEXT NOT NULL, access_claims TEXT,
    revoked INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE refresh_tokens (hash TEXT PRIMARY KEY, session_id TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
    replaced_at_ms INTEGER);
  CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens (expires_at_ms);
  CREATE TABLE revoked_tokens (jti TEXT PRIMARY KEY);
  CREATE TABLE agreements (id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, plan_key TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL, ended_at_ms INTEGER, seq INTEGER NOT NULL UNIQUE);
  CREATE INDEX agreements_by_customer ON agreements (customer_id, seq);
  CREATE TABLE portal_links (hash TEXT PRIMARY KEY, user_id TEXT NOT NULL, return_url TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL);
  CREATE TABLE meter_records (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    agreement_id TEXT NOT NULL, feature_key TEXT NOT NULL, value TEXT NOT NULL, type TEXT NOT NULL,
    used_at_ms INTEGER NOT NULL, made_at_ms INTEGER NOT NULL, cycle_start_ms INTEGER NOT NULL, total_after INTEGER);
  CREATE INDEX meter_records_by_cycle ON meter_records (agreement_id, feature_key, cycle_start_ms, seq);
  CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL);
`;

/**
 * New in format 2. Who writes: webhooks-clock.ts; webhooks-endpoints.ts; webhooks-outbox.ts (events, and deliveries at
 * first); webhooks-deliveries.ts (deliveries from then on, attempts). `clock` in a name: of the delivery clock.
 */
const WEBHOOK_TABLES = `
  CREATE TABLE webhook_clock (id INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL, clock_ms INTEGER NOT NULL,
    scale REAL NOT NULL);
  CREATE TABLE webhook_endpoints (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    description TEXT NOT NULL, url TEXT NOT NULL, event_types TEXT, is_default INTEGER NOT NULL,
    made_at_ms INTEGER NOT NULL, failing_since_clock_ms INTEGER, disabled_at_ms INTEGER, disabled_reason TEXT);
  CREATE TABLE webhook_events (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL,
    user_id TEXT NOT NULL, at_ms INTEGER NOT NULL, at_ns INTEGER NOT NULL, claims TEXT NOT NULL,
    made_at_ms INTEGER NOT NULL);
  CREATE INDEX webhook_events_by_age ON webhook_events (made_at_ms);
  CREATE TABLE webhook_deliveries (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    endpoint_id TEXT NOT NULL, event_id TEXT NOT NULL, status TEXT NOT NULL, attempts_made INTEGER NOT NULL DEFAULT 0,
    next_attempt_clock_ms INTEGER NOT NULL, faults TEXT, finished_at_ms INTEGER, UNIQUE (event_id, endpoint_id));
  CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, status, next_attempt_clock_ms);
  CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (finished_at_ms);
  CREATE TABLE webhook_attempts (seq INTEGER PRIMARY KEY AUTOINCREMENT, delivery_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL, status INTEGER, failure TEXT, faults TEXT NOT NULL);
  CREATE INDEX webhook_attempts_by_delivery ON webhook_attempts (delivery_id, seq);
`;

type Value = string | number | null;

/** The file cannot be used. The message is one line. */
export class StateFileError extends Error {
  readonly code = "state_file_unusable";
  override readonly name = "StateFileError";
}

export class Storage {
  private readonly statements = new Map<string, Database.Statement>();

  private constructor(private readonly db: Database.Database) {}

  /** Opens or creates the file. Throws StateFileError when it is in use or is no state file of the emulator. */
  static open(file: string): Storage {
    let db: Database.Database | null = null;
    try {
      closeSync(openSync(file, "a", PRIVATE_FILE_MODE));
      db = new Database(file, { timeout: 0 });
      db.pragma("locking_mode = EXCLUSIVE");
      db.exec("BEGIN IMMEDIATE");
      const isNew = db.prepare("SELECT count(*) AS n FROM sqlite_schema").pluck().get() === 0;
      const version = isNew ? 0 : formatOf(db, file);
      if (version < 1) db.exec(FIRST_TABLES);
      if (version < 2) db.exec(WEBHOOK_TABLES);
      if (version < FORMAT_VERSION) {
        db.pragma(`application_id = ${APPLICATION_ID}`);
        db.pragma(`user_version = ${FORMAT_VERSION}`);
      }
      db.exec("COMMIT");
      // It holds the signing key; its log becomes as open as it is.
      closeDatabaseToOthers(file);
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      return new Storage(db);
    } catch (error) {
      db?.close();
      throw error instanceof StateFileError ? error : explain(error, file);
    }
  }

  /** The caller names the columns in SQL and in `Row`, side by side. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  get<Row>(sql: string, ...values: Value[]): Row | null {
    return (this.prepared(sql).get(...values) as Row | undefined) ?? null;
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.prepared(sql).all(...values) as Row[];
  }

  /** Returns how many rows changed. */
  run(sql: string, ...values: Value[]): number {
    return this.prepared(sql).run(...values).changes;
  }

  /** Everything `work` writes, or nothing of it when it throws. */
  transaction<Result>(work: () => Result): Result {
    return this.db.transaction(work).immediate();
  }

  /**
   * Copies the database as it is now into a new file. It is small, so it is taken as a whole: a request is answered
   * within one transaction, and no other way of SQLite's works there. Throws StateFileError when it cannot be written.
   */
  copyTo(file: string): void {
    try {
      writeFileSync(file, this.db.serialize(), { mode: 0o600, flag: "wx", flush: true });
    } catch (error) {
      throw explain(error, file);
    }
  }

  close(): void {
    this.db.close();
  }

  /** The texts are constants of this program, so there are few of them. */
  private prepared(sql: string): Database.Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) this.statements.set(sql, (statement = this.db.prepare(sql)));
    return statement;
  }
}

function formatOf(db: Database.Database, file: string): number {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (
    db.pragma("application_id", { simple: true }) !== APPLICATION_ID ||
    version < 1 ||
    version > FORMAT_VERSION
  ) {
    throw new StateFileError(`${file} is not a state file of this emulator; it was left as it is.`);
  }
  return version;
}

function explain(error: unknown, file: string): StateFileError {
  const { code } = error as { code?: unknown };
  const because = { cause: error };
  if (typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new StateFileError(`${file} is in use by another process.`, because);
  }
  if (code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT") {
    return new StateFileError(`${file} is no database or is damaged; it was left as it is.`, because);
  }
  const text = error instanceof Error ? error.message : String(error);
  return new StateFileError(`${file} cannot be opened: ${text}.`, because);
}
