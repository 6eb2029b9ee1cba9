import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { removeLeftovers, scratchFolder } from "../../lib/simulator/scratch-folder.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-leftovers-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const folder = (name: string): string => {
  const path = join(root, name);
  mkdirSync(path);
  return path;
};

test("a folder tells whose it is", () => {
  const path = scratchFolder();
  expect(basename(path)).toMatch(new RegExp(`^holdfast-simulation-${process.pid}-`));
  rmSync(path, { recursive: true });
});

test("what a killed run has left goes at the next start, and nothing else", () => {
  const { pid: deadPid } = spawnSync(process.execPath, ["--version"]);
  const dead = folder(`holdfast-simulation-${deadPid}-aaaaaa`);
  const kept = [
    folder(`holdfast-simulation-${process.pid}-aaaaaa`),
    folder("holdfast-simulation-1-aaaaaa"),
    folder(`holdfast-other-${deadPid}-aaaaaa`),
    folder("holdfast-simulation-aaaaaa"),
  ];
  removeLeftovers(root);
  expect(existsSync(dead)).toBe(false);
  expect(kept.filter((path) => !existsSync(path))).toEqual([]);
});
