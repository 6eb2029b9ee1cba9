// A soak for people: what grew, what did not, and what the books say.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunStamp } from "../bench/results.ts";
import { ROOT } from "../support/root.ts";
import { rounded } from "../support/statistics.mjs";
import type { Answered } from "./load.ts";
import type { Growth } from "./growth.ts";

export interface SoakResult extends RunStamp {
  readonly minutes: number;
  readonly days: number;
  readonly scale: number;
  readonly rounds: number;
  readonly answered: Answered;
  readonly meters: number;
  readonly reviewedMeters: number;
  readonly reviews: readonly string[];
  readonly budgets: number;
  readonly growth: readonly Growth[];
  /** By how many hours the oldest row of a table passed its time, at worst. */
  readonly overdueHours: Readonly<Record<string, number>>;
  readonly answerMs: { readonly first: number; readonly last: number };
  readonly faults: readonly string[];
}

const RESULTS_MD = join(ROOT, "scripts/soak/RESULTS.md");
/** Rows that are removed in time are seen just before it. */
const NEAR_HOURS = 24;
const HEADER = ["Measured", "First quarter", "Second", "Last", "Most", "Rule"];

export function growthTable(growth: readonly Growth[]): string {
  const rows = growth.map((one) => cellsOf(one));
  const widths = HEADER.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    `  ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("  ")}`;
  return [line(HEADER), ...rows.map(line)].join("\n");
}

function cellsOf({ name, first, second, last, max, rule, isLeak }: Growth): string[] {
  const words = rule === null ? "" : isLeak ? `LEAK: ${rule}` : rule;
  return [name, ...[first, second, last, max].map((value) => rounded(value).toLocaleString("en-US")), words];
}

export function headline(result: SoakResult): string[] {
  const { minutes, days, scale, rounds, answered, meters, reviewedMeters, budgets, answerMs, faults } =
    result;
  const { jobs, refused, repeated, clicks, reminders, failed } = answered;
  return [
    `${rounded(days)} days in ${rounded(minutes)} minutes (scale ${scale}), ${rounds} rounds of work`,
    `${jobs} jobs started, ${refused} refused, ${repeated} starts sent again, ${clicks} clicks, ${reminders} reminders, ${failed} failed`,
    `${budgets} budgets audited, ${meters} meters: ledger = counters = sent = meter, but for ${reviewedMeters} that a person was told of`,
    `an answer of /api/health: ${rounded(answerMs.first)} ms in the first quarter, ${rounded(answerMs.last)} ms in the last`,
    faults.length === 0 ? "nothing grew that should not, and the books are right" : `${faults.length} faults`,
  ];
}

export function overdueLines(overdueHours: SoakResult["overdueHours"]): string[] {
  return Object.entries(overdueHours).map(([table, hours]) =>
    hours < -NEAR_HOURS
      ? `${table}: no row has become as old as it may (${rounded(-hours / 24)} days to go)`
      : `${table}: the oldest row that was seen was ${rounded(Math.abs(hours))} hours ${hours > 0 ? "past" : "before"} its time`,
  );
}

export function saveSoak(result: SoakResult): void {
  const { date, commit, machine, growth, overdueHours, faults } = result;
  const rows = growth.map((one) => `| ${cellsOf(one).join(" | ")} |`);
  const text = [
    "# The last saved soak",
    "",
    `\`npm run soak -- --minutes ${Math.round(result.minutes)} --scale ${result.scale} --save\``,
    "",
    `${date}, commit ${commit}, ${machine.cores} × ${machine.cpu}, Node ${machine.node}`,
    "",
    ...headline(result).map((line) => `- ${line}`),
    ...result.reviews.map((review) => `- told to a person: ${review}`),
    ...faults.map((fault) => `- FAULT: ${fault}`),
    "",
    "How long rows stayed that are kept for a time only (lib/retention):",
    "",
    ...overdueLines(overdueHours).map((line) => `- ${line}`),
    "",
    "Medians of each quarter of the run. What has no rule is kept for ever, or for a time that the last lines above judge.",
    "",
    `| ${HEADER.join(" | ")} |`,
    "| --- | ---: | ---: | ---: | ---: | --- |",
    ...rows,
    "",
  ];
  writeFileSync(RESULTS_MD, text.join("\n"));
}
