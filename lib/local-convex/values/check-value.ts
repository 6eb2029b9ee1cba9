import { type JsonObject, type JsonValue, binaryFromBase64, encodedText, float64Of } from "./json.ts";

/*
 * The rules every value must keep, checked in the one walk that also measures its size. Texts are Convex's own
 * where a client or a test may match them.
 */

/** Limits of real Convex (facts §3.5), so that what passes here does not fail there. */
const VALUE_NESTING_MAX = 64;
const DOCUMENT_NESTING_MAX = 16;
const ARRAY_LENGTH_MAX = 8192;
const OBJECT_FIELDS_MAX = 1024;
const FIELD_NAME_LENGTH_MAX = 1024;
const DOCUMENT_BYTES_MAX = 1024 * 1024;
const ARGUMENT_BYTES_MAX = 16 * 1024 * 1024;

/** What `_id` and `_creationTime` add to a document that does not carry them yet. */
const ID_FIELD_BYTES = 3 + 1 + 2 + 32;
const CREATION_TIME_FIELD_BYTES = 13 + 1 + 9;

const NUMBER_BYTES = 9;

/** The deepest level the current walk has seen. Module state, because the walk is synchronous and hot. */
let deepest = 0;

/**
 * Throws Error when the document breaks a rule of real Convex: field names, nesting, lengths, encodings, valid
 * Unicode, size. Returns the size in bytes, with the system fields counted even when they are not there yet.
 */
export function checkDocument(document: JsonObject): number {
  for (const field in document) {
    if (field.charCodeAt(0) === 95 && field !== "_id" && field !== "_creationTime") {
      throw new Error(
        `Field '${field}' starts with an underscore, which is only allowed for system fields like '_id'`,
      );
    }
  }
  deepest = 0;
  let bytes = checkObject(document, 1);
  if (deepest > DOCUMENT_NESTING_MAX) {
    throw new Error(
      `Document is too nested (nested ${deepest} levels deep > maximum nesting ${DOCUMENT_NESTING_MAX})`,
    );
  }
  if (!Object.hasOwn(document, "_id")) bytes += ID_FIELD_BYTES;
  if (!Object.hasOwn(document, "_creationTime")) bytes += CREATION_TIME_FIELD_BYTES;
  checkSize(bytes, DOCUMENT_BYTES_MAX);
  return bytes;
}

/** As `checkDocument`, for a value that is not stored, such as a returned one. Returns its size in bytes. */
export function checkValue(value: JsonValue): number {
  const bytes = check(value, 0);
  checkSize(bytes, ARGUMENT_BYTES_MAX);
  return bytes;
}

/** As `checkValue`, for the argument object of a call. It counts one level more, because it arrives in an array. */
export function checkArgs(args: JsonValue): number {
  const bytes = check(args, 1);
  checkSize(bytes, ARGUMENT_BYTES_MAX);
  return bytes;
}

/** The size of a value by Convex's measure (facts §2.1), in bytes. Expects a valid value. */
export function valueSize(value: JsonValue): number {
  if (typeof value === "string") return 2 + utf8Length(value);
  if (typeof value === "number") return NUMBER_BYTES;
  if (typeof value === "boolean" || value === null) return 1;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const element of value) bytes += valueSize(element);
    return bytes;
  }
  for (const field in value) {
    if (field.charCodeAt(0) === 36) return encodedSize(value, field);
    bytes += utf8Length(field) + 1 + valueSize(value[field]!);
  }
  return bytes;
}

function check(value: JsonValue, depth: number): number {
  if (typeof value === "string") return 2 + checkString(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error(`Number ${value} is out of range`);
    return NUMBER_BYTES;
  }
  if (typeof value === "boolean" || value === null) return 1;
  if (Array.isArray(value)) return checkArray(value, depth + 1);
  if (typeof value === "object") return checkObject(value, depth + 1);
  throw new TypeError(`Unexpected type of ${String(value)}`);
}

function checkArray(array: JsonValue[], depth: number): number {
  enter(depth);
  if (array.length > ARRAY_LENGTH_MAX) {
    throw new Error(`Array length is too long (${array.length} > maximum length ${ARRAY_LENGTH_MAX})`);
  }
  let bytes = 2;
  for (const element of array) bytes += check(element, depth);
  return bytes;
}

function checkObject(object: JsonObject, depth: number): number {
  let fields = 0;
  let bytes = 2;
  for (const field in object) {
    if (fields === 0 && field.charCodeAt(0) === 36) return checkEncoded(object, field);
    fields++;
    bytes += checkFieldName(field) + 1;
  }
  enter(depth);
  if (fields > OBJECT_FIELDS_MAX) {
    throw new Error(`Object has too many fields (${fields} > maximum number ${OBJECT_FIELDS_MAX})`);
  }
  for (const field in object) bytes += check(object[field]!, depth);
  return bytes;
}

/** Stops the walk before the stack ends. Real Convex builds values from the leaves, so it too reports the limit + 1. */
function enter(depth: number): void {
  if (depth <= deepest) return;
  if (depth > VALUE_NESTING_MAX) {
    deepest = 0;
    throw new Error(
      `Value is too nested (nested ${VALUE_NESTING_MAX + 1} levels deep > maximum nesting ${VALUE_NESTING_MAX})`,
    );
  }
  deepest = depth;
}

function checkFieldName(field: string): number {
  const length = field.length;
  if (length === 0) throw new Error("Field name cannot be empty");
  if (length > FIELD_NAME_LENGTH_MAX) {
    throw new Error(`Field name is too long (${length} > maximum ${FIELD_NAME_LENGTH_MAX})`);
  }
  if (field.charCodeAt(0) === 36) throw new Error(`Field name ${field} starts with '$', which is reserved.`);
  for (let i = 0; i < length; i++) {
    const code = field.charCodeAt(i);
    if (code < 32 || code >= 127) {
      throw new Error(
        `Field name ${field} has invalid character '${String.fromCodePoint(field.codePointAt(i)!)}': ` +
          "Field names can only contain non-control ASCII characters",
      );
    }
  }
  return length;
}

/** Checks an object whose first field starts with `$`, which only the encodings may. */
function checkEncoded(object: JsonObject, field: string): number {
  if (Object.keys(object).length !== 1) {
    throw new Error(`Field name ${field} starts with '$', which is reserved.`);
  }
  switch (field) {
    case "$integer":
    case "$float": {
      const bytes = canonicalBytes(object, field);
      if (bytes.length !== 8) throw new Error(`Received ${bytes.length} bytes, expected 8 for ${field}`);
      if (field === "$float") checkSpecial(float64Of(object));
      return NUMBER_BYTES;
    }
    case "$bytes":
      return 2 + canonicalBytes(object, field).length;
    case "$commitTs":
      if (object["$commitTs"] !== null) {
        throw new Error(`Malformed $commitTs field on ${JSON.stringify(object)}`);
      }
      return NUMBER_BYTES;
    case "$set":
      throw new Error("Received a Set which is no longer supported as a Convex type.");
    case "$map":
      throw new Error("Received a Map which is no longer supported as a Convex type.");
    default:
      throw new Error(`Field name ${field} starts with '$', which is reserved.`);
  }
}

/** One value has one encoding: stored text is compared as text, and an index key must not depend on padding. */
function canonicalBytes(object: JsonObject, field: "$integer" | "$float" | "$bytes"): string {
  const text = encodedText(object, field);
  const bytes = binaryFromBase64(text);
  if (Buffer.from(bytes, "latin1").toString("base64") !== text) {
    throw new Error(`Malformed ${field} field on ${JSON.stringify(object)}`);
  }
  return bytes;
}

function checkSpecial(value: number): void {
  if (Number.isFinite(value) && !Object.is(value, -0)) {
    throw new Error(`Float64 ${value} should be encoded as a number`);
  }
}

function encodedSize(object: JsonObject, field: string): number {
  return field === "$bytes" ? 2 + Buffer.byteLength(encodedText(object, "$bytes"), "base64") : NUMBER_BYTES;
}

function checkString(text: string): number {
  const bytes = wellFormedUtf8Length(text);
  if (bytes === -1) {
    throw new Error(
      `String ${JSON.stringify(text.slice(0, 100))} is not valid Unicode: it has a lone surrogate`,
    );
  }
  return bytes;
}

function utf8Length(text: string): number {
  const bytes = wellFormedUtf8Length(text);
  return bytes === -1 ? Buffer.byteLength(text, "utf8") : bytes;
}

/** The number of UTF-8 bytes, or -1 when there is a lone surrogate. */
function wellFormedUtf8Length(text: string): number {
  const length = text.length;
  let bytes = length;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) {
      bytes += 1;
    } else if (code < 0xd800 || code > 0xdfff) {
      bytes += 2;
    } else {
      if (code > 0xdbff || i + 1 === length) return -1;
      const low = text.charCodeAt(++i);
      if (low < 0xdc00 || low > 0xdfff) return -1;
      // Two units are four bytes.
      bytes += 2;
    }
  }
  return bytes;
}

function checkSize(bytes: number, maximum: number): void {
  if (bytes <= maximum) return;
  throw new Error(`Value is too large (${formatBytes(bytes)} > maximum size ${formatBytes(maximum)})`);
}

/** "1.5 MiB": two decimals at most, as Convex writes sizes. */
function formatBytes(bytes: number): string {
  const [unit, size] = bytes >= 1024 * 1024 ? (["MiB", 1024 * 1024] as const) : (["KiB", 1024] as const);
  return `${Number((bytes / size).toFixed(2))} ${unit}`;
}
