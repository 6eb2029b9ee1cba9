import { type GenericValidator, type Value, convexToJson, v } from "convex/values";
import { describe, expect, test } from "vitest";
import { encodeId } from "../../../lib/local-convex/values/doc-id.ts";
import type { JsonValue } from "../../../lib/local-convex/values/json.ts";
import { renderValidator } from "../../../lib/local-convex/values/render-validator.ts";
import {
  type DocumentCheck,
  type ValidatorJson,
  compileDocumentValidator,
  compileValidator,
} from "../../../lib/local-convex/values/validator.ts";

const INTERNAL = Uint8Array.from({ length: 16 }, (_, i) => i);
const USER_ID = encodeId(10001, INTERNAL);
const JOB_ID = encodeId(10002, INTERNAL);
const SYSTEM_ID = encodeId(1, INTERNAL);
const UNKNOWN_ID = encodeId(10999, INTERNAL);
const TABLES = new Map([
  [10001, "users"],
  [10002, "jobs"],
  [1, "_storage"],
]);
const resolveTable = (tableNumber: number) => TABLES.get(tableNumber) ?? null;

/** The JSON a function's `exportArgs` would hold; the library keeps the property out of its public types. */
function exported(validator: GenericValidator): ValidatorJson {
  const json: ValidatorJson = Reflect.get(validator, "json");
  return json;
}

function failureOf(validator: GenericValidator, value: Value | undefined): string | null {
  const json = value === undefined ? undefined : convexToJson(value);
  return compileValidator(exported(validator))(json, resolveTable)?.message ?? null;
}

function mismatch(value: string, validator: string, path = ""): string {
  return `Value does not match validator.\n${path}\nValue: ${value}\nValidator: ${validator}`;
}

function documentCheck(validator: GenericValidator): DocumentCheck {
  return compileDocumentValidator(exported(validator));
}

const job = v.object({ id: v.id("users"), units: v.number(), note: v.optional(v.string()) });
const JOB_TEXT = 'v.object({id: v.id("users"), note: v.optional(v.string()), units: v.float64()})';

describe("accepted values", () => {
  test.each<[string, GenericValidator, Value]>([
    ["null", v.null(), null],
    ["number", v.number(), 1.5],
    ["special number", v.number(), Number.NaN],
    ["bigint", v.int64(), 1n],
    ["boolean", v.boolean(), false],
    ["string", v.string(), ""],
    ["bytes", v.bytes(), new ArrayBuffer(2)],
    ["any", v.any(), { deep: [1n] }],
    ["id", v.id("users"), USER_ID],
    ["id of a system table", v.id("_storage"), SYSTEM_ID],
    ["literal", v.literal("a"), "a"],
    ["number literal", v.literal(5), 5],
    ["bigint literal", v.literal(5n), 5n],
    ["array", v.array(v.number()), [1, 2, -0]],
    ["empty array", v.array(v.null()), []],
    ["object", job, { id: USER_ID, units: 1 }],
    ["object with its optional field", job, { id: USER_ID, units: 1, note: "x" }],
    ["empty object", v.object({}), {}],
    ["optional field named like an inherited one", v.object({ toString: v.optional(v.string()) }), {}],
    ["record", v.record(v.string(), v.number()), { a: 1, "b c": 2 }],
    ["record of ids", v.record(v.id("users"), v.null()), { [USER_ID]: null }],
    ["union", v.union(v.number(), v.null()), null],
    ["union of literals", v.union(v.literal("a"), v.literal("b"), v.null()), "b"],
  ])("%s", (_name, validator, value) => {
    expect(failureOf(validator, value)).toBeNull();
  });
});

describe("failures in Convex's words", () => {
  test.each<[string, GenericValidator, Value | undefined, string]>([
    ["a wrong type at the top", v.string(), 5, mismatch("5.0", "v.string()")],
    ["an int64 for a float", v.number(), 5n, mismatch("5", "v.float64()")],
    ["a float for an int64", v.int64(), 5, mismatch("5.0", "v.int64()")],
    ["null for a boolean", v.boolean(), null, mismatch("null", "v.boolean()")],
    ["a string for null", v.null(), 'a"b\n', mismatch('"a\\"b\\n"', "v.null()")],
    ["bytes for a string", v.string(), Uint8Array.from([1, 2]).buffer, mismatch('b"AQI="', "v.string()")],
    ["a string for bytes", v.bytes(), "x", mismatch('"x"', "v.bytes()")],
    ["an array for an object", v.object({}), [1, [true]], mismatch("[1.0, [true]]", "v.object({})")],
    ["bytes for an object", v.object({}), new ArrayBuffer(0), mismatch('b""', "v.object({})")],
    [
      "an int64 for a record",
      v.record(v.string(), v.any()),
      1n,
      mismatch("1", "v.record(v.string(), v.any())"),
    ],
    ["nothing at all", v.string(), undefined, mismatch("undefined", "v.string()")],
    [
      "a missing required field",
      job,
      { units: 1 },
      "Object is missing the required field `id`. Consider wrapping the field validator in `v.optional(...)` " +
        `if this is expected.\n\nObject: {units: 1.0}\nValidator: ${JOB_TEXT}`,
    ],
    [
      "an extra field",
      job,
      { id: USER_ID, units: 1, zebra: 1, extra: { a: [] } },
      "Object contains extra field `extra` that is not in the validator.\n\n" +
        `Object: {extra: {a: []}, id: "${USER_ID}", units: 1.0, zebra: 1.0}\nValidator: ${JOB_TEXT}`,
    ],
    [
      "an extra field in a nested object",
      v.object({ list: v.array(v.object({})) }),
      { list: [{}, { b: 1 }] },
      "Object contains extra field `b` that is not in the validator.\nPath: .list[1]\nObject: {b: 1.0}\nValidator: v.object({})",
    ],
    [
      "a wrong type in an array in an object",
      v.object({ a: v.array(v.object({ b: v.string() })) }),
      { a: [{ b: 1 }] },
      mismatch("1.0", "v.string()", "Path: .a[0].b"),
    ],
    [
      "a wrong value in a record",
      v.object({ r: v.record(v.string(), v.number()) }),
      { r: { a: "x" } },
      mismatch('"x"', "v.float64()", "Path: .r.values()"),
    ],
    [
      "a wrong key in a record",
      v.record(v.id("users"), v.number()),
      { a: 1 },
      mismatch('"a"', 'v.id("users")', "Path: .keys()"),
    ],
    ["no member of a union", v.union(v.null(), job), 1, mismatch("1.0", `v.union(v.null(), ${JOB_TEXT})`)],
    ["the one member of a union", v.union(v.string()), 1, mismatch("1.0", "v.string()")],
    [
      "no literal of a union",
      v.union(v.literal("a"), v.literal("b")),
      "c",
      mismatch('"c"', 'v.union(v.literal("a"), v.literal("b"))'),
    ],
    ["another literal", v.literal("a"), "b", '`"b"` does not match literal validator `v.literal("a")`.'],
    [
      "another literal with a path",
      v.object({ kind: v.literal(5) }),
      { kind: true },
      "`true` does not match literal validator `v.literal(5.0)`.Path: .kind",
    ],
    [
      "a float for an int64 literal",
      v.literal(5n),
      5,
      "`5.0` does not match literal validator `v.literal(<bigint>)`.",
    ],
    ["-0 for the literal 0", v.literal(0), -0, "`-0.0` does not match literal validator `v.literal(0.0)`."],
    [
      "an id of another table",
      v.object({ user: v.id("users") }),
      { user: JOB_ID },
      `Found ID "${JOB_ID}" from table \`jobs\`, which does not match the table name in validator ` +
        '`v.id("users")`.Path: .user',
    ],
    [
      "an id of a system table",
      v.id("users"),
      SYSTEM_ID,
      `Found ID "${SYSTEM_ID}" from a system table, which does not match the table name in validator \`v.id("users")\`.`,
    ],
    [
      "an id of a table that does not exist",
      v.id("users"),
      UNKNOWN_ID,
      mismatch(`"${UNKNOWN_ID}"`, 'v.id("users")'),
    ],
    ["a text that is no id", v.id("users"), "nobody", mismatch('"nobody"', 'v.id("users")')],
    ["a number for an id", v.id("users"), 7, mismatch("7.0", 'v.id("users")')],
    [
      "an inherited name does not count as a field",
      v.object({ constructor: v.any() }),
      {},
      "Object is missing the required field `constructor`. Consider wrapping the field validator in " +
        "`v.optional(...)` if this is expected.\n\nObject: {}\nValidator: v.object({constructor: v.any()})",
    ],
  ])("%s", (_name, validator, value, message) => {
    expect(failureOf(validator, value)).toBe(message);
  });

  test.each<[Value, string]>([
    [1e15, "1000000000000000.0"],
    [1e16, "1e16"],
    [1.5e300, "1.5e300"],
    [0.0001, "0.0001"],
    [0.00001, "1e-5"],
    [-2.5, "-2.5"],
    [Number.NaN, "NaN"],
    [-Infinity, "-inf"],
    [-(1n << 63n), "-9223372036854775808"],
    ["\0\t\\\u0007é", '"\\0\\t\\\\\\u{7}é"'],
  ])("%s is written %s", (value, text) => {
    expect(failureOf(v.null(), value)).toBe(mismatch(text, "v.null()"));
  });
});

describe("documents", () => {
  const system = { _id: JOB_ID, _creationTime: 1 };

  test("system fields are neither required nor refused", () => {
    const table = documentCheck(v.object({ units: v.number() }));
    expect(table({ units: 1 }, resolveTable)).toBeNull();
    expect(table({ ...system, units: 1 }, resolveTable)).toBeNull();
  });

  test("system fields in the validator are left out", () => {
    const table = documentCheck(
      v.object({ _id: v.id("users"), _creationTime: v.number(), units: v.number() }),
    );
    expect(table({ units: 1 }, resolveTable)).toBeNull();
  });

  test("a failure shows the document without its system fields", () => {
    const table = documentCheck(v.object({ units: v.number() }));
    expect(table({ ...system, units: 1, more: 2 }, resolveTable)?.message).toBe(
      "Object contains extra field `more` that is not in the validator.\n\n" +
        "Object: {more: 2.0, units: 1.0}\nValidator: v.object({units: v.float64()})",
    );
  });

  test("a table may be a union of objects", () => {
    const table = documentCheck(v.union(v.object({ a: v.string() }), v.object({ b: v.string() })));
    expect(table({ ...system, b: "x" }, resolveTable)).toBeNull();
    expect(table({ ...system, c: "x" }, resolveTable)?.message).toContain("Value does not match validator.");
  });

  test("a table without a schema takes any document", () => {
    expect(documentCheck(v.any())({ ...system, anything: [1] }, resolveTable)).toBeNull();
  });

  test("a field whose commit timestamp is still open is an int64", () => {
    const document: Record<string, JsonValue> = { at: { $commitTs: null } };
    expect(documentCheck(v.object({ at: v.int64() }))(document, resolveTable)).toBeNull();
  });
});

test("a validator renders as its source, fields sorted", () => {
  const validator = v.object({
    z: v.union(v.null(), v.literal("a"), v.literal(true)),
    a: v.optional(v.record(v.string(), v.array(v.bytes()))),
    m: v.int64(),
  });
  expect(renderValidator(exported(validator))).toBe(
    "v.object({a: v.optional(v.record(v.string(), v.array(v.bytes()))), m: v.int64(), " +
      'z: v.union(v.null(), v.literal("a"), v.literal(true))})',
  );
});

test("a validator of a type this engine does not know is refused when it is compiled", () => {
  const unknown: ValidatorJson = JSON.parse('{"type":"decimal"}');
  expect(() => compileValidator(unknown)).toThrow('Unknown validator {"type":"decimal"}');
});
