// The committed results of `npm run chaos -- --save`: one line a run, and their sums.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/root.ts";
import type { ChaosResult, Line } from "./report.ts";

const RESULTS_JSON = join(ROOT, "scripts/chaos/results.json");
const RESULTS_MD = join(ROOT, "scripts/chaos/RESULTS.md");

export interface SavedRun extends ChaosResult {
  readonly date: string;
  readonly commit: string;
}

/** Adds a run to results.json and writes RESULTS.md anew. `commit`: what ran, as `commitName` had it before the run. */
export function saveRun(result: ChaosResult, commit: string): void {
  const all: SavedRun[] = existsSync(RESULTS_JSON) ? JSON.parse(readFileSync(RESULTS_JSON, "utf8")) : [];
  all.push({ date: new Date().toISOString().slice(0, 10), commit, ...result });
  writeFileSync(RESULTS_JSON, `${JSON.stringify(all, null, 2)}\n`);
  writeFileSync(RESULTS_MD, pageOf(all));
}

/** The readable page over all saved runs. */
export function pageOf(runs: readonly SavedRun[]): string {
  const kills = runs.reduce((sum, run) => sum + run.kills, 0);
  const lines = sumLines(runs.flatMap((run) => run.lines));
  const count = (name: "lost" | "doubled" | "wrong") => lines.reduce((sum, line) => sum + line[name], 0);
  return [
    "# What kills cost",
    "",
    "`npm run chaos` kills the processes of the real stack with SIGKILL at random instants under mixed load, starts them",
    "again, and compares what was answered with what is there in the end. `-- --save` adds a run to this page.",
    "",
    `**${kills} kills in ${runs.length} ${runs.length === 1 ? "run" : "runs"}: ${count("lost")} lost, ${count("doubled")} doubled, ${count("wrong")} otherwise wrong.**`,
    "",
    "What was sent and never answered may be there once or not at all. `books` are budgets, counters, meters, what was",
    "reported, plans and credits: in the end each is the sum of the rows behind it.",
    "",
    "| What | Answered | No answer | Lost | Doubled | Wrong |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
    ...lines.map((line) => row([line.what, line.answered, line.open, line.lost, line.doubled, line.wrong])),
    "",
    "| Run | Kills | Killed | Requests cut off | Seconds | Findings | Date | Commit |",
    "| --- | ---: | --- | ---: | ---: | ---: | --- | --- |",
    ...runs.map(({ seed, kills: of, killsByKind, cutOff, seconds, findings, date, commit }) => {
      const killed = Object.entries(killsByKind).map(([kind, times]) => `${kind} ${times}`);
      const command = `\`npm run chaos -- --kills ${of} --seed ${seed}\``;
      return row([command, of, killed.join(", "), cutOff, seconds, findings.length, date, commit]);
    }),
    "",
  ].join("\n");
}

function row(cells: readonly (string | number)[]): string {
  const texts = cells.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en-US") : cell));
  return `| ${texts.join(" | ")} |`;
}

/** One line for each thing that was looked at, over all runs. */
export function sumLines(lines: readonly Line[]): Line[] {
  const sums = new Map<string, Line>();
  for (const line of lines) {
    const sum = sums.get(line.what);
    const add = (name: Exclude<keyof Line, "what">): number => (sum?.[name] ?? 0) + line[name];
    sums.set(line.what, {
      what: line.what,
      answered: add("answered"),
      open: add("open"),
      lost: add("lost"),
      doubled: add("doubled"),
      wrong: add("wrong"),
    });
  }
  return [...sums.values()];
}
