/**
 * Kills the processes of the real stack at random instants under mixed load, starts them again, and compares what was
 * answered with what is there in the end.
 *
 *   npm run chaos -- --kills 20 --seed 7
 *   npm run chaos -- --kills 50 --seed 1 --save    keeps the result in scripts/chaos/RESULTS.md
 */
import { tableOf } from "./chaos/report.ts";
import { saveRun } from "./chaos/results.ts";
import { runChaos } from "./chaos/run.ts";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";
import { commitName } from "./support/commit.ts";

const OPTIONS = {
  kills: { type: "integer", minimum: 0, maximum: 10_000, default: 20, help: "how often something is killed" },
  seed: { type: "integer", maximum: 999_999_999, default: 1, help: "decides what is killed and when" },
  quiet: { type: "boolean", help: "no line for each kill" },
  "keep-data": { type: "boolean", help: "leaves the data folder, also when nothing is wrong" },
  save: { type: "boolean", help: "add to scripts/chaos/results.json and rewrite RESULTS.md" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
} as const;

const USAGE = `npm run chaos -- [options]: kills the processes of the real stack at random instants under mixed load, starts
them again, and counts what was answered and is lost, or is there twice. Exit code 1 when anything is.`;

/** Findings that are printed; one fault may make hundreds. */
const SHOWN_MAX = 50;

await runMain("chaos", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText(USAGE, OPTIONS));
    return 0;
  }
  const commit = commitName();
  const result = await runChaos({
    kills: options.kills,
    seed: options.seed,
    keepsData: options["keep-data"],
    say: options.quiet ? () => undefined : (line) => console.log(line),
  });
  console.log(tableOf(result));
  for (const { kind, what, id, detail } of result.findings.slice(0, SHOWN_MAX)) {
    console.error(`${kind}: ${what} ${id}: ${detail}`);
  }
  const unshown = result.findings.length - SHOWN_MAX;
  if (unshown > 0) console.error(`and ${unshown} more; --json has all`);
  if (options.save) saveRun(result, commit);
  if (options.json) console.log(JSON.stringify(result));
  return result.findings.length === 0 ? 0 : 1;
});
