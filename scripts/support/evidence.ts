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
  readonly command: string;
  readonly date: string;
  /** The code that ran. */
  readonly commit: string;
  readonly rows: readonly (readonly [name: string, value: string])[];
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
  const last = runs.at(-1);
  if (last === undefined) return [];
  const sum = (count: (run: SimulatorRun) => number) => runs.reduce((all, run) => all + count(run), 0);
  const rows = [
    ["seeds clean since the last fault", number(sum(({ clean }) => clean))],
    ["seeds that failed", number(sum(({ failed }) => failed))],
    ["steps", number(sum(({ steps }) => steps))],
    ...runs.map((run) => [`${run.date}, ${run.commit}`, `${run.command}: ${number(run.clean)} clean`]),
  ] as [string, string][];
  const { date, commit } = last;
  return [
    { id: "simulate", command: "npm run simulate -- --seeds A..B --workers 2 --save", date, commit, rows },
  ];
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
  return [
    { id: "mutants", command: "npm run mutants -- --save", date: newest[1]!, commit: newest[2]!, rows },
  ];
}

function chaosEvidence(): Evidence[] {
  const runs = readJson("scripts/chaos/results.json") as SavedRun[];
  const last = runs.at(-1);
  if (last === undefined) return [];
  const lines = sumLines(runs.flatMap((run) => run.lines));
  const kills = runs.reduce((sum, run) => sum + run.kills, 0);
  const rows = [
    ["kills", number(kills)],
    ...lines.map(({ what, answered, lost, doubled, wrong }) => [
      `${what}: answered, lost, doubled, wrong`,
      [answered, lost, doubled, wrong].map(number).join(", "),
    ]),
  ] as [string, string][];
  const { date, commit } = last;
  return [{ id: "chaos", command: "npm run chaos -- --kills 50 --seed 101 --save", date, commit, rows }];
}

function soakEvidence(): Evidence[] {
  const path = "scripts/soak/RESULTS.md";
  if (!existsSync(join(ROOT, path))) return [];
  const page = read(path);
  const [, command] = /^`(npm run soak[^`]*)`$/m.exec(page) ?? [];
  const [, date, commit] = /^(\d{4}-\d\d-\d\d), commit ([^,]+),/m.exec(page) ?? [];
  const facts = [...page.split("\n\nHow long")[0]!.matchAll(/^- (.+)$/gm)].map(([, fact]) => fact!);
  const rows = facts.map((fact, index): [string, string] => [FACTS_OF_SOAK[index] ?? "fault", fact]);
  return [{ id: "soak", command: command ?? "", date: date ?? "", commit: commit ?? "", rows }];
}

const FACTS_OF_SOAK = ["time", "work", "books", "answers", "verdict"];

function benchEvidence(): Evidence[] {
  const all = readJson("scripts/bench/results.json") as BenchResult[];
  const newest = new Map(all.map((run) => [run.bench, run]));
  return [...newest.values()].map(({ bench, date, commit, figures }) => ({
    id: `bench:${bench}`,
    command: `npm run bench:${bench} -- --save`,
    date,
    commit,
    rows: flatten(figures),
  }));
}

const number = (value: number): string => value.toLocaleString("en-US");
