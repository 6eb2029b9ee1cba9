import { describe, expect, test } from "vitest";
import { decodeId, decodeIdOrExplain, encodeId } from "../../../lib/local-convex/values/doc-id.ts";
import { seededRandom } from "../../helpers/random-values.ts";

const COUNTING = Uint8Array.from({ length: 16 }, (_, i) => i);

describe("encodeId", () => {
  test("gives the id that the official decoder was seen to accept", () => {
    expect(encodeId(10001, COUNTING)).toBe("j57000820c20a1g7104gm2rc1m70ynr8");
  });

  test("gives the id that real Convex pins for table 1017", () => {
    const bytes = [251];
    for (let i = 1; i < 16; i++) bytes.push((bytes[i - 1]! * 251) & 255);
    expect(encodeId(1017, Uint8Array.from(bytes))).toBe("z43zp6c3e75gkmz1kfwj6mbbx5sw281h");
  });

  test("takes bytes and a binary string alike", () => {
    expect(encodeId(10001, Buffer.from(COUNTING).toString("latin1"))).toBe(encodeId(10001, COUNTING));
  });

  test.each([0, -1, 1.5, 2 ** 32])("refuses table number %d", (tableNumber) => {
    expect(() => encodeId(tableNumber, COUNTING)).toThrow(RangeError);
  });

  test("refuses an internal id that is not 16 bytes", () => {
    expect(() => encodeId(10001, COUNTING.subarray(1))).toThrow(RangeError);
  });
});

describe("decodeId", () => {
  test("gives back what was encoded, for every length of table number", () => {
    const random = seededRandom(5);
    const borders = [1, 127, 128, 10001, 16383, 16384, 2097151, 2097152, 268435455, 268435456, 4294967295];
    for (let round = 0; round < 3000; round++) {
      const tableNumber = borders[round % borders.length]!;
      const bytes = Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256));
      const internal = Buffer.from(bytes).toString("latin1");
      expect(decodeId(encodeId(tableNumber, bytes))).toEqual({ tableNumber, internal });
    }
  });

  test("accepts no other text than the one an id is written as", () => {
    const id = encodeId(10001, COUNTING);
    const others: string[] = [];
    const alphabet = "0123456789abcdefghjkmnpqrstvwxyzA-";
    for (let at = 0; at < id.length; at++) {
      for (const char of alphabet) {
        const text = id.slice(0, at) + char + id.slice(at + 1);
        const decoded = decodeId(text);
        if (decoded !== null && encodeId(decoded.tableNumber, decoded.internal) !== text) others.push(text);
      }
    }
    expect(others).toEqual([]);
    expect(decodeId(id.toUpperCase())).toBeNull();
  });

  test.each([
    ["abc", "Unable to decode ID: Invalid ID length 3"],
    ["", "Unable to decode ID: Invalid ID length 0"],
    ["é".repeat(3), "Unable to decode ID: Invalid ID length 6"],
    ["j57000820c20a1g7104gm2rc1m70ynr8x", "Unable to decode ID: Invalid ID length 33"],
    ["j57000820c20a1g7104gm2rc1m70ynri", "Unable to decode ID: ID wasn't valid base32"],
    ["é7000820c20a1g7104gm2rc1m70ynr80", "Unable to decode ID: ID wasn't valid base32"],
    ["zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "Unable to decode ID: Invalid table number"],
    // Table number 0, and 1 written with a needless second group.
    ["0".repeat(31), "Unable to decode ID: Invalid table number"],
    ["g4" + "0".repeat(30), "Unable to decode ID: Invalid table number"],
  ])("explains %s", (text, message) => {
    expect(decodeIdOrExplain(text)).toEqual({ ok: false, message });
  });

  test("explains a wrong checksum", () => {
    const explained = decodeIdOrExplain("j57000820c20a1g7104gm2rc1m70ynr0");
    expect(explained).toMatchObject({ ok: false });
    expect(explained).toHaveProperty(
      "message",
      expect.stringMatching(/^Unable to decode ID: Invalid ID version \d+ \(expected \d+\)$/),
    );
  });
});
