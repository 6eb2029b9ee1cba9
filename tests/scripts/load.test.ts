import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../scripts/support/ports.ts";
import { startFakeGate, type FakeGate } from "./fake-gate.ts";
import { lastLine, runScript } from "./run-script.ts";

let gate: FakeGate;
beforeEach(async () => {
  gate = await startFakeGate();
});
afterEach(() => gate.close());

const load = (...argv: string[]) =>
  runScript(["scripts/load.mjs", "--url", gate.url, "--operator-key", "hf_op_test", ...argv]);

describe("a load run", () => {
  test("S3: 120 jobs of 1,000 with room for 100 end as 100 started, 20 refused, 100,000 spent", async () => {
    const run = await load("--json");
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({
      started: 100,
      refused: 20,
      failed: 0,
      spent: 100_000,
      held: 0,
      limit: 100_000,
      seconds: expect.any(Number),
      requestsPerSecond: expect.any(Number),
      p50Ms: expect.any(Number),
      p95Ms: expect.any(Number),
      p99Ms: expect.any(Number),
    });
    expect(run.stdout).toMatch(/started +100\n/);
    expect(run.stdout).not.toContain("\r");
  });

  test("opens its connections by reading before the first job", async () => {
    await load("--jobs", "3");
    expect(gate.seen.slice(0, 7)).toEqual([
      "POST /accounts",
      "POST /accounts/account0/keys",
      ...Array.from({ length: 4 }, () => "GET /usage"),
      "POST /jobs",
    ]);
  });

  test("raises the rate of its account when it needs to, and says so", async () => {
    const run = await load("--jobs", "300", "--limit", "1000000");
    expect(run.status).toBe(0);
    expect(run.stdout).toContain("the fresh account may start 300 jobs a minute instead of 120");
    expect(run.stdout).toMatch(/started +300\n/);
  });

  test("counts a rate refusal as refused, on the existing account it was given", async () => {
    await load("--jobs", "1");
    const run = await load("--api-key", "account0", "--jobs", "130", "--limit", "5", "--json");
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({
      started: 99,
      refused: 31,
      spent: 99_000,
      limit: 100_000,
    });
    expect(run.stdout).toContain("--limit does not");
  });

  test("fails when a request fails, and shows which", async () => {
    gate.fault = (_method, path) => (path === "/jobs/job3/settle" ? 500 : null);
    const run = await load("--jobs", "10", "--concurrency", "2");
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("POST /api/v1/jobs/job3/settle answered 500: made by the test");
    expect(run.stderr).toContain("load: 1 jobs failed");
  });

  test("fails when something stays held", async () => {
    gate.fault = (_method, path) => (path === "/jobs/job3/charge" ? 500 : null);
    const run = await load("--jobs", "10");
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("load: 1000 units are still held");
  });

  test("fails when more is spent than the limit allows", async () => {
    gate.chargesTwice = true;
    const run = await load("--jobs", "10", "--charges", "4", "--limit", "10000", "--json");
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("over the limit");
  });

  test("repeats what got no answer for as long as it is told to, and counts it once", async () => {
    let faults = 0;
    gate.fault = (_method, path) =>
      path !== "/usage" && faults++ % 5 === 4 ? (faults % 2 ? 503 : "lost_reply") : null;
    const run = await load("--jobs", "20", "--retry-seconds", "30", "--json");
    expect(run.stderr).toBe("");
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({
      started: 20,
      failed: 0,
      spent: 20_000,
      held: 0,
    });
    expect(run.status).toBe(0);
  });

  test("says in one line that the server is down", async () => {
    const run = await runScript([
      "scripts/load.mjs",
      "--url",
      `http://localhost:${await freePort()}`,
      "--operator-key",
      "hf_op_test",
    ]);
    expect(run.status).toBe(1);
    expect(run.stderr).toBe(
      "load: the server does not answer (ECONNREFUSED); is it running? Start it with: npm start\n",
    );
  });

  test("says in one line that it needs a key", async () => {
    const run = await runScript(["scripts/load.mjs", "--url", gate.url, "--data-dir", "/nowhere"]);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/^load: no operator key in \/nowhere\/operator-key \(ENOENT\)[^\n]*\n$/);
  });

  test.each([["--jobs", "0"], ["--jobs", "1.5"], ["--concurrency", "5000"], ["--url", "nope"], ["--bogus"]])(
    "refuses %s %s with one line and exit code 2",
    async (...argv) => {
      const run = await load(...argv.filter((word) => typeof word === "string"));
      expect(run.status).toBe(2);
      expect(run.stderr).toMatch(/^load: [^\n]+\n$/);
    },
  );
});
