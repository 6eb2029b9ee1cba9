import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ABOUT } from "../../app/(site)/docs/how-we-know/about.ts";
import { collectEvidence, EVIDENCE_FILE } from "../../scripts/support/evidence.ts";

test("the page shows what the tools have saved (npm run evidence writes it)", () => {
  expect(JSON.parse(readFileSync(EVIDENCE_FILE, "utf8"))).toEqual(
    JSON.parse(JSON.stringify(collectEvidence())),
  );
});

test("every saved result has its place on the page, a date and figures", () => {
  const evidence = collectEvidence();
  const places = ABOUT.map(({ id }) => id as string);
  for (const { id, command, date, commit, rows } of evidence) {
    expect(places).toContain(id);
    expect(command).toMatch(/^npm run /);
    expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(commit).not.toBe("");
    expect(rows.length).toBeGreaterThan(1);
  }
  expect(evidence.map(({ id }) => id)).toEqual(expect.arrayContaining(["mutants", "chaos", "bench:gate"]));
});
