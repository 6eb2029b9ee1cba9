// What the page "How we know" shows, gathered from the saved results of the tools.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchResult, flatten } from "../bench/results.ts";
import { type SavedRun, sumLines } from "../chaos/results.ts";
import type { SimulatorRun } from "../simulate/results.ts";
import { ROOT } from "./root.ts";

export interface Evidence {
  /** What the page says about it is found by this. */
  readonly id: string;
  /** What ran; null where a table tells several runs. */
  readonly run: {
    readonly command: string;
    readonly date: string;
    /** The code that ran, as commitName has it. */
    readonly commit: string;
  } | null;
  readonly rows: readonly (readonly [name: string, value: string])[];
  readonly tables: readonly EvidenceTable[];
}

export interface EvidenceTable {
  readonly title: string;
  /** The first names a row. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export const EVIDENCE_FILE = join(ROOT, "app/(site)/docs/how-we-know/evidence.json");

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const readJson = (path: string): unknown => (existsSync(join(ROOT, path)) ? JSON.parse(read(path)) : []);

export function collectEvidence(): Evidence[] {
  return [
    ...simulatorEvidence(),
    ...mutantEvidence(),
    ...chaosEvidence(),
    ...soakEvidence(),
    ...benchEvidence(),
  ];
}

function simulatorEvidence(): Evidence[] {
  const runs = readJson("scripts/simulate/results.json") as SimulatorRun[];
  if (runs.length === 0) return [];
  const sum = (count: (run: SimulatorRun) => number) => runs.reduce((all, run) => all + count(run), 0);
  const rows = [
    ["seeds clean since the last fault", number(sum(({ clean }) => clean))],
    ["seeds that failed", number(sum(({ failed }) => failed))],
    ["steps", number(sum(({ steps }) => steps))],
  ] as [string, string][];
  const table = {
    title: "Each run",
    columns: ["Command", "Clean", "Failed", "Steps", "Date", "Commit"],
    rows: runs.map(({ command, clean, failed, steps, date, commit }) => [
      command,
      ...[clean, failed, steps].map(number),
      date,
      commit,
    ]),
  };
  return [{ id: "simulate", run: null, rows, tables: [table] }];
}

/** From the lines of the page: the newest run of each mutant, of whichever day it was. */
function mutantEvidence(): Evidence[] {
  const page = read("scripts/mutants/RESULTS.md");
  const runs = [...page.matchAll(/\| (\d{4}-\d\d-\d\d) \| ([^|]+) \|$/gm)];
  const newest = runs.toSorted(([, a], [, b]) => a!.localeCompare(b!)).at(-1);
  const sum = /^(\d+) of (\d+) mutants run: (\d+) caught, (\d+) survived\.$/m.exec(page);
  if (newest === undefined || sum === null) return [];
  const [, run, all, caught, survived] = sum;
  const rows = [
    ["rules broken", `${run} of ${all}`],
    ["caught by a test or the simulator", caught!],
    ["survived", survived!],
  ] as [string, string][];
  const ran = { command: "npm run mutants -- --save", date: newest[1]!, commit: newest[2]! };
  return [{ id: "mutants", run: ran, rows, tables: [] }];
}

function chaosEvidence(): Evidence[] {
  const runs = readJson("scripts/chaos/results.json") as SavedRun[];
  if (runs.length === 0) return [];
  const kills = runs.reduce((sum, run) => sum + run.kills, 0);
  const all = countsOf(runs.flatMap((run) => run.lines));
  const rows = [["kills", number(kills)], ...COUNTS.map((name) => [name, number(all[name])])];
  const ran = {
    title: "Each run",
    columns: ["Command", "Kills", "Lost", "Doubled", "Wrong", "Date", "Commit"],
    rows: runs.map(({ kills: of, seed, lines, date, commit }) => {
      const counts = countsOf(lines);
      const command = `npm run chaos -- --kills ${of} --seed ${seed} --save`;
      return [command, number(of), ...COUNTS.map((name) => number(counts[name])), date, commit];
    }),
  };
  const looked = {
    title: "What was looked at, in all runs",
    columns: ["What", "Answered", "No answer", "Lost", "Doubled", "Wrong"],
    rows: sumLines(runs.flatMap((run) => run.lines)).map(({ what, answered, open, ...counts }) => [
      what,
      ...[answered, open, ...COUNTS.map((name) => counts[name])].map(number),
    ]),
  };
  return [{ id: "chaos", run: null, rows: rows as [string, string][], tables: [ran, looked] }];
}

const COUNTS = ["lost", "doubled", "wrong"] as const;

function countsOf(lines: SavedRun["lines"]): Record<(typeof COUNTS)[number], number> {
  const sum = (name: (typeof COUNTS)[number]) => lines.reduce((all, line) => all + line[name], 0);
  return { lost: sum("lost"), doubled: sum("doubled"), wrong: sum("wrong") };
}

function soakEvidence(): Evidence[] {
  const path = "scripts/soak/RESULTS.md";
  if (!existsSync(join(ROOT, path))) return [];
  const page = read(path);
  const [, command] = /^`(npm run soak[^`]*)`$/m.exec(page) ?? [];
  const [, date, commit] = /^(\d{4}-\d\d-\d\d), commit ([^,]+),/m.exec(page) ?? [];
  const facts = [...page.split("\n\nHow long")[0]!.matchAll(/^- (.+)$/gm)].map(([, fact]) => fact!);
  const rows = facts.map((fact, index): [string, string] => [FACTS_OF_SOAK[index] ?? "fault", fact]);
  const run = { command: command ?? "", date: date ?? "", commit: commit ?? "" };
  return [{ id: "soak", run, rows, tables: [] }];
}

const FACTS_OF_SOAK = ["time", "work", "books", "answers", "verdict"];

function benchEvidence(): Evidence[] {
  const all = readJson("scripts/bench/results.json") as BenchResult[];
  const newest = new Map(all.map((run) => [run.bench, run]));
  return [...newest.values()].map(({ bench, date, commit, figures }) => ({
    id: `bench:${bench}`,
    run: { command: `npm run bench:${bench} -- --save`, date, commit },
    rows: flatten(figures),
    tables: [],
  }));
}

const number = (value: number): string => value.toLocaleString("en-US");
