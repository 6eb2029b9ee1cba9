import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes what scripts/count-tests.mjs counts, in the form of Vitest's report: one test for each fixed seed and one for all
 * fresh ones, so that the number of tests does not depend on how fast the machine is.
 */
export function writeReport(
  path: string,
  fixed: readonly { readonly seed: number; readonly isClean: boolean }[],
  fresh: readonly { readonly isClean: boolean }[],
): void {
  const test = (fullName: string, isClean: boolean): object => {
    return { fullName, status: isClean ? "passed" : "failed" };
  };
  const assertionResults = fixed.map(({ seed, isClean }) => test(`seed ${seed} is clean`, isClean));
  if (fresh.length > 0) {
    assertionResults.push(
      test(
        "fresh seeds are clean",
        fresh.every(({ isClean }) => isClean),
      ),
    );
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ testResults: [{ name: "simulator", assertionResults }] }));
}
