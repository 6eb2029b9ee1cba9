import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApiClient, mustCall } from "../../scripts/support/api-client.mjs";
import { probePort } from "../../scripts/support/ports.ts";
import { freePorts, startTempStack, type TempStack } from "../../scripts/support/temp-stack.ts";
import { lastLine, runScript } from "./run-script.ts";

/** The real processes on free ports: supervisor, local-convex on a real file, Next.js. The first start may build. */
const TIMEOUT_MS = 5 * 60_000;

let dataDir = "";
const stacks: TempStack[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "holdfast-stack-"));
});
afterEach(async () => {
  await Promise.all(stacks.splice(0).map((stack) => stack.stop()));
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(
  ...args: Parameters<typeof startTempStack> extends [string, ...infer Rest] ? Rest : never
) {
  const stack = await startTempStack(dataDir, ...args);
  stacks.push(stack);
  return stack;
}

/** The process of a part of the stack. */
function partPid(stack: TempStack, part: string): number {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  const line = stdout.split("\n").find((row) => {
    const [, parent] = row.trim().split(/\s+/);
    return Number(parent) === stack.pid && row.includes(part);
  });
  if (line === undefined) throw new Error(`${part} does not run`);
  return Number(line.trim().split(/\s+/)[0]);
}

async function openAccount(stack: TempStack, limitUnits: number): Promise<string> {
  const client = createApiClient({ url: stack.url, connections: 1, timeoutMs: 10_000 });
  const post = (path: string, body: object) =>
    mustCall(client, { method: "POST", path, token: stack.operatorKey, body });
  const { account } = await post("/accounts", { name: "stack test", limitUnits, jobsPerMinute: 10_000 });
  const { secret } = await post(`/accounts/${account.id}/keys`, {});
  client.close();
  return secret;
}

interface Usage {
  readonly usedUnits: number;
  readonly heldUnits: number;
  readonly running: readonly { readonly step: number }[];
}

async function usage(stack: TempStack, token: string): Promise<Usage> {
  const client = createApiClient({ url: stack.url, connections: 1, timeoutMs: 10_000 });
  const body = await mustCall(client, { method: "GET", path: "/usage", token });
  client.close();
  return body;
}

/** Asks until it is so; the test's own time limit is the only clock. */
async function until(ask: () => Promise<boolean>): Promise<void> {
  while (!(await ask())) await sleep(50);
}

describe("the stack", () => {
  test(
    "S3: the load run ends as 100 started, 20 refused, 0 failed, 100,000 spent, 0 held",
    { timeout: TIMEOUT_MS },
    async () => {
      const stack = await start();
      const run = await runScript(["scripts/load.mjs", "--url", stack.url, "--data-dir", dataDir, "--json"]);
      expect(run.stderr).toBe("");
      expect(JSON.parse(lastLine(run.stdout))).toMatchObject({
        started: 100,
        refused: 20,
        failed: 0,
        spent: 100_000,
        held: 0,
        limit: 100_000,
      });
      expect(run.status).toBe(0);
      // What a person sees names the file of the operator key and never the key.
      expect(stack.output()).toContain(join(dataDir, "operator-key"));
      expect(stack.output()).not.toContain(stack.operatorKey);
      expect(await stack.stop()).toBe(0);
      expect(await probePort("127.0.0.1", stack.ports.port)).toBe("free");
    },
  );

  test("finds its data and secrets again, and refuses a second start", { timeout: TIMEOUT_MS }, async () => {
    const first = await start();
    const token = await openAccount(first, 500);
    const secret = readFileSync(join(dataDir, "server-secret"), "utf8");
    await expect(startTempStack(dataDir)).rejects.toThrow(
      `already running on ${dataDir} (process ${first.pid})`,
    );
    await first.stop();

    const second = await start();
    expect(second.operatorKey).toBe(first.operatorKey);
    expect(readFileSync(join(dataDir, "server-secret"), "utf8")).toBe(secret);
    expect(await usage(second, token)).toMatchObject({ usedUnits: 0, heldUnits: 0 });
  });

  test(
    "SIGKILL of the engine in a load run: all stop; after a restart the run ends with nothing lost or spent twice",
    { timeout: TIMEOUT_MS },
    async () => {
      const ports = await freePorts();
      const first = await start({ ports });
      const token = await openAccount(first, 300_000);
      const argv = [
        "--api-key",
        token,
        "--data-dir",
        dataDir,
        "--jobs",
        "400",
        "--retry-seconds",
        "120",
        "--json",
      ];
      const load = runScript(["scripts/load.mjs", "--url", first.url, ...argv]);
      await until(async () => (await usage(first, token)).usedUnits > 50_000);
      process.kill(partPid(first, "local-convex"), "SIGKILL");
      expect(await first.ended).toBe(1);
      expect(first.output()).toContain(
        "holdfast: local-convex ended by itself (signal SIGKILL); stopped the rest",
      );

      const second = await start({ ports });
      const run = await load;
      expect(run.stderr).toBe("");
      expect(JSON.parse(lastLine(run.stdout))).toMatchObject({
        failed: 0,
        held: 0,
        limit: 300_000,
        spent: 300_000,
      });
      expect(run.status).toBe(0);
      expect(await usage(second, token)).toMatchObject({ usedUnits: 300_000, heldUnits: 0 });
    },
  );

  test("leaves no port taken when the supervisor itself is killed", { timeout: TIMEOUT_MS }, async () => {
    const ports = await freePorts();
    const first = await start({ ports });
    process.kill(first.pid, "SIGKILL");
    expect(await first.ended).toBeNull();
    const second = await start({ ports });
    expect(second.output()).toContain("Holdfast runs.");
  });

  test("started by npm stops when npm is told to", { timeout: TIMEOUT_MS }, async () => {
    const ports = await freePorts();
    const names = { "data-dir": dataDir, port: ports.port, "convex-port": ports.convexPort };
    const options = Object.entries({ ...names, "kinde-port": ports.kindePort });
    const argv = options.flatMap(([name, value]) => [`--${name}`, String(value)]);
    const npm = spawn("npm", ["start", "--", ...argv], {
      env: { ...process.env, CONVEX_URL: "", KINDE_ISSUER_URL: "" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    // Ends when the last process that writes to it has ended: the stack, not npm.
    let output = "";
    for await (const chunk of npm.stdout) {
      output += String(chunk);
      if (output.includes("Holdfast runs.")) npm.kill("SIGTERM");
    }
    expect(lastLine(output)).toBe("stopped");
    for (const port of Object.values(ports)) expect(await probePort("127.0.0.1", port)).toBe("free");
  });

  test(
    "a worker killed with SIGKILL is taken over by another, which pays for the steps once",
    { timeout: TIMEOUT_MS },
    async () => {
      const stack = await start();
      const token = await openAccount(stack, 10_000);
      const argv = ["scripts/worker.mjs", "--key", "k", "--url", stack.url, "--api-key", token];
      const worker = spawn(process.execPath, [...argv, "--step-ms", "600000"], { stdio: "ignore" });
      const ended = once(worker, "close");
      await until(async () => (await usage(stack, token)).running[0]?.step === 1);
      worker.kill("SIGKILL");
      await ended;
      const second = await runScript([...argv, "--take-over", "--steps", "3", "--step-ms", "1"]);
      expect(second).toMatchObject({ status: 0, stderr: "" });
      expect(second.stdout).toContain("taken over after step 1");
      expect(await usage(stack, token)).toMatchObject({ usedUnits: 3000, heldUnits: 0 });
    },
  );

  test(
    "a worker killed with SIGKILL is swept once its lease has ended, and its hold returns",
    { timeout: TIMEOUT_MS },
    async () => {
      const stack = await start({ more: ["--test-clock"] });
      const token = await openAccount(stack, 10_000);
      const argv = ["--key", "k", "--url", stack.url, "--api-key", token, "--step-ms", "600000"];
      const worker = spawn(process.execPath, ["scripts/worker.mjs", ...argv], { stdio: "ignore" });
      const ended = once(worker, "close");
      await until(async () => (await usage(stack, token)).running[0]?.step === 1);
      worker.kill("SIGKILL");
      await ended;
      const clock = ["--import", "tsx", "scripts/clock.ts", "--data-dir", dataDir, "--advance", "1m"];
      expect((await runScript(clock)).status).toBe(0);
      await until(async () => (await usage(stack, token)).heldUnits === 0);
      expect(await usage(stack, token)).toMatchObject({ usedUnits: 1000, heldUnits: 0 });
    },
  );
});
