import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Storage as EmulatorStorage } from "../../lib/kinde/emulator/storage.ts";
import { Storage as EngineStorage } from "../../lib/local-convex/storage.ts";
import { openDataDir } from "../../scripts/support/data-dir.ts";
import { runScript } from "./run-script.ts";

const START = join(import.meta.dirname, "../../scripts/start.ts");

let root = "";
let dataDir = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-data-"));
  dataDir = join(root, "data");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const open = (path: string) => {
  writeFileSync(path, "x");
  chmodSync(path, 0o644);
};

describe("a data folder that cannot be used is one line with folder, reason and option", () => {
  test.each([
    ["EROFS", "read-only file system"],
    ["EACCES", "may not write"],
    ["EPERM", "another user"],
    ["ENOSPC", "no space"],
    ["EDQUOT", "quota"],
    ["EIO", "disk fails"],
  ])("%s", (code, reason) => {
    const fail = () => {
      throw Object.assign(new Error(`${code}: made by the test`), { code });
    };
    const words = new RegExp(
      `^the data folder ${dataDir} cannot be used: .*${reason}.* \\(${code}\\); .*--data-dir$`,
    );
    expect(() => openDataDir(dataDir, fail)).toThrow(words);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test.each(["", "/below"])("npm start on a file%s", async (below) => {
    const path = join(root, "file");
    writeFileSync(path, "");
    const ended = await runScript(["--import", "tsx", START, "--data-dir", `${path}${below}`]);
    expect(ended.status).toBe(1);
    expect(ended.stderr).toBe(
      `holdfast: the data folder ${path}${below} cannot be used: a file is in its place (${below === "" ? "EEXIST" : "ENOTDIR"}); mend that, or choose another with --data-dir\n`,
    );
  });
});

describe("nobody else can read what is kept", () => {
  test("a folder of ours that was left open is closed at the start, with its files and its spool", () => {
    mkdirSync(join(dataDir, "spool"), { recursive: true });
    const files = [
      "server-secret",
      "convex.sqlite",
      "convex.sqlite-wal",
      "convex.sqlite-shm",
      "kinde.sqlite",
    ];
    const inSpool = ["spool/00.00000001.clicks", "spool/00.refused"];
    for (const name of [...files, ...inSpool]) open(join(dataDir, name));
    chmodSync(dataDir, 0o755);
    chmodSync(join(dataDir, "spool"), 0o755);
    openDataDir(dataDir);
    expect([modeOf(dataDir), modeOf(join(dataDir, "spool"))]).toEqual(["700", "700"]);
    const modes = [...files, ...inSpool].map((name) => modeOf(join(dataDir, name)));
    expect(new Set(modes)).toEqual(new Set(["600"]));
  });

  test("an empty folder becomes ours", () => {
    mkdirSync(dataDir, { mode: 0o755 });
    openDataDir(dataDir);
    expect(modeOf(dataDir)).toBe("700");
  });

  test("what is not ours keeps its rights: other files, where links lead, and a folder that is used for more", () => {
    mkdirSync(dataDir, { mode: 0o755 });
    chmodSync(dataDir, 0o755);
    open(join(dataDir, "notes.txt"));
    open(join(root, "elsewhere"));
    symlinkSync(join(root, "elsewhere"), join(dataDir, "kinde.sqlite"));
    openDataDir(dataDir);
    expect(modeOf(dataDir)).toBe("755");
    expect(modeOf(join(dataDir, "notes.txt"))).toBe("644");
    expect(modeOf(join(root, "elsewhere"))).toBe("644");
  });

  test.each([
    ["engine", (file: string) => EngineStorage.open(file)],
    ["emulator", (file: string) => EmulatorStorage.open(file)],
  ])("the %s makes its files closed, and closes those that were open", (_name, openStorage) => {
    mkdirSync(dataDir);
    const file = join(dataDir, "data.sqlite");
    const modes = () => readdirSync(dataDir).map((name) => [name, modeOf(join(dataDir, name))]);
    const umask = process.umask(0);
    try {
      openStorage(file).close();
      const first = openStorage(file);
      expect(new Set(modes().map(([, mode]) => mode))).toEqual(new Set(["600"]));
      first.close();
      chmodSync(file, 0o644);
      const second = openStorage(file);
      expect(new Set(modes().map(([, mode]) => mode))).toEqual(new Set(["600"]));
      second.close();
    } finally {
      process.umask(umask);
    }
  });
});
