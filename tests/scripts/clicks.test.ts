import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createApiClient, mustCall } from "../../scripts/support/api-client.mjs";
import { startTempStack, type TempStack } from "../../scripts/support/temp-stack.ts";
import { recordedReferrers, startClicking } from "./clicking.ts";
import { lastLine, runScript } from "./run-script.ts";

/** Short links on the real processes: from the click to the meter, and through the death of the web process. */
const TIMEOUT_MS = 5 * 60_000;

let folder = "";
let stacks: TempStack[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-clicks-"));
  stacks = [];
});
afterEach(async () => {
  await Promise.all(stacks.map((stack) => stack.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<TempStack> {
  const stack = await startTempStack(join(folder, "data"));
  stacks.push(stack);
  return stack;
}

test(
  "S7: every click is recorded once; ledger, sent and meter are one number, and the reconciler says match",
  async () => {
    const stack = await start();
    const run = await runScript([
      "scripts/load.mjs",
      "new",
      "--clicks=1000",
      "--concurrency=100",
      `--url=${stack.url}`,
      `--operator-key=${stack.operatorKey}`,
      "--json",
    ]);
    expect(run.status).toBe(0);
    expect(JSON.parse(lastLine(run.stdout))).toMatchObject({
      sent: 1000,
      redirected: 1000,
      recorded: 1000,
      billable: 1000,
      lost: 0,
      ledger: 1000,
      reported: 1000,
      meter: 1000,
      verdict: "match",
    });
  },
  TIMEOUT_MS,
);

/** The web process of a stack. */
function webPid(stack: TempStack): number {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  const rows = stdout.split("\n").map((row) => row.trim().split(/\s+/));
  const row = rows.find(
    ([, parent, ...args]) => Number(parent) === stack.pid && args.join(" ").includes("serve.ts"),
  );
  return Number(row?.[0]);
}

test(
  "B42: SIGKILL of the web process under load loses no answered click and counts none twice",
  async () => {
    const first = await start();
    const client = createApiClient({ url: first.url, connections: 1, timeoutMs: 20_000 });
    const call = (method: "GET" | "POST", path: string, token: string, body?: object) =>
      mustCall(client, { method, path, token, ...(body === undefined ? {} : { body }) });
    const { account } = await call("POST", "/accounts", first.operatorKey, { name: "killed" });
    const { secret } = await call("POST", `/accounts/${account.id}/keys`, first.operatorKey, {});
    const { link } = await call("POST", "/links", secret, { target: "https://example.com/" });
    client.close();

    const { answered, ended } = startClicking(`${first.url}/${link.code}`, 20);
    await sleep(1_500);
    process.kill(webPid(first), "SIGKILL");
    await ended;
    expect(await first.ended).toBe(1);
    expect(answered.length).toBeGreaterThan(100);

    const second = await start();
    const recorded = await recordedReferrers(second.url, secret, answered);
    expect(answered.filter((referer) => !recorded.includes(referer))).toEqual([]);
    expect(new Set(recorded).size).toBe(recorded.length);
  },
  TIMEOUT_MS,
);
