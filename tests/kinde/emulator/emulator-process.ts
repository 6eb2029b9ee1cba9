import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { EMULATOR_ENV } from "./emulator-server.ts";

const REPOSITORY = join(import.meta.dirname, "..", "..", "..");
const READY_WITHIN_MS = 30_000;

/** The emulator as its own process, as `npm start` runs it. */
export interface EmulatorProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
}

type Options = Record<string, string | true>;

/** Starts `main.ts` and waits until it says that it listens. Throws with its output when it ends before. */
export async function startProcess(
  options: Options,
  env: Record<string, string> = {},
): Promise<EmulatorProcess> {
  const { child, output, ended } = launch(options, env);
  const url = await new Promise<string>((resolve, reject) => {
    const failed = () => reject(new Error(`the emulator did not start: ${output()}`));
    const timer = setTimeout(failed, READY_WITHIN_MS);
    child.stdout!.on("data", () => {
      const match = /listening on (http:\S+)/.exec(output());
      if (match === null) return;
      clearTimeout(timer);
      resolve(match[1]!);
    });
    void ended.then(failed);
  });
  return {
    url,
    port: Number(new URL(url).port),
    child,
    ended,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Runs `main.ts` until it ends by itself. */
export async function runToEnd(
  options: Options,
  env: Record<string, string> = {},
): Promise<{ code: number | null; stderr: string }> {
  const { child, output, ended } = launch(options, env);
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_WITHIN_MS);
  const code = await ended;
  clearTimeout(timer);
  return { code, stderr: output() };
}

function launch(options: Options, env: Record<string, string>) {
  const all: Options = { port: "0", ...options };
  const words = Object.entries(all).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, value],
  );
  const child: ChildProcess = spawn(
    process.execPath,
    ["--import", "tsx", "lib/kinde/emulator/main.ts", ...words],
    {
      cwd: REPOSITORY,
      env: { PATH: process.env["PATH"], NODE_ENV: "test", ...EMULATOR_ENV, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const parts: string[] = [];
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on("data", (chunk: Buffer) => parts.push(chunk.toString()));
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, output: () => parts.join(""), ended };
}
