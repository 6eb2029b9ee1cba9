// `npm run bench:engine -- --json`: does the engine stay as fast when the table grows? Point read, indexed range of
// 20, insert with three indexes and admit, at 1 k, 100 k and 1 M rows, and the engine's memory at the largest.
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { twoColumns } from "../support/progress.mjs";
import { rounded } from "../support/statistics.mjs";
import { openEngine, withTempFolder, type LocalEngine } from "../support/temp-engine.ts";
import { engineMemoryMb } from "./engine-memory.ts";
import { engineAccount } from "./gate-calls.ts";
import { callsPerSecond, inRounds, medianMicros, scattered } from "./measure.ts";
import { flatten, makeResult, saveResult } from "./results.ts";
import { fillJobTables, fillRowTables, ROW_FUNCTIONS, type FilledTable } from "./tables.ts";

const OPTIONS = {
  "rows-max": {
    type: "integer",
    minimum: 1000,
    maximum: 1_000_000,
    default: 1_000_000,
    help: "largest table",
  },
  rounds: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 7,
    help: "rounds; figures are their medians",
  },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

const SIZES = [1000, 100_000, 1_000_000];
const CALLS_A_ROUND = 400;

await runMain("bench:engine", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:engine -- [options]: speed by table size", OPTIONS));
    return 0;
  }
  const sizes = SIZES.filter((rows) => rows <= options["rows-max"]);
  const rows = await withTempFolder((folder) => benchRows(folder, sizes, options.rounds));
  const admit = await withTempFolder((folder) => benchAdmit(folder, sizes, options.rounds));
  const figures = { ...rows, ...admit };
  const result = makeResult("engine", figures);
  console.log(twoColumns(flatten(figures)));
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

type Measure = (engine: LocalEngine, rows: number, round: number) => Promise<number>;

/** Point read, range and insert at each size, and the engine's memory at the largest. */
async function benchRows(folder: string, sizes: readonly number[], rounds: number) {
  const tables = await fillRowTables(folder, sizes);
  const engines = await openAll(tables, ROW_FUNCTIONS);
  const read = (path: string): Measure => {
    return (engine, rows, round) => {
      const next = scattered(rows, round + 1);
      return medianMicros(CALLS_A_ROUND, () => engine.query(path, { number: next() }));
    };
  };
  let inserted = 0;
  const insert: Measure = (engine, rows) =>
    callsPerSecond(CALLS_A_ROUND, () => engine.mutation("rows:insert", { number: rows + ++inserted }));
  // Nothing is measured cold: the first rounds would pay for compiling.
  for (const measure of [read("rows:point"), read("rows:range"), insert])
    await atEachSize(1, engines, measure);
  const point = await atEachSize(rounds, engines, read("rows:point"));
  const range = await atEachSize(rounds, engines, read("rows:range"));
  const inserts = await atEachSize(rounds, engines, insert);
  await closeAll(engines);
  const largest = tables.at(-1);
  return {
    "point read, µs": withRatio(point, "slower"),
    "range of 20, µs": withRatio(range, "slower"),
    "inserts a second": withRatio(inserts, "faster"),
    "engine memory, MB": largest
      ? { [label(largest.rows)]: await engineMemoryMb(largest, ROW_FUNCTIONS) }
      : {},
  };
}

/** Admissions a second, 50 at a time, on an account with this many jobs behind it. */
async function benchAdmit(folder: string, sizes: readonly number[], rounds: number) {
  const { tables, auth } = await fillJobTables(folder, sizes);
  const engines = await openAll(tables);
  let admitted = 0;
  const admit: Measure = (engine) => {
    const account = engineAccount(engine, auth);
    return callsPerSecond(CALLS_A_ROUND, () => account.admit(`admit-${++admitted}`, 1));
  };
  await atEachSize(2, engines, admit);
  const admissions = await atEachSize(rounds, engines, admit);
  await closeAll(engines);
  return { "admissions a second": withRatio(admissions, "faster") };
}

interface OpenTable {
  readonly rows: number;
  readonly engine: LocalEngine;
}

async function openAll(tables: readonly FilledTable[], functions?: string): Promise<OpenTable[]> {
  return Promise.all(
    tables.map(async ({ rows, dataFile }) => ({ rows, engine: await openEngine(dataFile, functions) })),
  );
}

async function closeAll(tables: readonly OpenTable[]): Promise<void> {
  await Promise.all(tables.map(({ engine }) => engine.close()));
}

function atEachSize(
  rounds: number,
  tables: readonly OpenTable[],
  measure: Measure,
): Promise<Record<string, number>> {
  const measurements = tables.map(({ rows, engine }) => {
    return [label(rows), (round: number) => measure(engine, rows, round)] as const;
  });
  return inRounds(rounds, Object.fromEntries(measurements));
}

function label(rows: number): string {
  return rows >= 1_000_000 ? `${rows / 1_000_000}M` : `${rows / 1000}k`;
}

/** How much dearer the largest table is than the smallest: 1 = not at all. */
function withRatio(figures: Record<string, number>, larger: "slower" | "faster"): Record<string, number> {
  const values = Object.values(figures);
  const smallest = values[0] ?? 0;
  const largest = values.at(-1) ?? 0;
  return { ...figures, ratio: rounded(larger === "slower" ? largest / smallest : smallest / largest, 2) };
}
