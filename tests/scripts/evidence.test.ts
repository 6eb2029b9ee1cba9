import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ABOUT } from "../../app/(site)/docs/how-we-know/about.ts";
import { collectEvidence, EVIDENCE_FILE, type EvidenceTable } from "../../scripts/support/evidence.ts";

test("the page shows what the tools have saved (npm run evidence writes it)", () => {
  expect(JSON.parse(readFileSync(EVIDENCE_FILE, "utf8"))).toEqual(
    JSON.parse(JSON.stringify(collectEvidence())),
  );
});

test("every saved result has its place on the page, a date and figures", () => {
  const evidence = collectEvidence();
  const places = ABOUT.map(({ id }) => id as string);
  for (const { id, run, rows, tables } of evidence) {
    expect(places).toContain(id);
    expect(rows.length).toBeGreaterThan(1);
    for (const { columns, rows: told } of tables) {
      expect(told.length).toBeGreaterThan(0);
      for (const row of told) expect(row).toHaveLength(columns.length);
    }
    for (const { command, date, commit } of run === null ? runsOf(tables[0]!) : [run]) {
      expect(command).toMatch(/^npm run /);
      expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(commit).not.toBe("");
    }
  }
  expect(evidence.map(({ id }) => id)).toEqual(expect.arrayContaining(["mutants", "chaos", "bench:gate"]));
});

function runsOf({ columns, rows }: EvidenceTable) {
  const at = (row: readonly string[], name: string) => row[columns.indexOf(name)]!;
  return rows.map((row) => ({
    command: at(row, "Command"),
    date: at(row, "Date"),
    commit: at(row, "Commit"),
  }));
}

test("the kills of the runs are those of the sum", () => {
  const chaos = collectEvidence().find(({ id }) => id === "chaos")!;
  const [runs] = chaos.tables;
  const sum = runs!.rows.reduce((kills, row) => kills + Number(row[runs!.columns.indexOf("Kills")]), 0);
  expect(chaos.rows[0]).toEqual(["kills", sum.toLocaleString("en-US")]);
});
