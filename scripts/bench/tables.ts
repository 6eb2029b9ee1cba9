// Database files with tables of a given size, filled through an engine. A larger one goes on from the smaller.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { openEngine, type LocalEngine } from "../support/temp-engine.ts";
import { engineAccount, makeEngineAccount, type EngineAuth } from "./gate-calls.ts";

export interface FilledTable {
  readonly rows: number;
  readonly dataFile: string;
}

export const ROW_FUNCTIONS = "scripts/bench/functions";
const JOB_FUNCTIONS = "scripts/bench/job-functions";

/** One transaction of a fill stays well under a second of function time, the engine's limit. */
const FILL_BATCH = 2000;

/** Tables of the bench's own kind. */
export function fillRowTables(folder: string, sizes: readonly number[]): Promise<FilledTable[]> {
  return fillTables(folder, sizes, ROW_FUNCTIONS, (engine, from, count) =>
    engine.mutation("rows:fill", { from, count }),
  );
}

/** Databases of the product in which one account has this many ended jobs. */
export async function fillJobTables(
  folder: string,
  sizes: readonly number[],
): Promise<{ tables: FilledTable[]; auth: EngineAuth }> {
  const engine = await openEngine(growingFile(folder));
  const auth = await makeEngineAccount(engine, "bench");
  const jobId = await engineAccount(engine, auth).lifeCycle("first");
  await engine.close();
  const tables = await fillTables(folder, sizes, JOB_FUNCTIONS, (filling, from, count) =>
    filling.mutation("fill:jobs", { jobId, from, count }),
  );
  return { tables, auth };
}

function growingFile(folder: string): string {
  return join(folder, "growing.sqlite");
}

async function fillTables(
  folder: string,
  sizes: readonly number[],
  functions: string,
  fill: (engine: LocalEngine, from: number, count: number) => Promise<unknown>,
): Promise<FilledTable[]> {
  const tables: FilledTable[] = [];
  let filled = 0;
  for (const rows of sizes) {
    // A closed database is one file, which can be copied.
    const engine = await openEngine(growingFile(folder), functions);
    for (; filled < rows; filled += FILL_BATCH)
      await fill(engine, filled, Math.min(FILL_BATCH, rows - filled));
    filled = rows;
    await engine.close();
    const dataFile = join(folder, `rows-${rows}.sqlite`);
    copyFileSync(growingFile(folder), dataFile);
    tables.push({ rows, dataFile });
  }
  return tables;
}
