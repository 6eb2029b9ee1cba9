import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../support/cli.mjs";
import { freePort } from "../support/ports.ts";
import { ROOT } from "../support/root.ts";

const NEXT = join(ROOT, "node_modules/next/dist/bin/next");
const APP = join(ROOT, "scripts/bench/bare-next");
const START_TIMEOUT_MS = 60_000;

/** A Next.js app of one route that answers a constant 302, built and started as its maker says. */
export async function startBareNext(): Promise<{ port: number; stop(): Promise<void> }> {
  const env = { ...process.env, NODE_ENV: "production" as const, NEXT_TELEMETRY_DISABLED: "1" };
  execFileSync(process.execPath, [NEXT, "build", APP], {
    cwd: APP,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const port = await freePort();
  const argv = [NEXT, "start", APP, "--hostname", "127.0.0.1", "--port", String(port)];
  const child = spawn(process.execPath, argv, { cwd: APP, env, stdio: "ignore" });
  const ended = once(child, "close");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (!(await redirects(port))) {
    if (child.exitCode === null && performance.now() < deadlineMs) await sleep(100);
    else {
      await stop();
      throw new CliError("the bare Next.js app does not answer");
    }
  }
  return { port, stop };
}

async function redirects(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/code`, { redirect: "manual" });
    return answer.status === 302;
  } catch {
    return false;
  }
}
