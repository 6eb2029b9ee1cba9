import { expect, test } from "vitest";
import { compare } from "../../scripts/chaos/compare.ts";
import { type ChaosResult, countKinds, linesOf, tableOf } from "../../scripts/chaos/report.ts";
import { pageOf } from "../../scripts/chaos/results.ts";
import { remainsOf, smallWorld, type SmallWorld } from "./chaos-world.ts";

function resultOf(world: SmallWorld): ChaosResult {
  const remains = remainsOf(world);
  const findings = compare(world.journal, remains, world.lastWords);
  const killsByKind = countKinds([
    { kind: "engine", processes: 1 },
    { kind: "everything", processes: 3 },
    { kind: "engine", processes: 1 },
  ]);
  const lines = linesOf(world.journal, remains.provider, findings);
  return { seed: 7, kills: 3, killsByKind, processesKilled: 5, seconds: 61, cutOff: 12, lines, findings };
}

test("the table counts what was answered, by what it was", () => {
  const table = tableOf(resultOf(smallWorld()));
  expect(table).toContain("3 kills of 5 processes in 61 s: engine 2, everything 1");
  expect(table).toMatch(/admission +1 +0 +0 +0 +0\n/);
  expect(table).toMatch(/charge +2 +0 +0 +0 +0\n/);
  expect(table).toMatch(/click +2 +0 +0 +0 +0\n/);
  expect(table).toMatch(/webhook +2 +0 +0 +0 +0\n/);
  expect(table).toContain("0 lost, 0 doubled");
});

test("a finding is counted where it belongs, and in the sum", () => {
  const world = smallWorld();
  world.tables["jobs"] = [];
  world.tables["entries"]?.pop();
  const table = tableOf(resultOf(world));
  expect(table).toMatch(/admission +1 +0 +1 +0 +0\n/);
  expect(table).toMatch(/click +2 +0 +1 +0 +0\n/);
  // Counters, totals and the meter of the click that is gone; and the entry of the job.
  expect(table).toMatch(/books +0 +0 +0 +5 +1\n/);
  expect(table).toContain("2 lost, 5 doubled, 1 wrong");
});

test("the page sums the runs and keeps the command, the date and the commit of each", () => {
  const result = resultOf(smallWorld());
  const page = pageOf([
    { ...result, date: "2026-12-03", commit: "abc1234" },
    { ...result, seed: 8, date: "2026-12-04", commit: "def5678" },
  ]);
  expect(page).toContain("**6 kills in 2 runs: 0 lost, 0 doubled, 0 otherwise wrong.**");
  expect(page).toContain("| click | 4 | 0 | 0 | 0 | 0 |");
  expect(page).toContain("| `npm run chaos -- --kills 3 --seed 7` | 3 |");
  expect(page).toContain("| 2026-12-04 | def5678 |");
});
