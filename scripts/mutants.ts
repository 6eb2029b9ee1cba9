/**
 * Breaks each rule of the gate, the ledger, the inbox and the access checks, one at a time, and expects a test or the
 * simulator to notice. What survives shows a hole in the tests. Works on a copy: this tree stays as it is.
 *
 *   npm run mutants                                   all of them, about an hour on two cores
 *   npm run mutants -- --system gate                  one system
 *   npm run mutants -- --only ledger/mark-not-set     one, or several with commas
 *   npm run mutants -- --list                         what there is
 *   npm run mutants -- --save                         keeps the result in scripts/mutants/RESULTS.md
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { MUTANTS } from "./mutants/catalogue.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { type Result, saveResults } from "./mutants/results.ts";
import { Tree } from "./mutants/tree.ts";
import { helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";

const RESULTS = join(ROOT, "scripts/mutants/RESULTS.md");
/** For what no test caught. Most faults of the parts that it runs show in the first. */
const SEEDS = 4;

const OPTIONS = {
  only: { type: "string", help: "ids of mutants, separated by commas" },
  system: { type: "string", help: "gate, ledger, inbox or access" },
  list: { type: "boolean", help: "only lists them" },
  save: { type: "boolean", help: "keeps the result in scripts/mutants/RESULTS.md" },
  "skip-sound": { type: "boolean", help: "does not run the tests without a fault first" },
} as const;

await runMain("mutants", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(
      helpText("npm run mutants: breaks rules one at a time, and expects a test to notice", OPTIONS),
    );
    return 0;
  }
  const chosen = chooseMutants(options);
  if (options.list) {
    for (const { id, file, breaks } of chosen) console.log(`${id}  ${file}: ${breaks}`);
    console.log(`${chosen.length} mutants`);
    return 0;
  }
  const run = { date: new Date().toISOString().slice(0, 10), commit: commitOf() };
  const tree = new Tree();
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  process.once("exit", () => tree.remove());
  if (!options["skip-sound"] && !(await isSound(tree, chosen))) return 1;
  const results: Result[] = [];
  let lost = 0;
  for (const mutant of chosen) {
    const startMs = performance.now();
    const found = await tree.with(mutant, () => whatCatches(tree, mutant));
    const seconds = (performance.now() - startMs) / 1_000;
    if (found === null) {
      lost += 1;
      console.log(`LOST      ${mutant.id}: its text is not in ${mutant.file} exactly once`);
      continue;
    }
    results.push({ id: mutant.id, caughtBy: found.by, seconds });
    const what =
      found.by === null
        ? `SURVIVED  ${mutant.id}: ${mutant.breaks}`
        : `caught    ${mutant.id} by ${found.by}`;
    console.log(`${what} (${seconds.toFixed(1)} s)`);
  }
  if (options.save) saveResults(RESULTS, MUTANTS, results, run);
  const survived = results.filter(({ caughtBy }) => caughtBy === null).length;
  console.log(`${results.length - survived} caught, ${survived} survived, ${lost} lost`);
  return survived + lost === 0 ? 0 : 1;
});

function chooseMutants({
  only,
  system,
}: {
  only: string | undefined;
  system: string | undefined;
}): readonly Mutant[] {
  const ids = only?.split(",");
  const chosen = MUTANTS.filter(
    (mutant) =>
      (ids === undefined || ids.includes(mutant.id)) && (system === undefined || mutant.system === system),
  );
  const isKnown = ids?.every((id) => MUTANTS.some((mutant) => mutant.id === id)) ?? true;
  if (chosen.length === 0 || !isKnown) throw usageError("no such mutant; --list shows what there is");
  return chosen;
}

/** A test that fails anyway catches nothing. */
async function isSound(tree: Tree, mutants: readonly Mutant[]): Promise<boolean> {
  const failing: string[] = [];
  for (const name of new Set(mutants.flatMap(({ tests }) => tests))) {
    const verdict = await tree.test(name);
    if (verdict.kind !== "passed")
      failing.push(`${name}: ${verdict.kind === "failed" ? verdict.test : "no end"}`);
  }
  for (const line of failing) console.log(`fails without a fault: ${line}`);
  if (failing.length === 0) console.log("all tests pass without a fault");
  return failing.length === 0;
}

/** `by` null: nothing noticed. */
async function whatCatches(tree: Tree, { tests }: Mutant): Promise<{ by: string | null }> {
  for (const name of tests) {
    const verdict = await tree.test(name);
    if (verdict.kind === "failed") return { by: `${name}: ${verdict.test}` };
  }
  const verdict = await tree.simulate(SEEDS);
  return { by: verdict.kind === "failed" ? `the simulator, ${verdict.test}` : null };
}

function commitOf(): string {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
  return git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain") === "" ? "" : " and changes");
}
