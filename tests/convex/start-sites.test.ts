import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Source files under a folder of the repository, as [path, text]; none when the folder does not exist. */
function sourcesIn(folder: string): [string, string][] {
  if (statSync(join(ROOT, folder), { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ts|tsx|mjs)$/.test(name) && !name.includes("_generated"))
    .map((name) => [join(folder, name), readFileSync(join(ROOT, folder, name), "utf8")]);
}

function filesWith(pattern: RegExp, folders: string[]): string[] {
  return folders
    .flatMap(sourcesIn)
    .filter(([, text]) => pattern.test(text))
    .map(([path]) => path)
    .toSorted();
}

test("A11: every path that starts a job goes through the one insert of a job row", () => {
  expect(filesWith(/insert\(\s*["']jobs["']/, ["convex"])).toEqual(["convex/admission.ts"]);
  const inserts = readFileSync(join(ROOT, "convex/admission.ts"), "utf8").match(/insert\(\s*["']jobs["']/g);
  expect(inserts).toHaveLength(1);
});

test("A11: the start sites are these", () => {
  expect(filesWith(/\b(?:admitJob|openDesk)\(/, ["convex"])).toEqual([
    "convex/admission.ts",
    "convex/gateCalls.ts",
    "convex/labSteps.ts",
  ]);
});

test("budgets are written by the gate and repaired by the audit, nowhere else", () => {
  expect(filesWith(/insert\(\s*["']budgets["']/, ["convex"])).toEqual([
    "convex/admission.ts",
    "convex/audit.ts",
  ]);
});

test("ledger entries are inserted in one place and never changed", () => {
  expect(filesWith(/insert\(\s*["']entries["']/, ["convex"])).toEqual(["convex/ledger.ts"]);
});

test("the bare function builders are used in functions.ts alone", () => {
  const bare = /import\s*\{[^}]*\b(query|mutation|action)\b[^}]*\}\s*from\s*["'][^"']*_generated\/server["']/;
  expect(filesWith(bare, ["convex"])).toEqual(["convex/functions.ts"]);
});

test("the bare builder of internal actions, which fail at the first lost conflict, is used in patience.ts alone", () => {
  const bare = /import\s*\{[^}]*\binternalAction\b[^}]*\}\s*from\s*["'][^"']*_generated\/server["']/;
  expect(filesWith(bare, ["convex"])).toEqual(["convex/patience.ts"]);
});

test("lib imports neither convex/ nor app/ nor next", () => {
  const upward = /from\s*["'](?:[./]+\/(?:convex|app)\/|next(?:\/|["']))/;
  expect(filesWith(upward, ["lib"]).filter((path) => !path.startsWith("lib/server"))).toEqual([]);
});
