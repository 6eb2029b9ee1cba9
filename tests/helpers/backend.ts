import { convexTestBackend } from "./convex-test-backend.ts";
import { holdfastBackend } from "./holdfast-backend.ts";

export interface Calls {
  query<Answer>(path: string, args: Record<string, unknown>): Promise<Answer>;
  mutation<Answer>(path: string, args: Record<string, unknown>): Promise<Answer>;
  action<Answer>(path: string, args: Record<string, unknown>): Promise<Answer>;
}

/** What a verified token says: the user, and the permissions claim. */
export interface Identity {
  readonly subject: string;
  readonly permissions?: string[];
}

/** A running deployment of `convex/` with a clock that the test moves. The tests know no engine but this. */
export interface Backend extends Calls {
  /** The calls of a browser with that user's token. */
  as(identity: Identity): Calls;
  /** Moves the clock and runs what falls due on the way, scheduled functions and crons, in order of their time. */
  advanceMs(ms: number): Promise<void>;
  nowMs(): number;
  /** Every row of a table, `_scheduled_functions` included, oldest first. */
  readAll<Row extends StoredRow>(table: string): Promise<Row[]>;
  /** Writes past all rules, for tests of damaged rows. */
  patchRow(id: string, fields: Record<string, unknown>): Promise<void>;
  /** How often a transaction lost a conflict and was run again; always 0 on an engine that has none. */
  conflictCount(): number;
  close(): Promise<void>;
}

export interface StoredRow {
  readonly _id: string;
  readonly _creationTime: number;
}

export const SERVER_SECRET = "a".repeat(64);
export const SERVER_SECRET_BEFORE = "b".repeat(64);
export const OPERATOR_KEY_HASH = "0f".repeat(32);
/** Nothing listens there; tests that sign in bring their own issuer. */
export const KINDE_ISSUER_URL = "http://127.0.0.1:3220";
export const SHORT_URL = "https://hold.example";

/** The environment that every backend gives to the functions. */
export const BACKEND_ENV = {
  HOLDFAST_SERVER_SECRETS: `${SERVER_SECRET},${SERVER_SECRET_BEFORE}`,
  HOLDFAST_OPERATOR_KEY_HASH: OPERATOR_KEY_HASH,
  KINDE_ISSUER_URL,
  HOLDFAST_SHORT_URL: SHORT_URL,
};

export interface BackendOptions {
  /** Where the clock starts. */
  readonly startMs?: number;
  /** Transactions that run at one time and may conflict, on an engine that can do so. */
  readonly concurrency?: number;
  /** Called before each write with the name of its table; throwing fails the write, on an engine that can do so. */
  readonly beforeWrite?: (table: string) => void;
  /** Asked before each commit whether it is told that it lost a conflict, on an engine that can do so. */
  readonly conflict?: () => boolean;
  /** Environment variables of the functions beside `BACKEND_ENV`. */
  readonly env?: Record<string, string>;
  /** Deploys tests/helpers/functions beside `convex/`. */
  readonly testFunctions?: boolean;
  /** Where the rows are kept, for an engine that keeps them; opened again they are there again. */
  readonly dataFile?: string;
}

/** Well inside a month, so that a test that moves a few minutes stays in its cycle. */
export const START_MS = Date.UTC(2026, 9, 10, 12);

/**
 * A fresh, empty deployment: on our own engine, or on the official mock when HOLDFAST_TEST_BACKEND is "convex-test".
 * The same tests pass on both, but for the files that engine-only.ts names.
 */
export function createBackend(options: BackendOptions = {}): Promise<Backend> {
  return process.env["HOLDFAST_TEST_BACKEND"] === "convex-test"
    ? convexTestBackend(options)
    : holdfastBackend(options);
}
