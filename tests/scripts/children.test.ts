import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Children, describeExit } from "../../scripts/support/children.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-children-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A program that writes `name` once it runs, then does `code`. */
function program(name: string, code: string): string[] {
  return [
    "-e",
    `require("node:fs").writeFileSync(${JSON.stringify(join(folder, name))}, String(process.pid)); ${code}`,
  ];
}

async function started(name: string): Promise<number> {
  return until(() => {
    const path = join(folder, name);
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    return text === "" ? null : Number(text);
  });
}

/** Asks until there is an answer; the test's own time limit is the only clock. */
async function until<T>(ask: () => T | null): Promise<T> {
  for (;;) {
    const answer = ask();
    if (answer !== null) return answer;
    await sleep(10);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const FOREVER = "setInterval(() => {}, 1000);";

describe("children", () => {
  test("that end by themselves say how", async () => {
    const children = new Children(process.cwd());
    expect(await children.start({ name: "a", args: ["-e", "process.exit(7)"] })).toEqual({
      name: "a",
      code: 7,
      signal: null,
    });
    const killed = await children.start({ name: "b", args: ["-e", "process.kill(process.pid, 'SIGKILL')"] });
    expect(describeExit(killed)).toBe("signal SIGKILL");
  });

  test("are all ended by SIGTERM, helpers included", async () => {
    const children = new Children(process.cwd());
    const helper = JSON.stringify(program("helper", FOREVER));
    void children.start({
      name: "a",
      args: program("a", `require("node:child_process").spawn(process.execPath, ${helper}); ${FOREVER}`),
    });
    void children.start({ name: "b", args: program("b", FOREVER) });
    const pids = [await started("a"), await started("b"), await started("helper")];
    await children.stopAll();
    expect(children.stopping).toBe(true);
    await until(() => (pids.some(isRunning) ? null : true));
  });

  test("that do not listen to SIGTERM are killed after five seconds", async () => {
    const children = new Children(process.cwd());
    const exit = children.start({
      name: "a",
      args: program("a", `process.on("SIGTERM", () => {}); ${FOREVER}`),
    });
    await started("a");
    await children.stopAll();
    expect(await exit).toMatchObject({ signal: "SIGKILL" });
  });

  test("loaded with exit-with-parent go on while a helper that inherits it has no stdin", async () => {
    const children = new Children(process.cwd());
    const helper = join(folder, "helper.cjs");
    writeFileSync(helper, program("helper", FOREVER)[1]!);
    const forked = `require("node:child_process").fork(${JSON.stringify(helper)}, {
      stdio: ["ignore", "ignore", "ignore", "ipc"] }); ${FOREVER}`;
    const args = ["--import", "./scripts/support/exit-with-parent.mjs", ...program("a", forked)];
    const exit = children.start({ name: "a", args });
    const pids = [await started("a"), await started("helper")];
    // A helper whose stdin has ended finds that out at its first look, long before this.
    expect(await Promise.race([exit, sleep(500, "goes on")])).toBe("goes on");
    expect(pids.every(isRunning)).toBe(true);
    await children.stopAll();
    await until(() => (pids.some(isRunning) ? null : true));
  });

  test("loaded with exit-with-parent end when their supervisor is killed", async () => {
    const child = program("child", FOREVER);
    const spec = { name: "a", args: ["--import", "./scripts/support/exit-with-parent.mjs", ...child] };
    const code = `import { Children } from "./scripts/support/children.ts";
      void new Children(process.cwd()).start(${JSON.stringify(spec)});`;
    const script = join(folder, "supervisor.ts");
    writeFileSync(script, code.replace("./scripts", join(process.cwd(), "scripts")));
    const supervisor = spawn(process.execPath, ["--import", "tsx", script], { stdio: "ignore" });
    const pid = await started("child");
    expect(isRunning(pid)).toBe(true);
    supervisor.kill("SIGKILL");
    await until(() => (isRunning(pid) ? null : true));
  });
});
