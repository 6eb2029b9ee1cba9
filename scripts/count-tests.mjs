// Prints "N passed, N failed" as counted from test reports (Vitest's and Playwright's JSON): node scripts/count-tests.mjs <report>...
// Exit 1 when a test or a whole file failed, when no test was executed, or when a report is missing.
import { readFileSync } from "node:fs";

/**
 * A file that does not load has no failed test, yet it failed: it counts as one.
 * @param {any} report
 */
function countReport(report) {
  // Playwright counts by itself. A test that passed only when it was tried again did not pass.
  if (report.stats !== undefined) {
    const { expected, unexpected, flaky } = report.stats;
    return { passed: expected, failed: unexpected + flaky + (report.errors ?? []).length };
  }
  /** @type {any[]} */
  const files = report.testResults ?? [];
  const tests = files.flatMap((file) => file.assertionResults ?? []);
  const passed = tests.filter(({ status }) => status === "passed").length;
  const failedTests = tests.filter(({ status }) => status === "failed").length;
  const broken = files.filter(
    (file) =>
      file.status === "failed" &&
      !(file.assertionResults ?? []).some((/** @type {any} */ test) => test.status === "failed"),
  ).length;
  return { passed, failed: failedTests + broken };
}

/** @param {readonly string[]} paths */
function countAll(paths) {
  const total = { passed: 0, failed: 0, complete: paths.length > 0 };
  for (const path of paths) {
    try {
      const { passed, failed } = countReport(JSON.parse(readFileSync(path, "utf8")));
      total.passed += passed;
      total.failed += failed;
    } catch (error) {
      console.error(`count-tests: ${path}: ${error instanceof Error ? error.message : String(error)}`);
      total.complete = false;
    }
  }
  return total;
}

if (process.argv[1] === import.meta.filename) {
  const { passed, failed, complete } = countAll(process.argv.slice(2));
  if (passed + failed === 0) console.error("count-tests: no test was executed");
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = complete && failed === 0 && passed > 0 ? 0 : 1;
}
