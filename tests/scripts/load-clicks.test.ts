import { isbot } from "isbot";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeClicks, OPERATOR, startFakeClicks } from "./fake-clicks.ts";
import { lastLine, runScript } from "./run-script.ts";

let fake: FakeClicks;
beforeEach(async () => {
  fake = await startFakeClicks();
});
afterEach(() => fake.close());

const load = (code: string, ...argv: string[]) => {
  const to = ["--url", fake.url, "--operator-key", OPERATOR, "--drain-timeout", "1s", "--json"];
  return runScript(["scripts/load.mjs", code, ...to, ...argv]);
};

describe("a load run of clicks", () => {
  test("S7: 5,000 clicks, 100 at a time, are 5,000 in the ledger, sent and in the meter, and match", async () => {
    const run = await load("new", "--clicks", "5000", "--concurrency", "100");
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(lastLine(run.stdout))).toEqual({
      sent: 5000,
      redirected: 5000,
      recorded: 5000,
      billable: 5000,
      lost: 0,
      seconds: expect.any(Number),
      clicksPerSecond: expect.any(Number),
      p50Ms: expect.any(Number),
      p95Ms: expect.any(Number),
      p99Ms: expect.any(Number),
      ledger: 5000,
      reported: 5000,
      meter: 5000,
      verdict: "match",
    });
    expect(run.stdout).toMatch(/recorded +5000\n/);
    for (const agent of fake.agents) expect(isbot(agent)).toBe(false);
  });

  test("makes an account, a key and a link, opens its connections, and ends its key", async () => {
    await load("new", "--clicks", "3");
    expect(fake.seen).toEqual([
      "POST /accounts",
      "POST /accounts/a1/keys",
      "POST /links",
      "GET /usage/entries?limit=1",
      ...Array.from({ length: 3 }, () => "GET /health"),
      "GET /usage/entries?limit=1",
      expect.stringContaining("format=ndjson"),
      "POST /ops/report",
      "POST /ops/reconcile",
      "DELETE /accounts/a1/keys/k1",
    ]);
  });

  test("follows a link that is there, of whoever it is, and of the account of a key that is given", async () => {
    expect((await load("sale", "--clicks", "3")).status).toBe(0);
    expect(fake.seen.slice(0, 2)).toEqual(["GET /ops/links?code=sale", "POST /accounts/a1/keys"]);
    expect(fake.seen.at(-1)).toBe("DELETE /accounts/a1/keys/k1");
    fake.seen.length = 0;
    expect((await load("sale", "--clicks", "3", "--api-key", "hf_live_own")).status).toBe(0);
    expect(fake.seen.filter((line) => line.includes("/keys"))).toEqual([]);
  });

  test("waits for clicks that are written after their answers", async () => {
    fake.readsBehind = 2;
    const run = await load("new", "--clicks", "20");
    expect(run).toMatchObject({ status: 0, stderr: "" });
  });

  test("names each redirected click that the ledger does not have, and exits 1", async () => {
    fake.fate = (number) => (number === 3 || number === 7 ? "lost" : "booked");
    const run = await load("new", "--clicks", "10", "--concurrency", "1");
    expect(run.status).toBe(1);
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({ redirected: 10, recorded: 8, lost: 2 });
    expect(run.stderr).toMatch(/missing: the click from https:\/\/load\.example\/[0-9a-f]{10}\/3\n/);
    expect(run.stderr).toMatch(/missing: the click from https:\/\/load\.example\/[0-9a-f]{10}\/7\n/);
    expect(run.stderr).toContain("load: 2 redirected clicks are not in the ledger");
  });

  test("a click that is booked twice shows, also beside one that is lost", async () => {
    fake.fate = (number) => (number === 3 ? "twice" : number === 4 ? "lost" : "booked");
    const run = await load("new", "--clicks", "10", "--concurrency", "1");
    expect(run.status).toBe(1);
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({ recorded: 10, lost: 1 });
    expect(run.stderr).toContain("load: 1 clicks are in the ledger twice");
  });

  test("fails when a click is not redirected, and never sends one again", async () => {
    fake.fate = (number) => (number === 2 ? "refused" : number === 5 ? "cut" : "booked");
    const run = await load("new", "--clicks", "10", "--concurrency", "1");
    expect(run.status).toBe(1);
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({ sent: 10, redirected: 8, recorded: 9, lost: 0 });
    expect(run.stderr).toContain("failed: click 2: answered 503");
    expect(run.stderr).toContain("failed: click 5: no answer (ECONNRESET)");
    expect(run.stderr).toContain("load: 2 clicks were not redirected");
  });

  test("fails with the cause when the meter does not match", async () => {
    fake.drift = 2;
    const run = await load("new", "--clicks", "10");
    expect(run.status).toBe(1);
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({ ledger: 10, meter: 12, verdict: "over_billed" });
    expect(run.stderr).toContain("load: the reconciler says over_billed: The meter moved");
  });

  test.each([["--clicks", "0"], ["--concurrency", "1001"], ["--jobs", "5"], ["other"]])(
    "refuses %s %s with one line and exit code 2",
    async (...argv) => {
      const run = await load("new", ...argv.filter((word) => typeof word === "string"));
      expect(run.status).toBe(2);
      expect(run.stderr).toMatch(/^load: [^\n]+\n$/);
    },
  );
});
