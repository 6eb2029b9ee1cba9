import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAlive, lockOwner, parseOwner, takeLock } from "../../lib/shared/file-lock.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-lock-"));
  path = join(folder, "supervisor.lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function take(note = {}) {
  const outcome = takeLock(path, note);
  if (outcome.kind !== "taken") throw new Error("the lock is held");
  return outcome.lock;
}

/** The pid of a process that has ended. */
const endedPid = () => spawnSync(process.execPath, ["-e", ""]).pid;

describe("a lock", () => {
  test("keeps a second taker out and names its owner", () => {
    take();
    expect(takeLock(path)).toMatchObject({ kind: "held", owner: { pid: process.pid } });
  });

  test("can be taken again once it is released", () => {
    take().release();
    expect(existsSync(path)).toBe(false);
    expect(take().takenOver).toBe(false);
  });

  test("carries what its owner says of itself", () => {
    take({ testClock: true, engineUrl: "http://x" });
    expect(lockOwner(path)).toMatchObject({ note: { testClock: true, engineUrl: "http://x" } });
  });

  test("is taken over when its owner has ended", () => {
    writeFileSync(path, JSON.stringify({ pid: endedPid(), startTicks: "1", note: {} }));
    expect(lockOwner(path)).toBeNull();
    expect(take().takenOver).toBe(true);
    expect(readdirSync(folder)).toEqual(["supervisor.lock"]);
  });

  test.runIf(existsSync("/proc/self/stat"))(
    "is taken over when the pid now belongs to another process",
    () => {
      writeFileSync(path, JSON.stringify({ pid: process.pid, startTicks: "1", note: {} }));
      expect(take().takenOver).toBe(true);
    },
  );

  test.each(["", "garbage", "[]", '{"pid":0}', '{"pid":"1"}'])("holding %j is taken over", (text) => {
    writeFileSync(path, text);
    expect(take().takenOver).toBe(true);
  });

  test("is not released by one who has lost it", () => {
    const lock = take();
    writeFileSync(path, JSON.stringify({ pid: process.ppid, startTicks: null, note: {} }));
    lock.release();
    expect(existsSync(path)).toBe(true);
  });
});

test("an owner without a start time is judged by its pid alone", () => {
  expect(isAlive({ pid: process.pid, startTicks: null, note: {} })).toBe(true);
  expect(parseOwner('{"pid":5}')).toEqual({ pid: 5, startTicks: null, note: {} });
});
