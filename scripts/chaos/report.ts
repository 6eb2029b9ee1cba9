// What a run came to, in numbers and as a table for a person.
import type { Finding, FindingKind } from "./findings.ts";
import type { Journal } from "./journal.ts";
import type { Kill } from "./killer.ts";
import type { ProviderRows } from "./rows.ts";

/** What was answered, by what it was; `open`: sent and never answered, so it may be there or not. */
export interface Line {
  readonly what: string;
  readonly answered: number;
  readonly open: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
}

export interface ChaosResult {
  readonly seed: number;
  readonly kills: number;
  readonly killsByKind: Readonly<Record<string, number>>;
  readonly processesKilled: number;
  readonly seconds: number;
  /** Requests of the client that a kill cut off. */
  readonly cutOff: number;
  readonly lines: readonly Line[];
  readonly findings: readonly Finding[];
}

/** Findings about anything that is in no line of its own: budgets, counters, meters, plans. */
const BOOKS = "books";

export function linesOf(journal: Journal, provider: ProviderRows, findings: readonly Finding[]): Line[] {
  const { jobs, clicks, events, plans, calls } = journal;
  const admitted = jobs.filter(({ refused }) => !refused);
  const steps = jobs.flatMap((job) => job.steps.filter(({ step }) => isSent(job, step)));
  const extensions = jobs.flatMap((job) => job.extensions);
  const settles = jobs.filter(({ settle, ended }) => settle !== null || ended !== null);
  const accepted = provider.accepted.length;
  const counts: [string, number, number][] = [
    ["admission", ...split(admitted, (job) => job.admitted !== null)],
    ["refusal", jobs.length - admitted.length, 0],
    ["charge", ...split(steps, ({ chargedUnits }) => chargedUnits !== null)],
    ["extension", ...split(extensions, ({ answered }) => answered)],
    ["settle", ...split(settles, ({ ended }) => ended !== null)],
    ["click", ...split(clicks, ({ answered }) => answered)],
    ["told event", ...split(events, ({ eventId }) => eventId !== null)],
    ["plan change", ...split(plans, ({ answered }) => answered)],
    ["webhook", accepted, provider.deliveries.length - accepted],
    ...[...calls].map(([name, count]): [string, number, number] => [`operator's ${name}`, count, 0]),
  ];
  const names = new Set(counts.map(([what]) => what));
  const lines = counts.map(([what, answered, open]) => {
    return lineOf(
      what,
      answered,
      open,
      findings.filter((one) => one.what === what),
    );
  });
  const others = findings.filter(({ what }) => !names.has(what));
  return [...lines, lineOf(BOOKS, 0, 0, others)];
}

/** A worker of its own says what it was answered and not what it sent. */
function isSent({ steps }: Journal["jobs"][number], step: number): boolean {
  const lastAnswered = steps.findLast(({ chargedUnits }) => chargedUnits !== null)?.step ?? 0;
  return step <= lastAnswered + 1;
}

function split<Item>(items: readonly Item[], isAnswered: (item: Item) => boolean): [number, number] {
  const answered = items.filter(isAnswered).length;
  return [answered, items.length - answered];
}

function lineOf(what: string, answered: number, open: number, findings: readonly Finding[]): Line {
  const count = (kind: FindingKind): number => findings.filter((one) => one.kind === kind).length;
  return {
    what,
    answered,
    open,
    lost: count("lost"),
    doubled: count("doubled"),
    wrong: count("wrong"),
  };
}

export function countKinds(kills: readonly Kill[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of kills) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** The result for a terminal. */
export function tableOf(result: ChaosResult): string {
  const { kills, killsByKind, processesKilled, seconds, cutOff, lines } = result;
  const kinds = Object.entries(killsByKind).map(([kind, count]) => `${kind} ${count}`);
  const head = ["", "answered", "no answer", "lost", "doubled", "wrong"];
  const rows = lines.map((line) => [
    line.what,
    ...[line.answered, line.open, line.lost, line.doubled, line.wrong].map((count) =>
      count.toLocaleString("en-US"),
    ),
  ]);
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)),
  );
  const text = [head, ...rows].map((cells) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  return [
    `${kills} kills of ${processesKilled} processes in ${seconds} s: ${kinds.join(", ")}`,
    `${cutOff} requests of the client were cut off`,
    "",
    ...text.map((line) => `  ${line}`),
    "",
    verdictOf(result.findings),
  ].join("\n");
}

export function verdictOf(findings: readonly Finding[]): string {
  const count = (kind: FindingKind): number => findings.filter((one) => one.kind === kind).length;
  const wrong = count("wrong");
  return `${count("lost")} lost, ${count("doubled")} doubled${wrong === 0 ? "" : `, ${wrong} wrong`}`;
}
