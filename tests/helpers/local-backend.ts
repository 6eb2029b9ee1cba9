import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConvexError, convexToJson, jsonToConvex } from "convex/values";

import { ManualClock } from "../../lib/local-convex/clock.ts";
import { createEngine } from "../../lib/local-convex/engine.ts";
import { FunctionError } from "../../lib/local-convex/errors.ts";
import type { CallResult } from "../../lib/local-convex/runtime.ts";
import { decodeId } from "../../lib/local-convex/values/doc-id.ts";
import type { JsonObject } from "../../lib/local-convex/values/json.ts";
import { must } from "../../lib/shared/assert.ts";
import { BACKEND_ENV, type Backend, type BackendOptions, START_MS, type StoredRow } from "./backend.ts";

/** The engine on a SQLite file of its own, with a clock that stands still until the test moves it. */
export async function localBackend(options: BackendOptions): Promise<Backend> {
  const { startMs = START_MS, concurrency = 1, beforeWrite } = options;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  const clock = new ManualClock(startMs);
  const engine = await createEngine({
    dataFile: join(folder, "data.sqlite"),
    functionsDir: join(import.meta.dirname, "../../convex"),
    env: BACKEND_ENV,
    clock,
    seed: 1,
    concurrency,
    inject: {
      // Reads that take a moment make transactions overlap, which is what lets them conflict.
      syscallLatencyMs: () => (concurrency > 1 ? 1 : 0),
      ...(beforeWrite === undefined ? {} : { beforeWrite }),
    },
  });
  await engine.settled();

  return {
    query: (path, args) => answerOf(engine.query(path, encode(args))),
    mutation: (path, args) => answerOf(engine.mutation(path, encode(args))),
    action: (path, args) => answerOf(engine.action(path, encode(args))),
    nowMs: () => clock.nowMs(),
    async advanceMs(ms) {
      const targetMs = clock.nowMs() + ms;
      for (;;) {
        const dueMs = await engine.nextDueMs();
        if (dueMs === null || dueMs > targetMs) break;
        clock.setMs(Math.max(dueMs, clock.nowMs()));
        await engine.settled();
      }
      clock.setMs(Math.max(targetMs, clock.nowMs()));
    },
    async readAll<Row extends StoredRow>(name: string) {
      const table = must(engine.runtime.catalog.find(name), `no table ${name}`);
      const rows = engine.runtime.storage.scanDocuments(table.number, "", null, "asc", 100_000);
      const documents = rows.map(([, json]) => decode(json) as Row);
      return documents.toSorted((a, b) => a._creationTime - b._creationTime);
    },
    async patchRow(id, fields) {
      const { tableNumber, internal } = must(decodeId(id), `${id} is no id`);
      const table = must(engine.runtime.catalog.findByNumber(tableNumber), `no table of ${id}`);
      await engine.runtime.executor.mutation(async (tx) => {
        const before = JSON.parse(must(tx.get(table, internal), `no row ${id}`)) as JsonObject;
        tx.update(table, internal, before, { ...before, ...encode(fields) });
      });
    },
    conflictCount: () => engine.counts.conflicts,
    async close() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What the official client makes of a call's outcome. */
async function answerOf<Answer>(call: Promise<CallResult>): Promise<Answer> {
  try {
    return decode((await call).valueText) as Answer;
  } catch (error) {
    if (!(error instanceof FunctionError) || error.data === undefined) throw error;
    throw new ConvexError(jsonToConvex(error.data as never));
  }
}

function encode(args: Record<string, unknown>): JsonObject {
  return convexToJson(args as never) as JsonObject;
}

function decode(json: string): unknown {
  return jsonToConvex(JSON.parse(json));
}
