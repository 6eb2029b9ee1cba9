import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";

let backend: LocalBackend;

beforeEach(async () => {
  backend = await localBackend({ functionsDir: join(import.meta.dirname, "functions") });
});

afterEach(() => backend.close());

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const numbers = (length: number) => Array.from({ length }, () => 1);
const fields = (count: number) => Object.fromEntries(numbers(count).map((_, i) => [`f${i}`, i]));

describe("a call within the limit passes, one beyond it fails with Convex's text", () => {
  const CALLS: [string, "query" | "mutation", object, object, string][] = [
    [
      "limits:manyRanges",
      "query",
      { count: 4_096 },
      { count: 4_097 },
      "Too many reads in a single function execution (limit: 4096)",
    ],
    [
      "limits:fill",
      "mutation",
      { count: 16_000, chars: 1 },
      { count: 16_001, chars: 1 },
      "Too many writes in a single function execution (limit: 16000)",
    ],
    [
      "limits:fill",
      "mutation",
      { count: 15, chars: 1_000_000 },
      { count: 17, chars: 1_000_000 },
      "Too many bytes written in a single function execution (limit: 16777216 bytes)",
    ],
    [
      "limits:scheduleMany",
      "mutation",
      { count: 1_000 },
      { count: 1_001 },
      "Too many functions scheduled by this mutation (limit: 1000)",
    ],
    ["limits:nest", "query", { levels: 8 }, { levels: 9 }, "Nested function calls are limited to 8 levels"],
    [
      "limits:returnArray",
      "query",
      { length: 8_192 },
      { length: 8_193 },
      "Array length is too long (8193 > maximum length 8192)",
    ],
    [
      "limits:insertAny",
      "mutation",
      { value: numbers(8_192) },
      { value: numbers(8_193) },
      "Array length is too long (8193 > maximum length 8192)",
    ],
    [
      "limits:insertAny",
      "mutation",
      { value: fields(1_024) },
      { value: fields(1_025) },
      "Object has too many fields",
    ],
    ["limits:insertAny", "mutation", { value: nested(15) }, { value: nested(16) }, "too nested"],
    [
      "limits:insertAny",
      "mutation",
      { value: "x".repeat(1_048_000) },
      { value: "x".repeat(1_049_000) },
      "Value is too large (1 MiB > maximum size 1 MiB)",
    ],
  ];
  test.each(CALLS)("%s (%s) #%#", async (path, kind, within, beyond, text) => {
    await backend[kind](path, within as Record<string, unknown>);
    await expect(backend[kind](path, beyond as Record<string, unknown>)).rejects.toThrow(text);
  });
});

test("32,000 documents can be read in one call, not 32,001", async () => {
  await backend.mutation("limits:fill", { count: 16_000, chars: 1 });
  await backend.mutation("limits:fill", { count: 16_000, chars: 1 });
  expect(await backend.query("limits:readAll")).toBe(32_000);
  await backend.mutation("limits:fill", { count: 1, chars: 1 });
  await expect(backend.query("limits:readAll")).rejects.toThrow(
    "Too many documents read in a single function execution (limit: 32000). Consider using smaller limits in your queries",
  );
});

test("16 MiB can be read in one call, not more", async () => {
  await backend.mutation("limits:fill", { count: 15, chars: 1_000_000 });
  await backend.query("limits:readAll");
  await backend.mutation("limits:fill", { count: 3, chars: 1_000_000 });
  await expect(backend.query("limits:readAll")).rejects.toThrow(
    "Too many bytes read in a single function execution (limit: 16777216 bytes)",
  );
});

test("a limit can be caught by the function that meets it", async () => {
  expect(await backend.query("limits:catchesLimit")).toBe("caught");
});

test("a scheduled time more than five years away is refused", async () => {
  await expect(backend.mutation("limits:scheduleFar")).rejects.toThrow("within five years");
});

test("a function that computes for more than a second fails", async () => {
  await expect(backend.mutation("limits:longCode")).rejects.toThrow(
    "Function execution timed out (maximum duration: 1s)",
  );
});

test("a mutation that writes much and reads its writes does not get slower and slower", async () => {
  const startedMs = performance.now();
  await backend.mutation("limits:writeAndRead", { count: 9_000 });
  // Sorting the overlay for every read took minutes; a machine under load still does this in seconds.
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

test("an index holds keys of half a megabyte", async () => {
  const text = "long ".repeat(100_000);
  await backend.mutation("faults:addNote", { text });
  await backend.mutation("faults:addNote", { text: `${text}!` });
  expect(await backend.query("faults:notes")).toEqual([text, `${text}!`]);
});
