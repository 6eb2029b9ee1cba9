// `npm run figures`: runs what the landing page quotes and writes app/(site)/figures.json. A test runs the two labs
// again and compares, so the page cannot say what the product does not do.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, helpText, parseOptions, runMain } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";

const USAGE = `npm run figures: runs both labs and takes the newest saved run of the reconcile bench.
Writes what the landing page quotes over app/(site)/figures.json.`;

const FILE = join(ROOT, "app/(site)/figures.json");

interface BenchRun {
  readonly bench: string;
  readonly date: string;
  readonly figures: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The JSON that a script prints as its last line. */
function lastLine(script: string): unknown {
  const output = execFileSync(process.execPath, ["--import", "tsx", join(ROOT, script), "--json"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return JSON.parse(output.trim().split("\n").at(-1)!);
}

async function main(argv: string[]): Promise<number> {
  if (parseOptions({}, argv).help) {
    console.log(helpText(USAGE, {}));
    return 0;
  }
  const runs = JSON.parse(readFileSync(join(ROOT, "scripts/bench/results.json"), "utf8")) as BenchRun[];
  const reconcile = runs.findLast(({ bench }) => bench === "reconcile");
  if (reconcile === undefined)
    throw new CliError("no saved run of the reconcile bench: npm run bench:reconcile -- --save");

  const figures = {
    lab: lastLine("scripts/lab.ts"),
    engineRoom: lastLine("scripts/engine-room.ts"),
    reconcile: {
      date: reconcile.date,
      rows: 1_000_000,
      seconds: Math.round(reconcile.figures["1,000,000 rows"]!["seconds"]!),
    },
  };
  writeFileSync(FILE, `${JSON.stringify(figures, null, 2)}\n`);
  console.log(`written: ${FILE}`);
  return 0;
}

await runMain("figures", main);
