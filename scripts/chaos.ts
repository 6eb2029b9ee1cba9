/**
 * Kills the processes of the real stack at random instants under mixed load, starts them again, and compares what was
 * answered with what is there in the end.
 *
 *   npm run chaos -- --kills 20 --seed 7
 *   npm run chaos -- --kills 50 --seed 1 --save    keeps the result in scripts/chaos/RESULTS.md
 */
import { runChaos } from "./chaos/run.ts";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";

const OPTIONS = {
  kills: { type: "integer", minimum: 0, maximum: 10_000, default: 20, help: "how often something is killed" },
  seed: { type: "integer", maximum: 999_999_999, default: 1, help: "decides what is killed and when" },
  quiet: { type: "boolean", help: "no line for each kill" },
  "keep-data": { type: "boolean", help: "leaves the data folder, also when nothing is wrong" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
} as const;

const USAGE = `npm run chaos -- [options]: SIGKILL at random instants under load, then counts what is lost or doubled`;

await runMain("chaos", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText(USAGE, OPTIONS));
    return 0;
  }
  const result = await runChaos({
    kills: options.kills,
    seed: options.seed,
    keepsData: options["keep-data"],
    say: options.quiet ? () => undefined : (line) => console.log(line),
  });
  for (const { kind, what, id, detail } of result.findings) console.log(`${kind}: ${what} ${id}: ${detail}`);
  console.log(JSON.stringify(result.kills), result.findings.length);
  if (options.json) console.log(JSON.stringify(result));
  return result.findings.length === 0 ? 0 : 1;
});
