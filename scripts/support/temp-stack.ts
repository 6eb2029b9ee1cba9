import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "./cli.mjs";
import { freePort } from "./ports.ts";
import { ROOT } from "./root.ts";

/** The real stack, as `npm start` runs it, on free ports. */
export interface TempStack {
  readonly url: string;
  readonly convexUrl: string;
  readonly operatorKey: string;
  /** Ends it as Ctrl-C does; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** All lines so far. */
  output(): string;
}

/** Starts the stack on `dataDir` and resolves when it says that it runs. Throws CliError with its lines when it ends. */
export async function startTempStack(dataDir: string, more: readonly string[] = []): Promise<TempStack> {
  const port = await freePort();
  const convexPort = await freePort();
  const ports = ["--port", String(port), "--convex-port", String(convexPort)];
  const child = spawn(
    process.execPath,
    ["--import", "tsx", "scripts/start.ts", "--data-dir", dataDir, ...ports, ...more],
    { cwd: ROOT, env: { ...process.env, CONVEX_URL: "" }, stdio: ["ignore", "pipe", "pipe"] },
  );
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
    output: () => output,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      return child.exitCode;
    },
  };
}
