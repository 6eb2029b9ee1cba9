import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import schema from "../../convex/schema";
import { equalInConstantTime } from "../../lib/shared/secrets.ts";

/** That no secret is compared in a way that tells, by the time it takes, how far a guess was right. */
const ROOT = join(import.meta.dirname, "../..");
const sources = ["app", "convex", "lib"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes("_generated"))
    .map((name) => [join(folder, name), readFileSync(join(ROOT, folder, name), "utf8")] as const),
);

describe("keys", () => {
  test("are stored as hashes and found by an index on the hash, so that nothing is compared with a guess", () => {
    const { keyHash, ...others } = schema.tables.apiKeys.validator.fields;
    expect(keyHash.kind).toBe("string");
    expect(Object.keys(others).filter((field) => /secret|token|^key$/i.test(field))).toEqual([]);
    const indexes = schema.tables.apiKeys[" indexes"]().map(({ fields }) => fields[0]);
    expect(indexes).toContain("keyHash");
    const lookups = sources.filter(([, text]) => /\.query\("apiKeys"\)[\s\S]{0,80}by_key_hash/.test(text));
    expect(lookups.map(([path]) => path)).toEqual(["convex/functions.ts"]);
  });

  test("are hashed in one place before they leave the process", () => {
    const hashing = sources.filter(([, text]) => /createHash\("sha256"\)\.update\(secret, "utf8"/.test(text));
    expect(hashing.map(([path]) => path)).toEqual(["lib/server/api-keys.ts"]);
  });
});

describe("shared secrets", () => {
  /** A name that holds a secret, beside an operator that stops at the first difference. */
  const EARLY =
    /\b\w*(?:[sS]ecret|[cC]ontrolKey|[bB]ackupKey|[aA]dminKey|[kK]eyHash)\b\s*[!=]==?(?![=\s]*(?:undefined|null|""|"\w+"|\())/;

  test("are compared with === nowhere, but for a setting with itself a moment ago", () => {
    const compared = sources.filter(([path]) => path !== "lib/server/process-deps.ts");
    const found = compared.flatMap(([path, text]) =>
      text
        .split("\n")
        .filter((line) => EARLY.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    expect(found).toEqual([]);
  });

  test("are all compared, so that which one it was does not show either", () => {
    const functions = sources.find(([path]) => path === "convex/functions.ts")![1];
    expect(functions).toMatch(/accepted\.map\(\(secret\) => equalInConstantTime\(secret, serverSecret\)\)/);
  });

  test.each([
    ["a", "a", true],
    ["", "", true],
    ["a", "b", false],
    ["a", "", false],
    ["", "a", false],
    ["ab", "a", false],
    ["a", "ab", false],
    ["\u0000", "", false],
    ["a\u0000", "a", false],
    ["\u0100", "\u0000", false],
    ["é", "e\u0301", false],
  ])("%j and %j: %s", (expected, given, isEqual) =>
    expect(equalInConstantTime(expected, given)).toBe(isEqual),
  );
});
