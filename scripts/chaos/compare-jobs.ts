// The jobs that the client knows against those in the database, and both against budgets and entries.
import { type Findings, grouped, sumOf } from "./findings.ts";
import type { JobNote } from "./journal.ts";
import type { Remains, Row } from "./rows.ts";

interface JobRow extends Row {
  readonly accountId: string;
  readonly key: string;
  readonly status: string;
  readonly heldUnits: number;
  readonly usedUnits: number;
  readonly step: number;
  readonly cycle: string;
}

export function compareJobs(notes: readonly JobNote[], remains: Remains, findings: Findings): void {
  const nameOf = ({ accountId, key }: { accountId: string; key: string }): string => `${accountId} ${key}`;
  const noted = new Map(notes.map((note) => [nameOf(note), note]));
  const jobs = remains.rows("jobs") as JobRow[];
  const stored = grouped(jobs, nameOf);
  for (const [name, note] of noted) compareJob(note, stored.get(name) ?? [], findings);
  for (const [name, rows] of stored) {
    if (!noted.has(name)) findings.wrong("job", name, `nobody asked for ${rows.length} of it`);
  }
  compareBudgets(remains, jobs, findings);
}

function compareJob(note: JobNote, rows: readonly JobRow[], findings: Findings): void {
  const { key, admitted } = note;
  const [row] = rows;
  if (rows.length > 1) findings.doubled("admission", key, `${rows.length} jobs have this key`);
  if (row === undefined) {
    if (admitted !== null) findings.lost("admission", key, `job ${admitted.id} is not there`);
    return;
  }
  if (admitted !== null && rows.every(({ _id }) => _id !== admitted.id)) {
    findings.lost("admission", key, `answered as ${admitted.id}, there is ${row._id}`);
  }
  if (note.refused) findings.wrong("refusal", key, `refused, and there is job ${row._id}`);
  if (row.status === "running") findings.wrong("job", key, `${row._id} still runs, its lease has ended`);
  compareHold(note, row, findings);
  compareUse(note, row, findings);
  compareEnd(note, row, findings);
}

/** An extension without an answer is there or not; with one it is there. Never is one there twice. */
function compareHold({ key, units, admitted, extensions }: JobNote, row: JobRow, findings: Findings): void {
  const certain =
    (admitted?.heldUnits ?? units) +
    sumOf(
      extensions.filter(({ answered }) => answered),
      (one) => one.units,
    );
  let possible = new Set([certain]);
  for (const { units: added } of extensions.filter(({ answered }) => !answered)) {
    possible = new Set([...possible].flatMap((sum) => [sum, sum + added]));
  }
  if (possible.has(row.heldUnits)) return;
  const detail = `${[...possible].join(" or ")} units held by what was answered, ${row.heldUnits} there`;
  if (row.heldUnits < certain) findings.lost("extension", key, detail);
  else findings.doubled("extension", key, detail);
}

/** Every answered step is there, at most the one after them too, and each was charged once. */
function compareUse(note: JobNote, row: JobRow, findings: Findings): void {
  const { key, steps, settle } = note;
  const answered = steps.filter(({ chargedUnits }) => chargedUnits !== null);
  const lastAnswered = answered.at(-1)?.step ?? 0;
  if (row.step < lastAnswered) {
    findings.lost("charge", key, `step ${lastAnswered} was answered, step ${row.step} is there`);
    return;
  }
  const sent = steps.filter(({ step }) => step <= row.step);
  if (sent.length < row.step) {
    findings.wrong("charge", key, `step ${row.step} is there, ${steps.length} were sent`);
    return;
  }
  const charged = Math.min(
    sumOf(sent, ({ units }) => units),
    row.heldUnits,
  );
  const stated = settle !== null && row.status === settle.outcome ? (settle.usedUnits ?? 0) : 0;
  const expected = Math.min(Math.max(charged, stated), row.heldUnits);
  findings.compare("charge", key, expected, row.usedUnits);
}

/** An ending that was answered is the one that is stored. */
function compareEnd({ key, ended }: JobNote, row: JobRow, findings: Findings): void {
  if (ended === null) return;
  const told = `${ended.status} with ${ended.usedUnits} of ${ended.heldUnits} used`;
  const is = `${row.status} with ${row.usedUnits} of ${row.heldUnits} used`;
  if (told !== is) findings.lost("settle", key, `answered as ${told}, stored as ${is}`);
}

interface EntryRow extends Row {
  readonly accountId: string;
  readonly key: string;
  readonly feature: string;
  readonly units: number;
  readonly budgetCycle: string | null;
  readonly origin: { readonly kind: string };
}

/** One entry for each job that used anything; a budget is the sum of its entries, within its limit, and nothing is held. */
function compareBudgets(remains: Remains, jobs: readonly JobRow[], findings: Findings): void {
  const entries = (remains.rows("entries") as EntryRow[]).filter(({ feature }) => feature === "tokens");
  const byKey = grouped(
    entries.filter(({ origin }) => origin.kind === "job"),
    ({ key }) => key,
  );
  for (const { _id: id, usedUnits, key } of jobs) {
    const found = byKey.get(id) ?? [];
    findings.compare("entry", key, usedUnits > 0 ? 1 : 0, found.length);
    if (found.length === 1) findings.compare("entry units", key, usedUnits, found[0]?.units ?? 0);
  }
  const ids = new Set(jobs.map(({ _id }) => _id));
  for (const id of byKey.keys()) if (!ids.has(id)) findings.wrong("entry", id, "there is no such job");
  const limits = new Map(
    remains.rows("limits").map(({ accountId, limitUnits }) => [accountId, limitUnits as number | null]),
  );
  const used = grouped(entries, ({ accountId, budgetCycle }) => `${accountId} ${budgetCycle}`);
  for (const budget of remains.rows("budgets")) {
    const id = `${String(budget["accountId"])} ${String(budget["cycle"])}`;
    const units = sumOf(used.get(id) ?? [], (entry) => entry.units);
    findings.compare("budget", id, units, Number(budget["usedUnits"]));
    const limitUnits = limits.get(budget["accountId"]) ?? null;
    if (limitUnits !== null && units > limitUnits) {
      findings.wrong("limit", id, `${units} units used of ${limitUnits}`);
    }
    if (budget["heldUnits"] !== 0) {
      findings.wrong("budget", id, `${String(budget["heldUnits"])} units held in the end`);
    }
  }
}
