/**
 * A Convex value in its JSON encoding, as `JSON.parse` returns it. The types JSON lacks are objects with one
 * `$` field: `{"$integer": base64}`, `{"$float": base64}`, `{"$bytes": base64}` and `{"$commitTs": null}`.
 * Everything in this folder works on this form, because it is what crosses the syscall boundary and what is stored.
 */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [field: string]: JsonValue;
}

/** The Convex types by the names their error texts use. `undefined` is a missing field. */
export type ValueType =
  | "undefined"
  | "null"
  | "int64"
  | "float64"
  | "boolean"
  | "string"
  | "bytes"
  | "array"
  | "object";

/**
 * The Convex type of an encoded value. The `$commitTs` placeholder counts as the int64 it will become.
 * A user field can never start with `$`, so the first `$` field found decides.
 */
export function typeOf(value: JsonValue | undefined): ValueType {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return "float64";
    case "boolean":
      return "boolean";
    case "undefined":
      return "undefined";
    default:
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  for (const field in value) {
    if (field.charCodeAt(0) !== 36) return "object";
    if (field === "$integer" || field === "$commitTs") return "int64";
    if (field === "$float") return "float64";
    if (field === "$bytes") return "bytes";
    return "object";
  }
  return "object";
}

/** Bytes of a base64 text as a binary string (one char, 0 to 255, a byte). */
export function binaryFromBase64(text: string): string {
  return Buffer.from(text, "base64").toString("latin1");
}

/** The text inside `{"$integer": text}`, `{"$float": text}` or `{"$bytes": text}`. */
export function encodedText(value: JsonObject, field: "$integer" | "$float" | "$bytes"): string {
  const text = value[field];
  if (typeof text !== "string") throw new TypeError(`Malformed ${field} field on ${JSON.stringify(value)}`);
  return text;
}

const scratch = new DataView(new ArrayBuffer(8));
const MAX_INT64 = (1n << 63n) - 1n;

/** The integer of an encoded int64. An unresolved commit timestamp counts as the largest, as in real Convex. */
export function int64Of(value: JsonObject): bigint {
  if ("$commitTs" in value) return MAX_INT64;
  const bytes = binaryFromBase64(encodedText(value, "$integer"));
  if (bytes.length !== 8) throw new TypeError(`Received ${bytes.length} bytes, expected 8 for $integer`);
  for (let i = 0; i < 8; i++) scratch.setUint8(i, bytes.charCodeAt(i));
  return scratch.getBigInt64(0, true);
}

/** The encoding of an int64. Throws when it does not fit into 64 bits. */
export function encodeInt64(value: bigint): JsonValue {
  if (BigInt.asIntN(64, value) !== value) {
    throw new RangeError(`BigInt ${value} does not fit into a 64-bit signed integer.`);
  }
  scratch.setBigInt64(0, value, true);
  return { $integer: Buffer.from(scratch.buffer).toString("base64") };
}

/** The number of an encoded float64, plain or in `$float` form. */
export function float64Of(value: number | JsonObject): number {
  if (typeof value === "number") return value;
  const bytes = binaryFromBase64(encodedText(value, "$float"));
  if (bytes.length !== 8) throw new TypeError(`Received ${bytes.length} bytes, expected 8 for $float`);
  for (let i = 0; i < 8; i++) scratch.setUint8(i, bytes.charCodeAt(i));
  return scratch.getFloat64(0, true);
}

/** The encoding of a float64: a JSON number unless it is NaN, infinite or -0. */
export function encodeFloat64(value: number): JsonValue {
  if (Number.isFinite(value) && !Object.is(value, -0)) return value;
  scratch.setFloat64(0, value, true);
  return { $float: Buffer.from(scratch.buffer).toString("base64") };
}

/** A number as JavaScript has it: bigint for an int64, number for a float64, null for any other type. */
export function numericOf(value: JsonValue | undefined): bigint | number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  switch (typeOf(value)) {
    case "int64":
      return int64Of(value);
    case "float64":
      return float64Of(value);
    default:
      return null;
  }
}
