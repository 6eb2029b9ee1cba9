import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ConvexError, convexToJson, jsonToConvex, type Value } from "convex/values";

import { ManualClock } from "../../lib/local-convex/clock.ts";
import { createEngine, type Engine, type EngineOptions } from "../../lib/local-convex/engine.ts";
import { FunctionError } from "../../lib/local-convex/errors.ts";
import { SYSTEM_CALLER, type Caller } from "../../lib/local-convex/invocation.ts";
import type { CallResult } from "../../lib/local-convex/runtime.ts";
import type { JsonObject, JsonValue } from "../../lib/local-convex/values/json.ts";
import { decodeId } from "../../lib/local-convex/values/doc-id.ts";

export interface LocalBackendOptions extends Partial<Omit<EngineOptions, "clock">> {
  functionsDir: string;
  /** Where the clock starts. */
  startMs?: number;
  /** Who calls; by default one who may call internal functions too. */
  caller?: Caller;
}

export interface LocalCalls {
  query: <Answer>(path: string, args?: Record<string, unknown>) => Promise<Answer>;
  mutation: <Answer>(path: string, args?: Record<string, unknown>) => Promise<Answer>;
  action: <Answer>(path: string, args?: Record<string, unknown>) => Promise<Answer>;
}

/** The local engine on a manual clock; a fresh database file unless `dataFile` names one. */
export interface LocalBackend extends LocalCalls {
  /** The same engine, called by somebody else. */
  as(caller: Caller): LocalCalls;
  /** Moves the clock and runs what falls due on the way, scheduled functions and crons, in order of their time. */
  advanceMs(ms: number): Promise<void>;
  nowMs(): number;
  /** Every row of a table, system tables included, oldest first. */
  readAll<Row extends { _id: string; _creationTime: number }>(table: string): Promise<Row[]>;
  /** Writes past all rules, for tests of damaged rows. */
  patchRow(id: string, fields: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
  readonly engine: Engine;
  readonly clock: ManualClock;
  readonly dataFile: string;
}

const START_MS = Date.UTC(2026, 9, 10, 12);
/** Rows read at once by `readAll`. */
const PAGE_ROWS = 1_000;

export async function localBackend(options: LocalBackendOptions): Promise<LocalBackend> {
  const { startMs = START_MS, caller = SYSTEM_CALLER, dataFile: givenFile, ...engineOptions } = options;
  const folder = givenFile === undefined ? mkdtempSync(join(tmpdir(), "local-convex-")) : null;
  const dataFile = givenFile ?? join(folder!, "data.sqlite");
  const clock = new ManualClock(startMs);
  const engine = await createEngine({ seed: 1, ...engineOptions, dataFile, clock });
  const { storage, catalog, executor } = engine.runtime;

  const as = (caller: Caller): LocalCalls => ({
    query: (path, args) => decoded(engine.query(path, encoded(args), caller)),
    mutation: (path, args) => decoded(engine.mutation(path, encoded(args), caller)),
    action: (path, args) => decoded(engine.action(path, encoded(args), caller)),
  });

  return {
    ...as(caller),
    as,
    nowMs: () => clock.nowMs(),
    async advanceMs(ms) {
      const targetMs = clock.nowMs() + ms;
      for (;;) {
        await engine.settled();
        const dueMs = await engine.nextDueMs();
        if (dueMs === null || dueMs > targetMs) break;
        clock.setMs(Math.max(dueMs, clock.nowMs()));
      }
      clock.setMs(targetMs);
      await engine.settled();
    },
    async readAll<Row>(name: string) {
      const table = catalog.find(name);
      const rows: Row[] = [];
      let from: string | null = table === null ? null : "";
      while (from !== null) {
        const batch = storage.scanDocuments(table!.number, from, null, "asc", PAGE_ROWS);
        for (const [, json] of batch) rows.push(jsonToConvex(JSON.parse(json) as JsonValue) as Row);
        from = batch.length < PAGE_ROWS ? null : `${batch.at(-1)![0]}\0`;
      }
      return rows;
    },
    async patchRow(id, fields) {
      const place = decodeId(id);
      const table = place === null ? null : catalog.findByNumber(place.tableNumber);
      if (place === null || table === null) throw new Error(`${id} is no id of this database`);
      const { checkDocument } = table;
      table.checkDocument = null;
      try {
        await executor.mutation(async (tx) => {
          const before = JSON.parse(tx.get(table, place.internal) ?? "null") as JsonObject;
          tx.update(table, place.internal, before, { ...before, ...encoded(fields) });
        });
      } finally {
        table.checkDocument = checkDocument;
      }
    },
    async close() {
      await engine.close();
      if (folder !== null) rmSync(folder, { recursive: true, force: true });
    },
    engine,
    clock,
    dataFile,
  };
}

function encoded(args: Record<string, unknown> = {}): JsonObject {
  return convexToJson(args as Value) as JsonObject;
}

/** The answer as a client sees it: decoded values, ConvexError with its data, any other failure as Error. */
async function decoded<Answer>(call: Promise<CallResult>): Promise<Answer> {
  try {
    return jsonToConvex(JSON.parse((await call).valueText) as JsonValue) as Answer;
  } catch (error) {
    if (!(error instanceof FunctionError) || error.data === undefined) throw error;
    const failure = new ConvexError<Value>(jsonToConvex(error.data as JsonValue));
    failure.message = error.message;
    throw failure;
  }
}
