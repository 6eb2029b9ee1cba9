// The processes of the stack: started, watched and ended together. Knows nothing about what they are.
import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { copyLines, prefixOf } from "./log-prefix.ts";

export interface ChildSpec {
  readonly name: string;
  /** Arguments for this very Node. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface ChildExit {
  readonly name: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** "exit code 1" or "signal SIGKILL". */
export function describeExit({ code, signal }: Pick<ChildExit, "code" | "signal">): string {
  return signal ? `signal ${signal}` : `exit code ${code}`;
}

/** How long a child may take to end itself before it is killed. */
const STOP_GRACE_MS = 5000;

interface Running {
  readonly name: string;
  readonly process: ChildProcess;
  readonly exit: Promise<ChildExit>;
}

export class Children {
  readonly #folder: string;
  readonly #running = new Set<Running>();
  #started = 0;
  #stopped: Promise<void> | null = null;

  /** `folder`: where the children work. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Starts a child in a process group of its own, so that Ctrl-C reaches the supervisor alone, which then
   * decides the order. The child's stdin is a pipe that nobody writes to: it closes when the supervisor is gone,
   * however it went, and the child ends on that.
   * Returns how the child ended, once it has.
   */
  start(spec: ChildSpec): Promise<ChildExit> {
    const child = spawn(process.execPath, spec.args, {
      cwd: this.#folder,
      env: { ...process.env, ...spec.env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    // A write end that breaks when the child dies is no news: its exit is.
    child.stdin.on("error", () => undefined);
    const position = this.#started++;
    copyLines(child.stdout, process.stdout, prefixOf(spec.name, position, process.stdout.isTTY));
    copyLines(child.stderr, process.stderr, prefixOf(spec.name, position, process.stderr.isTTY));
    const exit = new Promise<ChildExit>((resolve) => {
      child.once("error", () => resolve({ name: spec.name, code: -1, signal: null }));
      // "close" comes after the last line of output, "exit" may come before it.
      child.once("close", (code, signal) => resolve({ name: spec.name, code, signal }));
    });
    const running: Running = { name: spec.name, process: child, exit };
    this.#running.add(running);
    void exit.then(() => this.#running.delete(running));
    return exit;
  }

  /** True from the first call of `stopAll` on: an exit seen then is no fault. */
  get stopping(): boolean {
    return this.#stopped !== null;
  }

  /**
   * Ends every child: SIGTERM, five seconds, SIGKILL. One after the other, the last started first: what was started
   * later uses what was started before, and may have something to hand over. Returns when all are gone.
   */
  stopAll(): Promise<void> {
    this.#stopped ??= this.#endAll();
    return this.#stopped;
  }

  async #endAll(): Promise<void> {
    for (const child of [...this.#running].toReversed()) await endOne(child);
  }
}

async function endOne({ process, exit }: Running): Promise<void> {
  signalGroup(process, "SIGTERM");
  const timer = new AbortController();
  const late = await Promise.race([exit.then(() => false), sleepUnless(STOP_GRACE_MS, timer.signal)]);
  timer.abort();
  if (late) signalGroup(process, "SIGKILL");
  await exit;
}

async function sleepUnless(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

/** The whole group, so that helpers of a child end with it. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}
