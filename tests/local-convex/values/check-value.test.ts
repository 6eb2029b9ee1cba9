import { type Value, convexToJson, getConvexSize, getDocumentSize } from "convex/values";
import { describe, expect, test } from "vitest";
import {
  checkArgs,
  checkDocument,
  checkValue,
  valueSize,
} from "../../../lib/local-convex/values/check-value.ts";
import type { JsonObject, JsonValue } from "../../../lib/local-convex/values/json.ts";
import { RandomValues, seededRandom } from "../../helpers/random-values.ts";

function jsonObject(document: Record<string, Value>): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([field, value]) => [field, convexToJson(value)]));
}

function nested(levels: number): JsonValue {
  let value: JsonValue = 1;
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? { a: value } : [value];
  return value;
}

describe("sizes", () => {
  test("random values have the size the official library gives them", () => {
    const random = new RandomValues(seededRandom(6));
    for (let round = 0; round < 5000; round++) {
      const value = random.value();
      const json = convexToJson(value);
      expect(valueSize(json)).toBe(getConvexSize(value));
      expect(checkValue(json)).toBe(getConvexSize(value));
    }
  });

  test("a document counts the system fields it does not carry yet", () => {
    const random = new RandomValues(seededRandom(7));
    for (let round = 0; round < 1000; round++) {
      const document = random.object();
      expect(checkDocument(jsonObject(document))).toBe(getDocumentSize(document));
    }
    const id = "j57000820c20a1g7104gm2rc1m70ynr8";
    expect(checkDocument({ _id: id, _creationTime: 1, a: 1 })).toBe(checkDocument({ a: 1 }));
  });

  test("a document may have 1 MiB and no byte more", () => {
    const overhead = checkDocument({ text: "" });
    const room = 1024 * 1024 - overhead;
    expect(checkDocument({ text: "é".repeat(room / 2) })).toBe(1024 * 1024 - (room % 2));
    expect(() => checkDocument({ text: "a".repeat(room + 1) })).toThrow(
      "Value is too large (1 MiB > maximum size 1 MiB)",
    );
    expect(() => checkDocument({ text: "a".repeat(1.5 * 1024 * 1024 - overhead) })).toThrow(
      "Value is too large (1.5 MiB > maximum size 1 MiB)",
    );
  });
});

describe("nesting", () => {
  test("a document has at most 16 levels", () => {
    expect(() => checkDocument({ a: nested(15) })).not.toThrow();
    expect(() => checkDocument({ a: nested(16) })).toThrow(
      "Document is too nested (nested 17 levels deep > maximum nesting 16)",
    );
    // A refused document must not count against the next one.
    expect(() => checkDocument({ a: nested(15) })).not.toThrow();
  });

  test("a value has at most 64 levels, arguments 63", () => {
    expect(() => checkValue(nested(64))).not.toThrow();
    expect(() => checkArgs(nested(63))).not.toThrow();
    const text = "Value is too nested (nested 65 levels deep > maximum nesting 64)";
    expect(() => checkValue(nested(65))).toThrow(text);
    expect(() => checkArgs(nested(64))).toThrow(text);
    expect(() => checkValue(nested(50_000))).toThrow(text);
    expect(() => checkValue(nested(64))).not.toThrow();
  });
});

const LONG = "f".repeat(1025);
const BYTES_8 = "AAAAAAAAAAA=";

describe("refused values", () => {
  test.each<[string, JsonValue, string]>([
    [
      "an array beyond 8192",
      Array.from({ length: 9000 }, () => 1),
      "Array length is too long (9000 > maximum length 8192)",
    ],
    [
      "an object beyond 1024 fields",
      Object.fromEntries(Array.from({ length: 1025 }, (_, i) => [`f${i}`, 1])),
      "Object has too many fields (1025 > maximum number 1024)",
    ],
    ["an empty field name", { "": 1 }, "Field name cannot be empty"],
    ["a long field name", { [LONG]: 1 }, "Field name is too long (1025 > maximum 1024)"],
    ["a field name with $", { $a: 1 }, "Field name $a starts with '$', which is reserved."],
    ["a later field name with $", { a: 1, $b: 1 }, "Field name $b starts with '$', which is reserved."],
    [
      "an encoding with a second field",
      { $integer: BYTES_8, a: 1 },
      "Field name $integer starts with '$', which is reserved.",
    ],
    [
      "a non-ASCII field name",
      { fé: 1 },
      "Field name fé has invalid character 'é': Field names can only contain non-control ASCII characters",
    ],
    ["a control character in a field name", { "a\n": 1 }, "has invalid character '\n'"],
    ["a lone surrogate", { a: "x\ud800y" }, "is not valid Unicode"],
    ["a lone surrogate at the end", ["\ud800"], "is not valid Unicode"],
    ["a low surrogate alone", ["\udc00\ud800"], "is not valid Unicode"],
    ["an int64 of 7 bytes", { $integer: "AAAAAAAAAA==" }, "Received 7 bytes, expected 8 for $integer"],
    ["an int64 that is no text", { $integer: 1 }, "Malformed $integer field"],
    ["bytes in a second spelling", { $bytes: "AB==" }, "Malformed $bytes field"],
    ["bytes that are no base64", { $bytes: "!" }, "Malformed $bytes field"],
    ["a normal float in $float", { $float: "AAAAAAAA8D8=" }, "Float64 1 should be encoded as a number"],
    ["zero in $float", { $float: BYTES_8 }, "Float64 0 should be encoded as a number"],
    ["a number that JSON.parse overflowed", Infinity, "out of range"],
    ["a Set", { $set: [] }, "Received a Set which is no longer supported as a Convex type."],
    ["a Map", { $map: [] }, "Received a Map which is no longer supported as a Convex type."],
    ["a commit timestamp with a value", { $commitTs: 1 }, "Malformed $commitTs field"],
  ])("%s", (_name, value, message) => {
    expect(() => checkValue(value)).toThrow(message);
    expect(() => checkDocument({ inner: value })).toThrow(message);
  });

  test("a document field with an underscore", () => {
    expect(() => checkDocument({ _mine: 1 })).toThrow(
      "Field '_mine' starts with an underscore, which is only allowed for system fields like '_id'",
    );
    expect(() => checkDocument({ inner: { _mine: 1 } })).not.toThrow();
    expect(() => checkArgs({ _mine: 1 })).not.toThrow();
  });

  test("a document that is an encoding", () => {
    expect(() => checkArgs({ $undefined: null })).toThrow("Field name $undefined starts with '$'");
  });
});

test("every special value is accepted", () => {
  const specials = [Number.NaN, -0, Infinity, -Infinity, 1n, new ArrayBuffer(3), "😀", "", {}, []];
  for (const value of specials) expect(() => checkValue(convexToJson(value))).not.toThrow();
  expect(() => checkDocument({ at: { $commitTs: null } })).not.toThrow();
});
