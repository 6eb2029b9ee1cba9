// `npm run soak -- --minutes 15 --scale 7200`: the real stack for weeks of its own time, under mixed load. Measures what
// grows, and compares the books at the end. Exit 1: something grew that should not, or the books are wrong.
import { join } from "node:path";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";
import { withTempFolder } from "./support/temp-engine.ts";
import { startTempStack } from "./support/temp-stack.ts";
import { growthTable, headline, overdueLines, saveSoak, type SoakResult } from "./soak/report.ts";
import { Soak } from "./soak/run.ts";
import { requireProc } from "./soak/watch.ts";

const OPTIONS = {
  minutes: { type: "integer", minimum: 1, maximum: 24 * 60, default: 15, help: "real minutes" },
  scale: {
    type: "integer",
    minimum: 60,
    maximum: 21_600,
    default: 7_200,
    help: "seconds of the stack's time for each real second, in one jump between two rounds of work",
  },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "rewrite scripts/soak/RESULTS.md" },
} as const;

/** Several times what each process of the stack needs. A leak ends one. */
const HEAP_MB_MAX = 160;

await runMain("soak", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run soak -- [options]: the real stack for weeks of its own time", OPTIONS));
    return 0;
  }
  requireProc();
  return await withTempFolder(async (folder) => {
    const dataDir = join(folder, "data");
    console.log("starts the stack");
    // Node collects when it has to: without a limit a busy machine lets garbage lie, and it looks like a leak.
    const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB_MAX}` };
    const stack = await startTempStack(dataDir, { more: ["--test-clock"], env });
    let result: SoakResult;
    try {
      result = await new Soak(stack, dataDir, options).run();
    } finally {
      await stack.stop();
    }
    console.log(growthTable(result.growth));
    console.log([...overdueLines(result.overdueHours), ...headline(result)].join("\n"));
    for (const review of result.reviews) console.log(`told to a person: ${review}`);
    for (const fault of [...result.answered.faults, ...result.faults]) console.error(`soak: ${fault}`);
    if (options.save) saveSoak(result);
    if (options.json) console.log(JSON.stringify(result));
    return result.faults.length === 0 ? 0 : 1;
  });
});
