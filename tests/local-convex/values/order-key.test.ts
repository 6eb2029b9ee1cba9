import { type Value, compareValues as official, convexToJson } from "convex/values";
import { describe, expect, test } from "vitest";
import { compareValues } from "../../../lib/local-convex/values/compare.ts";
import type { JsonObject, JsonValue } from "../../../lib/local-convex/values/json.ts";
import {
  bufferToKey,
  encodeCreationTime,
  encodeKeyPart,
  getField,
  keySuccessor,
  keyToBuffer,
} from "../../../lib/local-convex/values/order-key.ts";
import { RandomValues, seededRandom } from "../../helpers/random-values.ts";

const ROUNDS = 20_000;

function encoded(value: Value | undefined): JsonValue | undefined {
  return value === undefined ? undefined : convexToJson(value);
}

function orderOf(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

describe("encodeKeyPart", () => {
  test("keys of random values compare as Convex compares the values", () => {
    const random = new RandomValues(seededRandom(1));
    for (let round = 0; round < ROUNDS; round++) {
      const a = random.below(20) === 0 ? undefined : random.value();
      const b = random.below(10) === 0 ? a : random.value();
      const expected = Math.sign(official(a, b));
      const keyA = encodeKeyPart(encoded(a));
      const keyB = encodeKeyPart(encoded(b));
      const seen = {
        a,
        b,
        order: orderOf(keyA, keyB),
        bytes: Buffer.compare(keyToBuffer(keyA), keyToBuffer(keyB)),
      };
      expect(seen).toEqual({ a, b, order: expected, bytes: expected });
      expect(Math.sign(compareValues(encoded(a), encoded(b)))).toBe(expected);
    }
  });

  test("joined keys compare as tuples of values", () => {
    const random = new RandomValues(seededRandom(2));
    const tuple = () => [random.value(1), random.value(1), random.value(1)];
    for (let round = 0; round < ROUNDS; round++) {
      const a = tuple();
      // Sharing a first part makes the second one decide.
      const b = random.below(2) === 0 ? [a[0]!, random.value(1), a[2]!] : tuple();
      const key = (parts: Value[]) => parts.map((part) => encodeKeyPart(encoded(part))).join("");
      expect({ a, b, order: orderOf(key(a), key(b)) }).toEqual({ a, b, order: Math.sign(official(a, b)) });
    }
  });

  test("the types are in Convex's order", () => {
    const ascending: (Value | undefined)[] = [
      undefined,
      null,
      -(1n << 63n),
      0n,
      (1n << 63n) - 1n,
      -Infinity,
      -1,
      -0,
      0,
      1,
      Infinity,
      Number.NaN,
      false,
      true,
      "",
      "\0",
      "a",
      "a\0",
      "ab",
      "\ue000",
      "😀",
      new ArrayBuffer(0),
      new ArrayBuffer(1),
      [],
      [null],
      [null, null],
      [1],
      {},
      { a: 1 },
      { a: 1, b: 0 },
      { b: 0 },
    ];
    const keys = ascending.map((value) => encodeKeyPart(encoded(value)));
    expect(keys.toSorted()).toEqual(keys);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("a negative NaN sorts below every number", () => {
    const negativeNaN = { $float: Buffer.from([0, 0, 0, 0, 0, 0, 0xf8, 0xff]).toString("base64") };
    expect(encodeKeyPart(negativeNaN) < encodeKeyPart(encoded(-Infinity))).toBe(true);
  });

  test("an unresolved commit timestamp sorts as the largest int64", () => {
    expect(encodeKeyPart({ $commitTs: null })).toBe(encodeKeyPart(encoded((1n << 63n) - 1n)));
  });

  test("a malformed int64 is refused", () => {
    expect(() => encodeKeyPart({ $integer: "AAA=" })).toThrow("Received 2 bytes, expected 8 for $integer");
    expect(() => encodeKeyPart({ $integer: 1 })).toThrow("Malformed $integer field");
  });

  test("a creation time has the key of its number", () => {
    expect(encodeCreationTime(1769815800000.25)).toBe(encodeKeyPart(1769815800000.25));
  });
});

describe("keys as bytes", () => {
  test("a key survives the way into a BLOB and back", () => {
    const random = new RandomValues(seededRandom(3));
    for (let round = 0; round < 1000; round++) {
      const key = encodeKeyPart(encoded(random.value()));
      expect(bufferToKey(keyToBuffer(key))).toBe(key);
    }
  });

  test("a view into a larger buffer gives only its own bytes", () => {
    expect(bufferToKey(new Uint8Array([9, 65, 66, 9]).subarray(1, 3))).toBe("AB");
  });

  test.each([
    ["ab", "ac"],
    ["a\xff", "b"],
    ["a\xff\xff", "b"],
    ["\0", "\x01"],
    ["", null],
    ["\xff\xff", null],
  ])("keySuccessor(%j) is %j", (prefix, successor) => {
    expect(keySuccessor(prefix)).toBe(successor);
  });

  test("the successor is above every key with the prefix and not above other keys", () => {
    const random = new RandomValues(seededRandom(4));
    for (let round = 0; round < 2000; round++) {
      const prefix = encodeKeyPart(encoded(random.value(1)));
      const successor = keySuccessor(prefix)!;
      expect(`${prefix}${encodeKeyPart(encoded(random.value()))}` < successor).toBe(true);
    }
  });

  test("no key is a prefix of the key of another value, so a prefix range finds one value only", () => {
    const random = new RandomValues(seededRandom(8));
    const keys = Array.from({ length: 5000 }, () => encodeKeyPart(encoded(random.value(2))));
    for (const text of ["", "a", "a\0", "a\0\0", "a\u0001", "a\0\u0001"]) keys.push(encodeKeyPart(text));
    // Sorted, a prefix stands directly before the first key that starts with it.
    const sorted = [...new Set(keys)].toSorted();
    expect(sorted.filter((key, i) => sorted[i + 1]?.startsWith(key))).toEqual([]);
  });
});

describe("getField", () => {
  const document: JsonObject = { a: { b: { c: 1 } }, list: [{ b: 2 }], text: "abc", none: null, "x y": 3 };
  test.each([
    ["a.b.c", 1],
    ["a.b", { c: 1 }],
    ["x y", 3],
    ["a.x.c", undefined],
    ["a.b.c.d", undefined],
    ["list.0", undefined],
    ["list.length", undefined],
    ["text.length", undefined],
    ["none.a", undefined],
    ["toString", undefined],
    ["a.constructor", undefined],
    ["__proto__", undefined],
  ])("%s", (path, expected) => {
    expect(getField(document, path)).toEqual(expected);
  });
});
