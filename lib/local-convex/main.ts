/**
 * The engine as a process: `node --import tsx lib/local-convex/main.ts --data-file F --port P --functions convex`.
 * HOLDFAST_* and KINDE_* variables are handed to the functions. One line says when it is ready, one line why it ended.
 */
import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { fileClock } from "./file-clock.ts";
import { createEngine } from "./engine.ts";
import { startServer } from "./server.ts";
import { failFunctionsOnRejection } from "./unhandled-rejections.ts";
import { startWatchdog } from "./watchdog.ts";
import { watchFunctions } from "./watch-functions.ts";

const STUCK_MS = 30_000;

// Functions run in UTC, as in real Convex.
process.env["TZ"] = "UTC";

const say = (text: string): void => {
  writeSync(1, `${text}\n`);
};

/** Synchronous, so that the line is out before the process is gone. */
function end(message: string): never {
  writeSync(2, `local-convex: ${message.split("\n")[0]}\n`);
  process.exit(1);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      "data-file": { type: "string" },
      port: { type: "string", default: "3210" },
      "site-port": { type: "string" },
      host: { type: "string", default: "127.0.0.1" },
      functions: { type: "string", default: "convex" },
      "test-clock": { type: "string" },
      "pages-max": { type: "string" },
      "exit-with-parent": { type: "boolean", default: false },
      "stuck-ms": { type: "string", default: String(STUCK_MS) },
      watch: { type: "boolean", default: false },
    },
  });
  const dataFile = values["data-file"];
  if (dataFile === undefined) throw new Error("--data-file is missing.");
  const port = readPort("port", values.port);
  const sitePort = values["site-port"] === undefined ? null : readPort("site-port", values["site-port"]);
  const stuckMs = Number(values["stuck-ms"]);
  if (!(stuckMs > 0)) throw new Error(`--stuck-ms ${values["stuck-ms"]} is not a time.`);
  return { ...values, dataFile, port, sitePort, stuckMs };
}

function readPort(name: string, text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`--${name} ${text} is not a port.`);
  return port;
}

async function main(): Promise<void> {
  const options = readOptions();
  const env = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] =>
      /^(HOLDFAST|KINDE)_/.test(entry[0]),
    ),
  );
  const url = `http://${options.host}:${options.port}`;
  // Without a port of their own, HTTP actions are below /http of this one.
  const siteUrl = options.sitePort === null ? `${url}/http` : `http://${options.host}:${options.sitePort}`;
  const engine = await createEngine({
    dataFile: options.dataFile,
    functionsDir: options.functions,
    env: { ...env, CONVEX_CLOUD_URL: url, CONVEX_SITE_URL: siteUrl },
    ...(options["test-clock"] === undefined ? {} : { clock: fileClock(options["test-clock"]) }),
    ...(options["pages-max"] === undefined ? {} : { pagesMax: Number(options["pages-max"]) }),
    onReport: (source, text) => writeSync(2, `${source}: ${text}\n`),
    // The callers of the failed batch get their answer first.
    onFatal: (error) => setTimeout(() => end(`${error.message} Stopping.`), 100),
  });
  failFunctionsOnRejection(
    (source, error) => engine.report(source, error),
    (reason) => end(reason instanceof Error ? reason.message : String(reason)),
  );
  const adminKey = process.env["LOCAL_CONVEX_ADMIN_KEY"];
  const backupKey = process.env["LOCAL_CONVEX_BACKUP_KEY"];
  const server = await startServer(engine, {
    host: options.host,
    port: options.port,
    ...(options.sitePort === null ? {} : { sitePort: options.sitePort }),
    ...(adminKey === undefined ? {} : { adminKey }),
    ...(backupKey === undefined ? {} : { backupKey }),
  });
  const stopWatchdog = startWatchdog(options.stuckMs);
  const stopWatching = options.watch ? watchFunctions(engine, options.functions, say) : () => undefined;
  if (server.sitePort !== null) {
    say(`local-convex HTTP actions on http://${options.host}:${server.sitePort}`);
  }
  say(`local-convex listening on http://${options.host}:${server.port}`);

  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    stopWatching();
    await Promise.race([server.close(), new Promise((resolve) => setTimeout(resolve, 2_000))]);
    await engine.close();
    stopWatchdog();
    process.exit(0);
  };
  process.on("SIGINT", () => void stop());
  process.on("SIGTERM", () => void stop());
  if (options["exit-with-parent"]) {
    process.stdin.resume();
    process.stdin.on("end", () => void stop());
    process.stdin.on("error", () => void stop());
  }
}

main().catch((error: unknown) => end(error instanceof Error ? error.message : String(error)));
