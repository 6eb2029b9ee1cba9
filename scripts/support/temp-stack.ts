import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "./cli.mjs";
import { freePort } from "./ports.ts";
import { ROOT } from "./root.ts";

export interface Ports {
  readonly port: number;
  readonly convexPort: number;
}

/** The real stack, as `npm start` runs it, on free ports. */
export interface TempStack {
  readonly url: string;
  readonly convexUrl: string;
  readonly operatorKey: string;
  readonly ports: Ports;
  /** Process id of the supervisor. */
  readonly pid: number;
  /** Ends it as Ctrl-C does; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Resolves to the exit code once it has ended; null when it was killed. */
  readonly ended: Promise<number | null>;
  /** All lines so far. */
  output(): string;
}

/** Two ports nothing listens on right now. */
export async function freePorts(): Promise<Ports> {
  return { port: await freePort(), convexPort: await freePort() };
}

/** Starts the stack on `dataDir` and resolves when it says that it runs. Throws CliError with its lines when it ends. */
export async function startTempStack(
  dataDir: string,
  { ports, more = [] }: { ports?: Ports; more?: readonly string[] } = {},
): Promise<TempStack> {
  const { port, convexPort } = ports ?? (await freePorts());
  const argv = ["--data-dir", dataDir, "--port", String(port), "--convex-port", String(convexPort), ...more];
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/start.ts", ...argv], {
    cwd: ROOT,
    env: { ...process.env, CONVEX_URL: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const ended = once(child, "close");
  const running = new Promise<void>((resolve) => {
    const onData = (chunk: Buffer) => {
      output += chunk.toString("utf8");
      if (output.includes("Holdfast runs.")) resolve();
    };
    child.stdout.on("data", onData);
    child.stderr.on("data", onData);
  });
  await Promise.race([running, ended]);
  if (child.exitCode !== null) throw new CliError(`the stack did not start:\n${output}`);
  return {
    url: `http://127.0.0.1:${port}`,
    convexUrl: `http://127.0.0.1:${convexPort}`,
    operatorKey: readFileSync(join(dataDir, "operator-key"), "utf8").trim(),
    ports: { port, convexPort },
    pid: child.pid ?? 0,
    ended: ended.then(() => child.exitCode),
    output: () => output,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      return child.exitCode;
    },
  };
}
