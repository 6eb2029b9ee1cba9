import { compareValues } from "./compare.ts";
import { type JsonObject, type JsonValue, encodeFloat64, encodeInt64, numericOf } from "./json.ts";
import { getField } from "./order-key.ts";
import { renderValue, typeName } from "./render.ts";

type Pair = [FilterExpression, FilterExpression];

/** A filter as the client library serializes it (facts §1.3). */
export type FilterExpression =
  | { $eq: Pair }
  | { $neq: Pair }
  | { $lt: Pair }
  | { $lte: Pair }
  | { $gt: Pair }
  | { $gte: Pair }
  | { $add: Pair }
  | { $sub: Pair }
  | { $mul: Pair }
  | { $div: Pair }
  | { $mod: Pair }
  | { $neg: FilterExpression }
  | { $not: FilterExpression }
  | { $and: FilterExpression[] }
  | { $or: FilterExpression[] }
  | { $field: string }
  | { $literal: JsonValue };

/** A filter that cannot be evaluated on some document, such as one that adds a string. A user error. */
export class FilterError extends Error {
  readonly code = "EvalError";
  override readonly name = "FilterError";
}

type Evaluate = (document: JsonObject) => JsonValue | undefined;

/**
 * Compiles a filter to a predicate on documents. The predicate throws FilterError where real Convex answers
 * with an EvalError; compiling throws it for an operator that does not exist.
 */
export function compileFilter(expression: FilterExpression): (document: JsonObject) => boolean {
  const evaluate = compile(expression);
  return (document) => asBoolean(evaluate(document));
}

function compile(expression: FilterExpression): Evaluate {
  if ("$field" in expression) return (document) => getField(document, expression.$field);
  if ("$literal" in expression) {
    const literal = literalValue(expression.$literal);
    return () => literal;
  }
  if ("$and" in expression) return compileEvery(expression.$and, false);
  if ("$or" in expression) return compileEvery(expression.$or, true);
  if ("$not" in expression) {
    const inner = compile(expression.$not);
    return (document) => !asBoolean(inner(document));
  }
  if ("$neg" in expression) {
    const inner = compile(expression.$neg);
    return (document) => negate(inner(document));
  }
  return compilePair(expression);
}

/** `and` stops at the first false, `or` at the first true; what follows is not evaluated and cannot fail. */
function compileEvery(expressions: FilterExpression[], stopAt: boolean): Evaluate {
  const parts = expressions.map(compile);
  return (document) => {
    for (const part of parts) if (asBoolean(part(document)) === stopAt) return stopAt;
    return !stopAt;
  };
}

const COMPARISONS: Record<string, (order: number) => boolean> = {
  $eq: (order) => order === 0,
  $neq: (order) => order !== 0,
  $lt: (order) => order < 0,
  $lte: (order) => order <= 0,
  $gt: (order) => order > 0,
  $gte: (order) => order >= 0,
};

interface Arithmetic {
  verb: string;
  int64(a: bigint, b: bigint): bigint;
  float64(a: number, b: number): number;
}

const ARITHMETIC: Record<string, Arithmetic> = {
  $add: { verb: "add", int64: (a, b) => a + b, float64: (a, b) => a + b },
  $sub: { verb: "subtract", int64: (a, b) => a - b, float64: (a, b) => a - b },
  $mul: { verb: "multiply", int64: (a, b) => a * b, float64: (a, b) => a * b },
  $div: { verb: "divide", int64: (a, b) => a / b, float64: (a, b) => a / b },
  $mod: { verb: "mod", int64: (a, b) => a % b, float64: (a, b) => a % b },
};

function compilePair(expression: FilterExpression): Evaluate {
  const [operator, operands] = Object.entries(expression)[0] ?? ["", []];
  const comparison = COMPARISONS[operator];
  const arithmetic = ARITHMETIC[operator];
  if ((comparison === undefined && arithmetic === undefined) || !isPair(operands)) {
    throw new FilterError(`Unknown filter expression ${JSON.stringify(expression)}`);
  }
  const left = compile(operands[0]);
  const right = compile(operands[1]);
  if (comparison !== undefined) {
    return (document) => comparison(compareValues(left(document), right(document)));
  }
  return (document) => calculate(arithmetic!, left(document), right(document));
}

function isPair(operands: unknown): operands is Pair {
  return Array.isArray(operands) && operands.length === 2;
}

function calculate(
  arithmetic: Arithmetic,
  left: JsonValue | undefined,
  right: JsonValue | undefined,
): JsonValue {
  const a = numericOf(left);
  const b = numericOf(right);
  if (typeof a === "number" && typeof b === "number") return encodeFloat64(arithmetic.float64(a, b));
  const failure = `Cannot ${arithmetic.verb} ${describe(left)} and ${describe(right)}`;
  if (typeof a !== "bigint" || typeof b !== "bigint") throw new FilterError(failure);
  try {
    return encodeInt64(arithmetic.int64(a, b));
  } catch (cause) {
    // Division by zero, or a result beyond 64 bits.
    throw new FilterError(`${failure}: the result is not an Int64`, { cause });
  }
}

function negate(value: JsonValue | undefined): JsonValue {
  const number = numericOf(value);
  if (typeof number === "number") return encodeFloat64(-number);
  // The smallest int64 has no positive counterpart.
  if (number === null || BigInt.asIntN(64, -number) !== -number) {
    throw new FilterError(`Cannot negate ${describe(value)}`);
  }
  return encodeInt64(-number);
}

function asBoolean(value: JsonValue | undefined): boolean {
  if (typeof value === "boolean") return value;
  throw new FilterError(`Cannot use value ${describe(value)} as a Boolean`);
}

function describe(value: JsonValue | undefined): string {
  return `${renderValue(value)} (type ${typeName(value)})`;
}

/** A literal `undefined` is written as `{"$undefined": null}`. */
function literalValue(literal: JsonValue): JsonValue | undefined {
  if (typeof literal === "object" && literal !== null && !Array.isArray(literal) && "$undefined" in literal) {
    return undefined;
  }
  return literal;
}
