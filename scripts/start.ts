// `npm start` and `npm run dev`: builds when needed, then runs local-convex and Next.js until Ctrl-C.
// Safe to run again: data and secrets under --data-dir are found, never overwritten.
import { resolve } from "node:path";
import { helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";
import { watchNpmParent } from "./support/npm-parent.ts";
import { ROOT } from "./support/root.ts";
import { supervise, type SupervisorOptions } from "./support/supervisor.ts";

const OPTIONS = {
  port: { type: "integer", minimum: 1, maximum: 65_535, default: 3000, help: "port of the app" },
  "convex-port": {
    type: "integer",
    minimum: 1,
    maximum: 65_535,
    default: 3210,
    help: "port of local-convex",
  },
  "kinde-port": {
    type: "integer",
    minimum: 1,
    maximum: 65_535,
    default: 3220,
    help: "port of the Kinde emulator",
  },
  host: { type: "string", default: "127.0.0.1", help: "address the app binds" },
  "data-dir": { type: "string", default: ".holdfast", help: "where data and secrets live" },
  "test-clock": { type: "boolean", help: "time that `npm run clock` moves; for tests, not for real data" },
  "spool-fsync": {
    type: "boolean",
    help: "redirects wait for the disk, so that a loss of power loses no answered click either",
  },
  dev: { type: "boolean", help: "next dev with reload instead of the production build" },
} as const;

const USAGE = `npm start -- [options]: runs Holdfast on this machine.
With CONVEX_URL in the environment that deployment is used and no local-convex is started.
With KINDE_ISSUER_URL in the environment that tenant is used and no Kinde emulator is started.`;

async function main(argv: string[]): Promise<number> {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText(USAGE, OPTIONS));
    return 0;
  }
  const stop = new AbortController();
  // A second Ctrl-C does not wait: the children notice our end and follow.
  const onSignal = () => (stop.signal.aborted ? process.exit(130) : stop.abort());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  const script = process.env.npm_lifecycle_event;
  const endWatch = watchNpmParent({ script, parentPid: () => process.ppid }, () => stop.abort());
  return supervise(supervisorOptions(options), stop).finally(endWatch);
}

function supervisorOptions(options: ReturnType<typeof parseOptions<typeof OPTIONS>>): SupervisorOptions {
  const convexUrl = convexUrlFrom(process.env.CONVEX_URL);
  checkPortsDiffer({
    "--port": options.port,
    ...(convexUrl === null ? { "--convex-port": options["convex-port"] } : {}),
    "--kinde-port": options["kinde-port"],
  });
  if (convexUrl !== null && options["test-clock"]) {
    throw usageError(
      "--test-clock moves the time of local-convex, which is not started when CONVEX_URL is set",
    );
  }
  return {
    root: ROOT,
    dataDir: resolve(options["data-dir"]),
    host: options.host,
    port: options.port,
    convexPort: options["convex-port"],
    kindePort: options["kinde-port"],
    testClock: options["test-clock"],
    spoolFsync: options["spool-fsync"],
    dev: options.dev,
    convexUrl,
  };
}

function checkPortsDiffer(ports: Readonly<Record<string, number>>): void {
  const given = Object.entries(ports);
  for (const [index, [option, port]] of given.entries()) {
    const other = given.slice(index + 1).find(([, otherPort]) => otherPort === port);
    if (other !== undefined) {
      throw usageError(`${option} and ${other[0]} are both ${port}; give them different ports`);
    }
  }
}

function convexUrlFrom(text: string | undefined): string | null {
  if (text === undefined || text === "") return null;
  if (!URL.canParse(text)) throw usageError(`CONVEX_URL is not a URL: "${text}"`);
  return text.replace(/\/+$/, "");
}

await runMain("holdfast", main);
