import { mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync, closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createApiClient, mustCall } from "../../scripts/support/api-client.mjs";
import { startTempStack, type TempStack } from "../../scripts/support/temp-stack.ts";
import { recordedReferrers, startClicking } from "./clicking.ts";
import { runScript } from "./run-script.ts";

const TIMEOUT_MS = 5 * 60_000;

let folder = "";
let dataDir = "";
let stacks: TempStack[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-backup-"));
  dataDir = join(folder, "data");
  stacks = [];
});
afterEach(async () => {
  await Promise.all(stacks.map((stack) => stack.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function start(dir: string): Promise<TempStack> {
  const stack = await startTempStack(dir);
  stacks.push(stack);
  return stack;
}

const script = (name: "backup" | "restore", ...args: string[]) =>
  runScript(["--import", "tsx", `scripts/${name}.ts`, ...args]);

const backUp = (to: string) => script("backup", `--to=${join(folder, to)}`, `--data-dir=${dataDir}`);
const restore = (from: string, to: string, ...more: string[]) =>
  script("restore", `--from=${join(folder, from)}`, `--data-dir=${join(folder, to)}`, ...more);

test(
  "a backup of a stack under load has all that was answered before it, and a restored one audits clean",
  async () => {
    const first = await start(dataDir);
    const client = createApiClient({ url: first.url, connections: 1, timeoutMs: 20_000 });
    const call = (method: "GET" | "POST", path: string, token: string, body?: object) =>
      mustCall(client, { method, path, token, ...(body === undefined ? {} : { body }) });
    const { account } = await call("POST", "/accounts", first.operatorKey, { name: "kept", limitUnits: 900 });
    const { secret } = await call("POST", `/accounts/${account.id}/keys`, first.operatorKey, {});
    const { link } = await call("POST", "/links", secret, { target: "https://example.com/" });
    const { job } = await call("POST", "/jobs", secret, { key: "done", kind: "batch", units: 300 });
    await call("POST", `/jobs/${job.id}/settle`, secret, { outcome: "completed", usedUnits: 250 });

    const clicking = startClicking(`${first.url}/${link.code}`, 10);
    await sleep(1_000);
    const before = [...clicking.answered];
    const made = await backUp("copy");
    expect(made).toMatchObject({ status: 0, stderr: "" });
    expect(made.stdout).toMatch(/ files, [\d.]+ MB of .+ \(while it runs\)/);
    await clicking.stop();
    client.close();
    expect(before.length).toBeGreaterThan(50);
    expect(clicking.answered.length).toBeGreaterThan(before.length);

    // Nothing is put where a stack runs or has run.
    expect((await restore("copy", "data")).stderr).toMatch(/^restore: a stack runs on /);
    expect(await first.stop()).toBe(0);
    expect((await restore("copy", "data")).stderr).toMatch(/is not empty/);
    expect(await restore("copy", "restored")).toMatchObject({ status: 0, stderr: "" });

    const second = await start(join(folder, "restored"));
    expect(second.output()).toMatch(/audit: [1-9]\d* budgets checked, 0 repaired/);
    const recorded = await recordedReferrers(second.url, secret, before);
    expect(before.filter((referer) => !recorded.includes(referer))).toEqual([]);
    expect(new Set(recorded).size).toBe(recorded.length);
    const again = createApiClient({ url: second.url, connections: 1, timeoutMs: 20_000 });
    const usage = await mustCall(again, { method: "GET", path: "/usage", token: secret });
    again.close();
    expect(usage).toMatchObject({ heldUnits: 0, usedUnits: 250 });
    expect(await second.stop()).toBe(0);

    // The stopped one can be copied as well, and put back over itself.
    const stopped = await backUp("later");
    expect(stopped).toMatchObject({ status: 0, stderr: "" });
    expect(stopped.stdout).toContain("(stopped)");
    expect(await restore("later", "data", "--replace")).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(folder).some((name) => name.startsWith("data.before-restore-"))).toBe(true);
    expect(statSync(join(dataDir, "operator-key")).mode & 0o077).toBe(0);
    const third = await start(dataDir);
    const all = await recordedReferrers(third.url, secret, clicking.answered);
    expect(clicking.answered.filter((referer) => !all.includes(referer))).toEqual([]);
  },
  TIMEOUT_MS,
);

test("a backup that was changed, or is none, is refused before anything is touched", async () => {
  await (await start(dataDir)).stop();
  await backUp("copy");
  const file = openSync(join(folder, "copy", "convex.sqlite"), "r+");
  writeSync(file, Buffer.from("?"), 0, 1, 5_000);
  closeSync(file);
  const changed = await restore("copy", "restored");
  expect(changed.status).toBe(1);
  expect(changed.stderr).toMatch(/^restore: .+convex\.sqlite has been changed or damaged\n$/);
  expect((await restore("data", "restored")).stderr).toMatch(/is no backup: it has no manifest\.json\n$/);
  expect((await backUp("copy")).stderr).toMatch(/exists already; name a new folder\n$/);
  expect((await script("backup", "--to=x", `--data-dir=${folder}`)).stderr).toMatch(/is no data directory/);
  expect(readdirSync(folder).toSorted()).toEqual(["copy", "data"]);
}, 120_000);
