import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";

const REPOSITORY = join(import.meta.dirname, "..", "..");
const READY_WITHIN_MS = 30_000;

/** The engine as its own process, as `npm start` runs it. */
export interface EngineProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything written to stdout or stderr so far. */
  output(): string;
  /** Resolves with the exit code (null after a signal) once the process has gone. */
  readonly ended: Promise<number | null>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
}

export interface EndedProcess {
  code: number | null;
  stderr: string;
}

/** Starts `main.ts` and waits until it says that it listens. @throws Error with its output when it ends before */
export async function startEngineProcess(
  args: Record<string, string | true>,
  env: Record<string, string> = {},
): Promise<EngineProcess> {
  const { child, stdout, stderr, ended } = launch(args, env);
  const output = () => stdout.join("") + stderr.join("");
  const url = await new Promise<string>((resolve, reject) => {
    const failed = () => reject(new Error(`the engine did not start: ${output()}`));
    const timer = setTimeout(failed, READY_WITHIN_MS);
    child.stdout!.on("data", () => {
      const match = /listening on (http:\S+)/.exec(stdout.join(""));
      if (match === null) return;
      clearTimeout(timer);
      resolve(match[1]!);
    });
    void ended.then(failed);
  });
  return {
    url,
    child,
    output,
    ended,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Runs `main.ts` until it ends by itself. */
export async function runEngineProcess(
  args: Record<string, string | true>,
  env: Record<string, string> = {},
): Promise<EndedProcess> {
  const { child, stderr, ended } = launch(args, env);
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_WITHIN_MS);
  const code = await ended;
  clearTimeout(timer);
  return { code, stderr: stderr.join("") };
}

function launch(args: Record<string, string | true>, env: Record<string, string>) {
  const options: Record<string, string | true> = { port: "0", ...args };
  const words = Object.entries(options).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, value],
  );
  const child: ChildProcess = spawn(
    process.execPath,
    ["--import", "tsx", "lib/local-convex/main.ts", ...words],
    {
      cwd: REPOSITORY,
      env: { PATH: process.env["PATH"], NODE_ENV: "test", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const stdout: string[] = [];
  const stderr: string[] = [];
  child.stdout!.on("data", (chunk: Buffer) => stdout.push(chunk.toString()));
  child.stderr!.on("data", (chunk: Buffer) => stderr.push(chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, stdout, stderr, ended };
}
