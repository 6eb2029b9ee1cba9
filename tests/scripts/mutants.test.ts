import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { expect, test } from "vitest";

import { MUTANTS, placeOf } from "../../scripts/mutants/catalogue.ts";
import { ROOT } from "../../scripts/support/root.ts";

/* What `npm run mutants` takes for granted. A run of it takes long, and its result is in scripts/mutants/RESULTS.md. */

const compiled = (source: string): string => transformSync(source, { loader: "ts" }).code;

test("there are enough of them, each with an id of its own", () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(45);
  expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
});

test("no two are the same fault", () => {
  const faults = MUTANTS.map(({ file, original, replacement }) => [file, original, replacement].join("\n"));
  expect(new Set(faults).size).toBe(MUTANTS.length);
});

test("the text of each is in its file exactly once", () => {
  const lost = MUTANTS.filter(({ file, original }) => {
    return placeOf(readFileSync(join(ROOT, file), "utf8"), original) === null;
  });
  expect(lost.map(({ id }) => id)).toEqual([]);
});

test("what takes its place is code, and other code", () => {
  const same = MUTANTS.filter(({ file, original, replacement }) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return compiled(source.replace(original, () => replacement)) === compiled(source);
  });
  expect(same.map(({ id }) => id)).toEqual([]);
});

test("the tests that are to fail are there", () => {
  const lost = MUTANTS.filter(({ tests }) => {
    return tests.length === 0 || tests.some((name) => !existsSync(join(ROOT, "tests", name)));
  });
  expect(lost.map(({ id }) => id)).toEqual([]);
});
