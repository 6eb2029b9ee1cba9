import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "holdfast-count-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function count(...reports: (object | string)[]) {
  const paths = reports.map((report, index) => {
    const path = join(folder, `${index}.json`);
    writeFileSync(path, typeof report === "string" ? report : JSON.stringify(report));
    return path;
  });
  const run = spawnSync(process.execPath, ["scripts/count-tests.mjs", ...paths], { encoding: "utf8" });
  return { line: run.stdout.trim().split("\n").at(-1), status: run.status };
}

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((test) => ({ status: test })),
});

describe("the count of tests", () => {
  test("adds up all reports", () => {
    const report = { testResults: [file("passed", "passed", "passed", "skipped")] };
    expect(count(report, report)).toEqual({ line: "4 passed, 0 failed", status: 0 });
  });

  test("takes the reports of both runners", () => {
    const vitest = { testResults: [file("passed", "passed")] };
    const browser = { stats: { expected: 3, unexpected: 0, flaky: 0, skipped: 0 }, errors: [] };
    expect(count(vitest, browser)).toEqual({ line: "4 passed, 0 failed", status: 0 });
    const failing = { stats: { expected: 3, unexpected: 1, flaky: 1, skipped: 0 }, errors: [{}] };
    expect(count(vitest, failing)).toEqual({ line: "4 passed, 3 failed", status: 1 });
  });

  test("fails with a failed test", () => {
    const report = { testResults: [file("failed", "passed", "failed")] };
    expect(count(report)).toEqual({ line: "1 passed, 1 failed", status: 1 });
  });

  test("counts a file that does not load as failed", () => {
    const report = { testResults: [file("passed", "passed"), file("failed")] };
    expect(count(report)).toEqual({ line: "1 passed, 1 failed", status: 1 });
  });

  test("fails when no test was executed", () => {
    expect(count({ testResults: [file("passed", "skipped")] })).toEqual({
      line: "0 passed, 0 failed",
      status: 1,
    });
    expect(count()).toEqual({ line: "0 passed, 0 failed", status: 1 });
  });

  test("fails when a report cannot be read, whatever the others say", () => {
    const report = { testResults: [file("passed", "passed")] };
    expect(count(report, "{")).toEqual({ line: "1 passed, 0 failed", status: 1 });
  });
});
