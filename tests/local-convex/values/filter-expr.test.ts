import { describe, expect, test } from "vitest";
import { convexToJson } from "convex/values";
import {
  type FilterExpression,
  FilterError,
  compileFilter,
} from "../../../lib/local-convex/values/filter-expr.ts";
import type { JsonObject, JsonValue } from "../../../lib/local-convex/values/json.ts";

const int = (value: bigint): JsonValue => convexToJson(value);
const field = (path: string): FilterExpression => ({ $field: path });
const literal = (value: JsonValue): FilterExpression => ({ $literal: value });
const UNDEFINED = literal({ $undefined: null });
const NAN = literal(convexToJson(Number.NaN));
const MINUS_ZERO = literal(convexToJson(-0));
const FAILS = field("units");

const document: JsonObject = {
  name: "b",
  units: 5,
  count: int(5n),
  owner: { plan: "pro" },
  none: null,
  on: true,
};

function run(expression: FilterExpression): boolean {
  return compileFilter(expression)(document);
}

describe("comparisons use the order of all values", () => {
  test.each<[string, FilterExpression, boolean]>([
    ["equal strings", { $eq: [field("name"), literal("b")] }, true],
    ["equal nested field", { $eq: [field("owner.plan"), literal("pro")] }, true],
    ["equal objects", { $eq: [field("owner"), literal({ plan: "pro" })] }, true],
    ["unequal", { $neq: [field("units"), literal(6)] }, true],
    ["less", { $lt: [field("units"), literal(5.5)] }, true],
    ["not less", { $lt: [field("units"), literal(5)] }, false],
    ["less or equal", { $lte: [field("units"), literal(5)] }, true],
    ["greater", { $gt: [field("units"), literal(4)] }, true],
    ["greater or equal", { $gte: [field("units"), literal(6)] }, false],
    ["an int64 never equals a float", { $eq: [field("count"), field("units")] }, false],
    ["an int64 is below every float", { $lt: [field("count"), literal(-1e9)] }, true],
    ["equal int64s", { $eq: [field("count"), literal(int(5n))] }, true],
    ["a missing field is undefined", { $eq: [field("owner.missing"), UNDEFINED] }, true],
    ["a missing field is not null", { $eq: [field("missing"), literal(null)] }, false],
    ["undefined is below null", { $lt: [field("missing"), field("none")] }, true],
    ["a string is above a number", { $gt: [field("name"), field("units")] }, true],
    ["NaN equals NaN", { $eq: [NAN, NAN] }, true],
    ["NaN is above every number", { $gt: [NAN, literal(1e308)] }, true],
    ["-0 is not 0", { $eq: [MINUS_ZERO, literal(0)] }, false],
    ["-0 is below 0", { $lt: [MINUS_ZERO, literal(0)] }, true],
    ["strings compare by code point", { $lt: [literal("\ufffd"), literal("😀")] }, true],
  ])("%s", (_name, expression, expected) => {
    expect(run(expression)).toBe(expected);
  });
});

describe("logic stops as early as real Convex does", () => {
  test.each<[string, FilterExpression, boolean]>([
    ["an empty and", { $and: [] }, true],
    ["an empty or", { $or: [] }, false],
    ["and", { $and: [field("on"), { $eq: [field("units"), literal(5)] }] }, true],
    ["and stops at the first false", { $and: [{ $not: field("on") }, FAILS] }, false],
    ["or stops at the first true", { $or: [field("on"), FAILS] }, true],
    ["not", { $not: field("on") }, false],
  ])("%s", (_name, expression, expected) => {
    expect(run(expression)).toBe(expected);
  });

  test("what is evaluated must be a boolean", () => {
    expect(() => run({ $and: [field("on"), FAILS] })).toThrow(
      "Cannot use value 5.0 (type Float64) as a Boolean",
    );
    expect(() => run(field("name"))).toThrow('Cannot use value "b" (type String) as a Boolean');
    expect(() => run({ $not: field("missing") })).toThrow(
      "Cannot use value undefined (type Undefined) as a Boolean",
    );
    expect(() => run({ $or: [field("none")] })).toThrow("Cannot use value null (type Null) as a Boolean");
  });
});

describe("arithmetic", () => {
  const equals = (left: FilterExpression, right: JsonValue): FilterExpression => ({
    $eq: [left, literal(right)],
  });

  test.each<[string, FilterExpression]>([
    ["floats add", equals({ $add: [field("units"), literal(2)] }, 7)],
    ["floats subtract", equals({ $sub: [field("units"), literal(2)] }, 3)],
    ["floats multiply", equals({ $mul: [field("units"), literal(2)] }, 10)],
    ["floats divide", equals({ $div: [field("units"), literal(2)] }, 2.5)],
    ["floats divide by zero", equals({ $div: [field("units"), literal(0)] }, convexToJson(Infinity))],
    ["a float remainder keeps the sign", equals({ $mod: [literal(-5), literal(3)] }, -2)],
    ["floats negate", equals({ $neg: field("units") }, -5)],
    ["zero negates to -0", equals({ $neg: literal(0) }, convexToJson(-0))],
    ["int64s add", equals({ $add: [field("count"), literal(int(2n))] }, int(7n))],
    ["int64s divide towards zero", equals({ $div: [literal(int(-7n)), literal(int(2n))] }, int(-3n))],
    ["an int64 remainder keeps the sign", equals({ $mod: [literal(int(-7n)), literal(int(2n))] }, int(-1n))],
    ["int64s negate", equals({ $neg: field("count") }, int(-5n))],
  ])("%s", (_name, expression) => {
    expect(run(expression)).toBe(true);
  });

  test.each<[string, FilterExpression, string]>([
    [
      "mixed types",
      { $add: [field("units"), field("count")] },
      "Cannot add 5.0 (type Float64) and 5 (type Int64)",
    ],
    [
      "strings",
      { $sub: [field("name"), field("units")] },
      'Cannot subtract "b" (type String) and 5.0 (type Float64)',
    ],
    [
      "a missing field",
      { $mul: [field("x"), literal(1)] },
      "Cannot multiply undefined (type Undefined) and 1.0 (type Float64)",
    ],
    [
      "booleans",
      { $div: [field("on"), field("on")] },
      "Cannot divide true (type Boolean) and true (type Boolean)",
    ],
    ["null", { $mod: [field("none"), literal(1)] }, "Cannot mod null (type Null) and 1.0 (type Float64)"],
    ["a negated string", { $neg: field("name") }, 'Cannot negate "b" (type String)'],
    [
      "an int64 divided by zero",
      { $div: [field("count"), literal(int(0n))] },
      "Cannot divide 5 (type Int64) and 0 (type Int64): the result is not an Int64",
    ],
    [
      "an int64 overflow",
      { $add: [literal(int((1n << 63n) - 1n)), literal(int(1n))] },
      "the result is not an Int64",
    ],
    [
      "the negated smallest int64",
      { $neg: literal(int(-(1n << 63n))) },
      "Cannot negate -9223372036854775808 (type Int64)",
    ],
  ])("%s is an EvalError", (_name, expression, message) => {
    const failing = () => run({ $eq: [expression, literal(0)] });
    expect(failing).toThrow(message);
    expect(failing).toThrow(FilterError);
  });
});

test("an unknown operator is refused when the filter is compiled", () => {
  const unknown: FilterExpression = JSON.parse('{"$like":[{"$field":"name"},{"$literal":"b"}]}');
  expect(() => compileFilter(unknown)).toThrow("Unknown filter expression");
});
