import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { commitName } from "../support/commit.ts";
import { ROOT } from "../support/root.ts";

/** When, where and on which code something was measured. */
export interface RunStamp {
  readonly date: string;
  readonly commit: string;
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
}

/** One run of a bench, and what was measured. */
export interface BenchResult extends RunStamp {
  readonly bench: "engine" | "gate" | "doors" | "redirect" | "reconcile" | "inbox" | "conflicts";
  readonly figures: object;
}

const RESULTS_JSON = join(ROOT, "scripts/bench/results.json");
const RESULTS_MD = join(ROOT, "scripts/bench/RESULTS.md");

export function makeResult(bench: BenchResult["bench"], figures: object): BenchResult {
  return { bench, ...stampNow(), figures };
}

export function stampNow(): RunStamp {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commitName(),
    machine: { cpu: cpus()[0]?.model.trim() ?? "unknown", cores: cpus().length, node: process.version },
  };
}

/** Appends to results.json and rewrites RESULTS.md, which shows the newest run of each bench. */
export function saveResult(result: BenchResult): void {
  const all: BenchResult[] = existsSync(RESULTS_JSON) ? JSON.parse(readFileSync(RESULTS_JSON, "utf8")) : [];
  all.push(result);
  writeFileSync(RESULTS_JSON, `${JSON.stringify(all, null, 2)}\n`);
  writeFileSync(RESULTS_MD, resultsPage(all));
}

/** The readable page: the newest run of each bench, one table each. */
export function resultsPage(all: readonly BenchResult[]): string {
  const newest = (
    ["engine", "gate", "doors", "redirect", "reconcile", "inbox", "conflicts"] as const
  ).flatMap((bench) => all.findLast((run) => run.bench === bench) ?? []);
  const sections = newest.map(({ bench, date, commit, machine, figures }) => {
    const rows = flatten(figures).map(([name, value]) => `| ${name} | ${value} |`);
    return [
      `## \`npm run bench:${bench}\``,
      "",
      `${date}, commit ${commit}, ${machine.cores} × ${machine.cpu}, Node ${machine.node}`,
      "",
      "| Figure | Value |",
      "| --- | ---: |",
      ...rows,
      "",
    ].join("\n");
  });
  const intro = "The newest saved run of each bench (`-- --save`). All runs are in `results.json`.";
  return ["# Bench results", "", intro, "", ...sections].join("\n");
}

/** Nested figures as rows: their path in words, and the number. */
export function flatten(figures: object, path: readonly string[] = []): [string, string][] {
  return Object.entries(figures).flatMap(([name, value]): [string, string][] => {
    const here = [...path, name];
    if (typeof value === "object" && value !== null) return flatten(value, here);
    const text =
      typeof value === "number" ? value.toLocaleString("en-US", { maximumFractionDigits: 2 }) : String(value);
    return [[here.join(" · "), text]];
  });
}
