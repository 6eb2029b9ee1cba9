// `npm run clock -- --advance 10m --rate 60`: moves the time of a stack that was started with --test-clock.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { moveClock, parseClockState, RATE_MAX, virtualNowMs } from "../lib/shared/clock.ts";
import { lockOwner } from "../lib/shared/file-lock.ts";
import { CliError, helpText, parseOptions, runMain } from "./support/cli.mjs";
import { clockFile, replaceClock } from "./support/test-clock.ts";

const OPTIONS = {
  advance: { type: "duration", help: "jump ahead by this much (a test clock never goes back)" },
  rate: {
    type: "number",
    minimum: 0,
    maximum: RATE_MAX,
    help: "virtual seconds a real second from now on; 1 is normal, 0 stands still",
  },
  "data-dir": { type: "string", default: ".holdfast", help: "the data directory of the running stack" },
} as const;

await runMain("clock", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(
      helpText("npm run clock -- [options]: moves the test clock; without options it shows it", OPTIONS),
    );
    return 0;
  }
  const dataDir = resolve(options["data-dir"]);
  if (lockOwner(join(dataDir, "supervisor.lock"))?.note["testClock"] !== true) {
    throw new CliError(`no stack started with --test-clock runs on ${dataDir}`);
  }
  const path = clockFile(dataDir);
  const before = parseClockState(readFileSync(path, "utf8"));
  const realMs = Date.now();
  const after = moveClock(before, realMs, { advanceMs: options.advance, rate: options.rate });
  if (options.advance !== undefined || options.rate !== undefined) replaceClock(path, after);
  console.log(`${new Date(virtualNowMs(after, realMs)).toISOString()} at rate ${after.rate}`);
  return 0;
});
