/**
 * The emulator as a process: `node --import tsx lib/kinde/emulator/main.ts --data-file F --port P`. Its settings are
 * environment variables (config.ts). One line says when it is ready, one line why it ended.
 */
import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { fileClock } from "../../shared/clock.ts";
import { DEFAULT_CATALOGUE_FILE, readCatalogue } from "./catalogue.ts";
import { readConfig } from "./config.ts";
import { isLoopbackHost } from "./loopback.ts";
import { startEmulator } from "./server.ts";
import { Storage } from "./storage.ts";

/** Synchronous, so that the line is out before the process is gone. */
function end(message: string): never {
  writeSync(2, `kinde emulator: ${message.split("\n")[0]}\n`);
  process.exit(1);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      "data-file": { type: "string" },
      port: { type: "string", default: "3220" },
      host: { type: "string", default: "127.0.0.1" },
      catalogue: { type: "string", default: DEFAULT_CATALOGUE_FILE },
      "test-clock": { type: "string" },
      "exit-with-parent": { type: "boolean", default: false },
    },
  });
  const dataFile = values["data-file"];
  if (dataFile === undefined) throw new Error("--data-file is missing.");
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port ${values.port} is not a port.`);
  if (!isLoopbackHost(values.host))
    throw new Error(`--host ${values.host} is not loopback; the emulator is for this machine only.`);
  return { ...values, dataFile, port };
}

async function main(): Promise<void> {
  const options = readOptions();
  const config = readConfig(process.env);
  const catalogue = readCatalogue(options.catalogue);
  const clock = options["test-clock"] === undefined ? { nowMs: Date.now } : fileClock(options["test-clock"]);
  clock.nowMs();
  const storage = Storage.open(options.dataFile);
  const emulator = await startEmulator({
    config,
    catalogue,
    storage,
    host: options.host,
    port: options.port,
    wallNowMs: Date.now,
    nowMs: () => clock.nowMs(),
    report: (error) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      writeSync(2, `kinde emulator: ${text}\n`);
    },
  });
  writeSync(1, `kinde emulator listening on ${emulator.issuer}\n`);

  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    await emulator.close();
    storage.close();
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
