import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  checkCustomCode,
  CODE_ALPHABET,
  isCode,
  randomCode,
  RANDOM_CODE_CHARS,
  RESERVED_CODES,
  shortUrl,
} from "../../lib/ledger/code.ts";
import { seededRandom } from "../helpers/random-values.ts";

describe("custom codes", () => {
  test.each(["LoKE2", "ABC", "abc", "a", "7", "-_-", "x".repeat(64)])(
    "B07: %s is kept as typed and is what resolves",
    (typed) => {
      expect(checkCustomCode(typed)).toEqual({ kind: "ok", code: typed });
      expect(isCode(typed)).toBe(true);
    },
  );

  test.each([
    ["", "empty", undefined],
    ["x".repeat(65), "too_long", undefined],
    ["a b", "character", 2],
    ["a/b", "character", 2],
    ["köln", "character", 2],
    ["АВС", "character", 1],
    ["😀😀x.", "character", 1],
    ["robots.txt", "character", 7],
    ["..", "character", 1],
    ["abc%20", "character", 4],
    ["abc\n", "character", 4],
    ["api", "reserved", undefined],
    ["API", "reserved", undefined],
    ["_next", "reserved", undefined],
  ])("B07: %j is refused: %s", (typed, code, position) => {
    const { message, ...refused } = checkCustomCode(typed) as { kind: "refused"; message: string };
    expect(refused).toEqual({ kind: "refused", code, ...(position === undefined ? {} : { position }) });
    expect(message.length).toBeGreaterThan(10);
  });

  test("whatever is no code cannot be one as a path segment either", () => {
    const refused = ["", "x".repeat(65), "a.b", "é", "a\n", "a b", "api", "API", "Sign-In"];
    for (const segment of refused) expect(isCode(segment)).toBe(false);
  });

  test("a position counts characters, not halves of them", () => {
    expect(checkCustomCode("ab😀")).toMatchObject({ position: 3 });
  });
});

describe("reserved words", () => {
  /** The first path segments that a routes folder answers itself: groups and slots have none, dynamic ones any. */
  function firstSegments(folder: string): string[] {
    return readdirSync(folder, { withFileTypes: true }).flatMap((item) => {
      const path = join(folder, item.name);
      if (!item.isDirectory() || item.name.startsWith("_") || !hasRoute(path)) return [];
      if (/^(\(.*\)|@.*)$/.test(item.name)) return firstSegments(path);
      return item.name.startsWith("[") ? [] : [decodeURIComponent(item.name)];
    });
  }

  /** Folders of components beside the routes answer nothing. */
  function hasRoute(folder: string): boolean {
    const files = readdirSync(folder, { recursive: true }).map((file) => basename(String(file)));
    return files.some((file) => /^(page|route)\.(tsx?|jsx?|mdx?)$/.test(file));
  }

  test("every first path segment of the app's own routes is reserved", () => {
    const segments = firstSegments("app");
    expect(segments).toEqual(expect.arrayContaining(["api", "app", "ops"]));
    expect(segments.filter(isCode)).toEqual([]);
  });

  test("public files cannot be taken for codes", () => {
    const files = (() => {
      try {
        return readdirSync("public");
      } catch {
        return [];
      }
    })();
    expect(files.filter(isCode)).toEqual([]);
  });

  test("reserved words are codes in lower case, each once, in order", () => {
    expect(RESERVED_CODES.every((word) => /^[a-z_-]{1,64}$/.test(word))).toBe(true);
    expect([...new Set(RESERVED_CODES)].toSorted()).toEqual(RESERVED_CODES);
  });
});

describe("random codes", () => {
  const bytesFrom = (random: () => number) => (count: number) =>
    Uint8Array.from({ length: count }, () => Math.floor(random() * 256));

  test("have seven letters without look-alikes, and are custom codes too", () => {
    const random = seededRandom(7);
    for (let round = 0; round < 2_000; round++) {
      const code = randomCode(bytesFrom(random));
      expect(code).toHaveLength(RANDOM_CODE_CHARS);
      expect(code).toMatch(new RegExp(`^[${CODE_ALPHABET}]+$`));
      expect(checkCustomCode(code).kind).toBe("ok");
    }
    expect(CODE_ALPHABET).not.toMatch(/[01oilaeu]/i);
    expect(new Set(CODE_ALPHABET).size).toBe(CODE_ALPHABET.length);
  });

  test("every letter is as likely as every other: of all 256 bytes each has nine, and four are thrown away", () => {
    const letters = Array.from({ length: 256 }, (_, byte) => {
      const filler = byte < 252 ? 0 : 1;
      const code = randomCode((count) => new Uint8Array(count).fill(filler).fill(byte, 0, 1));
      return byte < 252 ? code[0]! : code;
    });
    expect(letters.slice(252)).toEqual(Array.from({ length: 4 }, () => "3333333"));
    for (const letter of CODE_ALPHABET) expect(letters.filter((one) => one === letter)).toHaveLength(9);
  });

  test("bytes that are no random ones are a fault, not an endless loop", () => {
    expect(() => randomCode((count) => new Uint8Array(count).fill(255))).toThrow(
      "64 random bytes gave 0 letters",
    );
  });
});

test("a short URL has one slash between base and code", () => {
  expect(shortUrl("https://go.example.org", "abc")).toBe("https://go.example.org/abc");
  expect(shortUrl("https://go.example.org/", "abc")).toBe("https://go.example.org/abc");
  expect(shortUrl("https://example.org/s//", "abc")).toBe("https://example.org/s/abc");
});
