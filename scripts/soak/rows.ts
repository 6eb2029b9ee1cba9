// How many rows the tables of a stack have and how old they are, read off a copy: the databases are locked by their
// processes, which make the copies themselves, as for a backup.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { openSources } from "../support/backup-sources.ts";
import { RETENTION, type RetentionRule } from "../../lib/retention/rules.ts";

export interface Copies {
  readonly engine: Database.Database;
  readonly emulator: Database.Database;
  /** Tables of documents, by their names. */
  readonly tables: ReadonlyMap<string, string>;
}

/** Runs `work` on fresh copies and removes them. */
export async function withCopies<T>(dataDir: string, work: (copies: Copies) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-soak-"));
  const sources = openSources(dataDir);
  try {
    const [engineFile, emulatorFile] = [join(folder, "engine.sqlite"), join(folder, "emulator.sqlite")];
    await sources.copyEngine(engineFile);
    await sources.copyEmulator(emulatorFile);
    const engine = new Database(engineFile);
    const emulator = new Database(emulatorFile);
    try {
      return work({ engine, emulator, tables: tablesOf(engine) });
    } finally {
      engine.close();
      emulator.close();
    }
  } finally {
    sources.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function tablesOf(engine: Database.Database): Map<string, string> {
  const text = engine.prepare("SELECT value FROM meta WHERE name = 'catalog'").pluck().get() as string;
  const { tables } = JSON.parse(text) as { tables: { number: number; name: string }[] };
  const made = new Set(
    engine.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[],
  );
  return new Map(
    tables
      .map(({ number, name }) => [name, `documents_${number}`] as const)
      .filter(([, tree]) => made.has(tree)),
  );
}

/** Rows of every table that has any. */
export function countRows({ engine, emulator, tables }: Copies): Record<string, number> {
  const counts: Record<string, number> = {};
  const count = (database: Database.Database, table: string) =>
    database.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  for (const [name, tree] of tables) counts[`rows of ${name}`] = count(engine, tree);
  const names = emulator
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all() as string[];
  for (const name of names) counts[`emulator: rows of ${name}`] = count(emulator, name);
  return counts;
}

interface AgeQuestion {
  readonly table: string;
  /** When the time begins after which a row goes. */
  readonly since: string;
  readonly keptMs: number;
  /** Those that go at all, of the tree of the table. */
  readonly only?: (tree: string) => string;
}

const keptMs = (table: keyof typeof RETENTION): number => {
  const rule: RetentionRule = RETENTION[table];
  return rule.kind === "removed" ? rule.keptMs : Infinity;
};
const DAY_MS = 86_400_000;

/** Runs of the labs that are kept at any rate. */
const LAB_RUNS_KEPT = 20;
function notNewest(tree: string): string {
  return `created NOT IN (SELECT created FROM ${tree} ORDER BY created DESC LIMIT ${LAB_RUNS_KEPT})`;
}

/** Where the rule of a table can be read off its rows. */
const AGES: readonly AgeQuestion[] = [
  { table: "refusals", since: "atMs", keptMs: keptMs("refusals") },
  { table: "receipts", since: "atMs", keptMs: keptMs("receipts") },
  {
    table: "inboxEvents",
    since: "receivedAtMs",
    keptMs: keptMs("inboxEvents"),
    only: () => `json_extract(value, '$.status') IN ('applied', 'ignored')
      AND json_extract(value, '$.eventId') NOT LIKE 'event_lab%'`,
  },
  { table: "evidence", since: "supersededAtMs", keptMs: keptMs("evidence") },
  { table: "labRuns", since: "startedAtMs", keptMs: keptMs("labRuns"), only: notNewest },
  { table: "engineRoomRuns", since: "startedAtMs", keptMs: keptMs("engineRoomRuns"), only: notNewest },
  { table: "_scheduled_functions", since: "completedTime", keptMs: 7 * DAY_MS },
  { table: "_mutation_records", since: "_creationTime", keptMs: 14 * DAY_MS },
];

/** By how many milliseconds the oldest row of each has passed its time; below zero while none has. */
export function overdueMs({ engine, tables }: Copies, nowMs: number): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { table, since, keptMs: kept, only = () => "1" } of AGES) {
    const tree = tables.get(table);
    if (tree === undefined) continue;
    const sql = `SELECT min(json_extract(value, '$.${since}')) FROM ${tree} WHERE ${only(tree)}`;
    const oldestMs = engine.prepare(sql).pluck().get() as number | null;
    if (oldestMs !== null) found[table] = nowMs - oldestMs - kept;
  }
  return found;
}
