import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startFakeGate, type FakeGate } from "./fake-gate.ts";
import { runScript } from "./run-script.ts";

let gate: FakeGate;
beforeEach(async () => {
  gate = await startFakeGate();
  await post("/accounts", "hf_op_test", { name: "worker", limitUnits: 100_000 });
});
afterEach(() => gate.close());

async function post(path: string, token: string, body: object): Promise<unknown> {
  const response = await fetch(`${gate.url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return response.json();
}

const argv = (...more: string[]) => ["scripts/worker.mjs", "--key", "k", "--url", gate.url, ...more];
const env = { HOLDFAST_API_KEY: "account0" };
const worker = (...more: string[]) => runScript(argv("--step-ms", "1", ...more), env);

/** Starts a worker that stays inside its first step, and waits until that step is charged. */
async function workerInFirstStep() {
  const child = spawn(process.execPath, argv("--step-ms", "60000"), {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  await new Promise<void>((resolve) => {
    child.stdout.on("data", (chunk) => {
      stdout += String(chunk);
      if (stdout.includes("step 1")) resolve();
    });
  });
  return { child, output: () => stdout };
}

describe("a worker", () => {
  test("runs its steps one line each and settles", async () => {
    const run = await worker("--steps", "3");
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(run.stdout.split("\n")).toEqual([
      "job job0: holds 10000 units",
      "step 1: charged 1000, used 1000 of 10000",
      "step 2: charged 1000, used 2000 of 10000",
      "step 3: charged 1000, used 3000 of 10000",
      "job job0: completed, used 3000, returned 7000",
      "",
    ]);
  });

  test("stops when a step is capped, with an exit code of its own", async () => {
    const run = await worker("--units", "1500", "--steps", "9");
    expect(run.status).toBe(3);
    expect(run.stdout).toContain("step 2: charged 500, used 1500 of 1500\njob job0: capped");
    expect(run.stdout).not.toContain("step 3");
  });

  test("says why it was refused, and what to do next", async () => {
    const run = await worker("--units", "100001");
    expect(run).toMatchObject({
      status: 1,
      stderr: "worker: POST /api/v1/jobs answered 402: They do not fit. Ask for less.\n",
    });
  });

  test("settles as cancelled on Ctrl-C", async () => {
    const { child, output } = await workerInFirstStep();
    child.kill("SIGINT");
    const [status] = await once(child, "close");
    expect(status).toBe(130);
    expect(output()).toContain("job job0: cancelled, used 1000, returned 9000");
  });

  test("killed inside a step is resumed at the next one by a worker that takes over", async () => {
    const { child } = await workerInFirstStep();
    child.kill("SIGKILL");
    await once(child, "close");

    const second = await worker();
    expect(second).toMatchObject({
      status: 1,
      stderr: "worker: job job0 already runs under the key k; resume it with --take-over\n",
    });

    const third = await worker("--take-over", "--steps", "3");
    expect(third.status).toBe(0);
    expect(third.stdout.split("\n").slice(0, 2)).toEqual([
      "job job0: taken over after step 1",
      "step 2: charged 1000, used 2000 of 10000",
    ]);
    expect(third.stdout).toContain("job job0: completed, used 3000");
  });

  test("stops when another has taken the job over", async () => {
    gate.fault = (_method, path) => {
      if (path === "/jobs/job0/charge") void post("/jobs/job0/heartbeat", "account0", { takeOver: true });
      return null;
    };
    const run = await worker("--steps", "50", "--step-ms", "50");
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("answered 409: Another worker has taken the job over.");
    expect(gate.seen).not.toContain("POST /jobs/job0/settle");
  });

  test("needs a key and an API key, and says so in one line", async () => {
    expect(await runScript(["scripts/worker.mjs"], env)).toMatchObject({
      status: 2,
      stderr: "worker: --key is needed\n",
    });
    expect(await runScript(["scripts/worker.mjs", "--key", "k"], { HOLDFAST_API_KEY: "" })).toMatchObject({
      status: 2,
      stderr: "worker: an API key is needed: --api-key or HOLDFAST_API_KEY\n",
    });
  });
});
