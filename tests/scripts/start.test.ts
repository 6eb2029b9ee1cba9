import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileClock, formatClockState, startingState } from "../../lib/shared/clock.ts";
import { takeLock } from "../../lib/shared/file-lock.ts";
import { freePort } from "../../scripts/support/ports.ts";
import { openDataDir } from "../../scripts/support/data-dir.ts";
import { clockFile, prepareClock } from "../../scripts/support/test-clock.ts";
import { runScript } from "./run-script.ts";

let root = "";
let dataDir = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-start-"));
  dataDir = join(root, "data");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const start = (...argv: string[]) => startWith({}, ...argv);
const startWith = (env: Record<string, string>, ...argv: string[]) =>
  runScript(["--import", "tsx", "scripts/start.ts", "--data-dir", dataDir, ...argv], {
    CONVEX_URL: "",
    KINDE_ISSUER_URL: "",
    ...env,
  });
const clock = (...argv: string[]) =>
  runScript(["--import", "tsx", "scripts/clock.ts", "--data-dir", dataDir, ...argv]);

const TENANT_WITHOUT_MACHINE = {
  KINDE_ISSUER_URL: "https://acme.kinde.com",
  KINDE_CLIENT_ID: "web",
  KINDE_CLIENT_SECRET: "s".repeat(48),
  KINDE_M2M_CLIENT_ID: "machine",
};
const TENANT_WITH_BAD_SECRET = {
  ...TENANT_WITHOUT_MACHINE,
  KINDE_CLIENT_SECRET: "too-short",
  KINDE_M2M_CLIENT_SECRET: "machine secret",
};

describe("a start that cannot be", () => {
  test.each([
    { argv: ["--prot", "1"], line: "unknown option --prot" },
    { argv: ["--port", "0"], line: "--port must be from 1 to 65535" },
    { argv: ["--port", "3210"], line: "--port and --convex-port are both 3210" },
  ])("ends with exit code 2 for $argv", async ({ argv, line }) => {
    const run = await start(...argv);
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(new RegExp(`^holdfast: ${line}[^\n]*\n$`));
  });

  test.each(["--port", "--convex-port", "--kinde-port"])("names the port in use and %s", async (option) => {
    const taken = await freePort();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(taken, "127.0.0.1", resolve));
    const ports: Record<string, number> = {
      "--port": await freePort(),
      "--convex-port": await freePort(),
      "--kinde-port": await freePort(),
      [option]: taken,
    };
    const run = await start(...Object.entries(ports).flatMap(([name, port]) => [name, String(port)]));
    server.close();
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(
      new RegExp(`^holdfast: port ${taken} \\([^)]+\\) is in use; choose another with ${option}\n$`),
    );
  });

  test.each<[Record<string, string>, string[], string]>([
    [
      { CONVEX_URL: "https://happy-otter-1.convex.cloud" },
      [],
      "CONVEX_URL is another machine, which cannot reach the Kinde emulator on this one",
    ],
    [{}, ["--host", "0.0.0.0"], "--host 0.0.0.0 would let others sign in as anybody"],
    [{ KINDE_ISSUER_URL: "https://acme.kinde.com/" }, [], "KINDE_ISSUER_URL ends with a slash"],
    [TENANT_WITH_BAD_SECRET, [], "KINDE_CLIENT_SECRET must be 40 to 60 letters and digits"],
    [TENANT_WITHOUT_MACHINE, [], "KINDE_M2M_CLIENT_SECRET is not set"],
  ])("because of its provider ends with one line", async (env, argv, line) => {
    const run = await startWith(env, "--port", String(await freePort()), ...argv);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(new RegExp(`^holdfast: ${line}[^\n]*\n$`));
    expect(run.stderr).not.toContain("too-short");
  });

  test.each(["-1", "11", "1.5", "two"])(
    "because of HOLDFAST_TRUSTED_PROXIES=%s ends with one line",
    async (text) => {
      const run = await startWith({ HOLDFAST_TRUSTED_PROXIES: text }, "--port", String(await freePort()));
      expect(run.status).toBe(1);
      const line =
        "holdfast: HOLDFAST_TRUSTED_PROXIES must be the number of proxies in front, from 0 to 10\n";
      expect(run.stderr).toBe(line);
      expect(run.stdout).toBe("");
    },
  );

  test("names the process that already runs on the data directory", async () => {
    openDataDir(dataDir);
    takeLock(join(dataDir, "supervisor.lock"));
    const run = await start();
    expect(run.status).toBe(1);
    expect(run.stderr).toContain(`already running on ${dataDir} (process ${process.pid})`);
  });

  test("names the secret that is damaged", async () => {
    openDataDir(dataDir);
    writeFileSync(join(dataDir, "operator-key"), "");
    const run = await start("--port", String(await freePort()));
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/^holdfast: the secret file [^\n]+operator-key is empty[^\n]+\n$/);
  });
});

describe("the test clock", () => {
  test("of a stack is moved, shown and never goes back", async () => {
    openDataDir(dataDir);
    takeLock(join(dataDir, "supervisor.lock"), { testClock: true });
    prepareClock(dataDir, true, Date.now());
    const before = fileClock(clockFile(dataDir)).nowMs();
    const run = await clock("--advance", "10m", "--rate", "60");
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(run.stdout).toMatch(/ at rate 60\n$/);
    expect(fileClock(clockFile(dataDir)).nowMs() - before).toBeGreaterThanOrEqual(600_000);
    expect((await clock("--advance", "-10m")).status).toBe(2);
    expect((await clock("--rate", "100000")).status).toBe(2);
  });

  test("is refused where the stack was not started with --test-clock", async () => {
    const line = /^clock: no stack started with --test-clock runs on [^\n]+\n$/;
    expect(await clock("--advance", "1s")).toMatchObject({ status: 1, stderr: expect.stringMatching(line) });
    openDataDir(dataDir);
    takeLock(join(dataDir, "supervisor.lock"));
    expect(await clock("--advance", "1s")).toMatchObject({ status: 1, stderr: expect.stringMatching(line) });
  });

  test("stays with a data directory that has lived on it", () => {
    openDataDir(dataDir);
    writeFileSync(clockFile(dataDir), formatClockState(startingState(5)));
    expect(() => prepareClock(dataDir, false, 10)).toThrow(/was used with --test-clock/);
    expect(prepareClock(dataDir, true, 10)).toBe(clockFile(dataDir));
    expect(fileClock(clockFile(dataDir), () => 7).nowMs()).toBe(7);
  });
});
