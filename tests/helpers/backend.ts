import { convexTestBackend } from "./convex-test-backend.ts";

/** A running deployment of `convex/` with a clock that the test moves. The tests know no engine but this. */
export interface Backend {
  query<Answer>(path: string, args: Record<string, unknown>): Promise<Answer>;
  mutation<Answer>(path: string, args: Record<string, unknown>): Promise<Answer>;
  action<Answer>(path: string, args: Record<string, unknown>): Promise<Answer>;
  /** Moves the clock and runs what falls due on the way, scheduled functions and crons, in order of their time. */
  advanceMs(ms: number): Promise<void>;
  nowMs(): number;
  readAll<Row extends StoredRow>(table: string): Promise<Row[]>;
  /** Writes past all rules, for tests of damaged rows. */
  patchRow(id: string, fields: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

export interface StoredRow {
  readonly _id: string;
  readonly _creationTime: number;
}

export const SERVER_SECRET = "a".repeat(64);
export const SERVER_SECRET_BEFORE = "b".repeat(64);
export const OPERATOR_KEY_HASH = "0f".repeat(32);

/** The environment that every backend gives to the functions. */
export const BACKEND_ENV = {
  HOLDFAST_SERVER_SECRETS: `${SERVER_SECRET},${SERVER_SECRET_BEFORE}`,
  HOLDFAST_OPERATOR_KEY_HASH: OPERATOR_KEY_HASH,
};

/** A fresh, empty deployment. */
export function createBackend(): Promise<Backend> {
  return convexTestBackend();
}
