// `npm run check`: everything CI runs, in one go. Goes on after a failure, so that one run shows all of them.
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseOptions, helpText, runMain } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where the step leaves what it saw when it fails; printed, since nobody can look into that machine afterwards. */
  readonly evidence?: { readonly folder: string; readonly name: string };
}

/** Where the test results land for whoever counts them (.ci/run). */
const TEST_REPORT = "test-reports/vitest.json";
const BROWSER_REPORT = "test-reports/e2e.json";
const SIMULATOR_REPORT = "test-reports/simulator.json";
/** Fixed seeds, and then fresh ones for the rest of the time. With a failure to shrink it stays under five minutes. */
const SIMULATOR = `--seeds 1..20 --for-seconds 150 --workers 2 --report ${SIMULATOR_REPORT}`;

/** Cheap ones first. The build comes before the tests, which start it. */
const STEPS: readonly Step[] = [
  { name: "format", command: ["npx", "oxfmt", "--check", "."] },
  { name: "lint", command: ["npm", "run", "--silent", "lint"] },
  { name: "types", command: ["npm", "run", "--silent", "types"] },
  { name: "dead code", command: ["npx", "knip"] },
  { name: "generated code", command: ["npm", "run", "--silent", "codegen", "--", "--check"] },
  { name: "push check", command: ["npm", "run", "--silent", "push-check"] },
  { name: "build", command: ["npm", "run", "--silent", "build"] },
  {
    name: "tests",
    command: [
      "npm",
      "test",
      "--",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${TEST_REPORT}`,
    ],
  },
  { name: "simulator", command: ["npm", "run", "--silent", "simulate", "--", ...SIMULATOR.split(" ")] },
  {
    name: "browser tests",
    command: ["npm", "run", "--silent", "test:e2e", "--", "--reporter=list,json"],
    env: { PLAYWRIGHT_JSON_OUTPUT_NAME: BROWSER_REPORT },
    evidence: { folder: "test-results", name: "error-context.md" },
  },
];

await runMain("check", async (argv) => {
  if (parseOptions({}, argv).help) {
    console.log(helpText(`npm run check: ${STEPS.map(({ name }) => name).join(", ")}`, {}));
    return 0;
  }
  const failed: string[] = [];
  for (const step of STEPS) {
    const startedAtMs = performance.now();
    console.log(`\n> ${step.name}`);
    const ok = await succeeds(step);
    if (!ok) {
      failed.push(step.name);
      if (step.evidence !== undefined) await printEvidence(step.evidence);
    }
    console.log(
      `< ${step.name}: ${ok ? "ok" : "FAILED"} in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`,
    );
  }
  console.log(failed.length === 0 ? "\ncheck: all passed" : `\ncheck: failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});

/** The page as it was when a browser test failed, as Playwright writes it down. */
async function printEvidence({ folder, name }: NonNullable<Step["evidence"]>): Promise<void> {
  for (const entry of await readdir(join(ROOT, folder)).catch(() => [])) {
    const text = await readFile(join(ROOT, folder, entry, name), "utf8").catch(() => null);
    if (text !== null) console.log(`\n--- ${folder}/${entry}/${name}\n${text}`);
  }
}

function succeeds({ command: [program = "", ...args], env }: Step): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", ...env },
    });
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}
