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
  readonly kindePort: number;
}

/** The real stack, as `npm start` runs it, on free ports. */
export interface TempStack {
  readonly url: string;
  readonly convexUrl: string;
  readonly kindeUrl: string;
  /** Where a browser goes: the host name that sign-in works on. */
  readonly siteUrl: string;
  /** Opens the control API of the Kinde emulator. */
  readonly kindeControlKey: string;
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

/** Three ports nothing listens on right now. */
export async function freePorts(): Promise<Ports> {
  return { port: await freePort(), convexPort: await freePort(), kindePort: await freePort() };
}

/** Starts the stack on `dataDir` and resolves when it says that it runs. Throws CliError with its lines when it ends. */
export async function startTempStack(
  dataDir: string,
  {
    ports,
    more = [],
    env = {},
  }: { ports?: Ports; more?: readonly string[]; env?: Record<string, string> } = {},
): Promise<TempStack> {
  const { port, convexPort, kindePort } = ports ?? (await freePorts());
  const options = { "data-dir": dataDir, port, "convex-port": convexPort, "kinde-port": kindePort };
  const argv = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/start.ts", ...argv, ...more], {
    cwd: ROOT,
    env: { ...process.env, CONVEX_URL: "", KINDE_ISSUER_URL: "", ...env },
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
    kindeUrl: `http://127.0.0.1:${kindePort}`,
    siteUrl: `http://localhost:${port}`,
    kindeControlKey: readFileSync(join(dataDir, "kinde-control-key"), "utf8").trim(),
    operatorKey: readFileSync(join(dataDir, "operator-key"), "utf8").trim(),
    ports: { port, convexPort, kindePort },
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
