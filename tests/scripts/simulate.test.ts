import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { writeReport } from "../../scripts/simulate/report.ts";
import { ROOT } from "../../scripts/support/root.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-simulate-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function run(program: string, ...args: string[]): { status: number | null; lines: string[] } {
  const nodeArgs = program.endsWith(".ts") ? ["--import", "tsx", program] : [program];
  const { status, stdout } = spawnSync(process.execPath, [...nodeArgs, ...args], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return { status, lines: stdout.trimEnd().split("\n") };
}
const digests = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.startsWith("seed ")).map((line) => `${line.split(":")[0]} ${line.slice(-12)}`);

test("two workers run each seed once, and the same way as one process does", () => {
  const report = join(folder, "report.json");
  const args = ["--seeds", "1..4", "--steps", "15"];
  const alone = run("scripts/simulate.ts", ...args);
  const shared = run("scripts/simulate.ts", ...args, "--workers", "2", "--report", report);
  expect([alone.status, shared.status]).toEqual([0, 0]);
  expect(digests(shared.lines).toSorted()).toEqual(digests(alone.lines));
  expect(shared.lines.at(-1)).toBe("4 seeds clean, 60 steps");
  expect(run("scripts/count-tests.mjs", report)).toEqual({ status: 0, lines: ["4 passed, 0 failed"] });
}, 120_000);

test("fresh seeds are run until the time is up, and one command repeats them", () => {
  const report = join(folder, "report.json");
  const args = ["--seeds", "1..1", "--steps", "5", "--for-seconds", "4", "--report", report];
  const { status, lines } = run("scripts/simulate.ts", ...args);
  expect(status).toBe(0);
  expect(lines.at(-2)).toMatch(/^the fresh ones again: npm run simulate -- --seeds \d+\.\.\d+ --steps 5$/);
  const [first, last] = /(\d+)\.\.(\d+)/.exec(lines.at(-2)!)!.slice(1).map(Number);
  const clean = 1 + last! - first! + 1;
  expect(lines.at(-1)).toBe(`${clean} seeds clean, ${clean * 5} steps`);
  // However many there were: they are one test.
  expect(run("scripts/count-tests.mjs", report).lines).toEqual(["2 passed, 0 failed"]);
}, 120_000);

test("a failed seed is a failed test", () => {
  const report = join(folder, "reports", "report.json");
  writeReport(
    report,
    [
      { seed: 1, isClean: true },
      { seed: 2, isClean: false },
    ],
    [{ isClean: true }, { isClean: false }],
  );
  expect(readFileSync(report, "utf8")).toContain("seed 2 is clean");
  expect(run("scripts/count-tests.mjs", report)).toEqual({ status: 1, lines: ["1 passed, 2 failed"] });
});

test.each(["--seeds 1..x", "--seed -1", "--seeds 1..2 --only 3", "--workers 0"])(
  "%s is told apart from a seed that fails",
  (args) => {
    expect(run("scripts/simulate.ts", ...args.split(" ")).status).toBe(2);
  },
  60_000,
);
