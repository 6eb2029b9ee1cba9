import { type JsonObject, type JsonValue, binaryFromBase64, encodedText, typeOf } from "./json.ts";

/*
 * Order-preserving keys. A part is a tag and a self-terminating body, so parts can simply be joined: the joined
 * text sorts like the tuple of values. Keys are binary strings (one char a byte) and not Buffers, because plain
 * `<` on them is what the read sets, overlays and sorted pages compare with, and it needs no call and no copy.
 */
const TAG_UNDEFINED = "\x01";
const TAG_NULL = "\x03";
const TAG_INT64 = "\x04";
const TAG_FLOAT64 = 0x0d;
const TAG_FALSE = "\x0e";
const TAG_TRUE = "\x0f";
const TAG_STRING = "\x10";
const TAG_BYTES = "\x11";
const TAG_ARRAY = "\x12";
const TAG_OBJECT = "\x15";
/** Ends strings, bytes, arrays and objects. Below every tag, so a prefix sorts before what extends it. */
const END = "\x00";
/*
 * Inside strings and bytes 0x00 is written 01 01 and 0x01 is written 01 02, so a body never holds an END. Convex
 * itself writes 0x00 as 00 FF; then the key of "a" is a prefix of the key of "a\0", and a range made of all keys
 * with a prefix, which is how equality is read from an index, would return both.
 */
const ESCAPE = "\x01";

const scratch = new DataView(new ArrayBuffer(8));
const MAX_INT64_KEY = `${TAG_INT64}\xff\xff\xff\xff\xff\xff\xff\xff`;

/**
 * The key part of one value; `undefined` is a missing field. Comparing two parts, or two joins of parts, with
 * `<` gives Convex's order: undefined, null, int64, float64, booleans, strings by UTF-8 bytes, bytes, arrays,
 * objects. Expects a well-formed value (see check-value.ts); throws TypeError on a malformed `$` encoding.
 */
export function encodeKeyPart(value: JsonValue | undefined): string {
  switch (typeof value) {
    case "string":
      return encodeText(TAG_STRING, value);
    case "number":
      return encodeCreationTime(value);
    case "boolean":
      return value ? TAG_TRUE : TAG_FALSE;
    case "undefined":
      return TAG_UNDEFINED;
    default:
      return value === null ? TAG_NULL : encodeComposite(value);
  }
}

/** The key part of a float64 that is a plain number, such as a `_creationTime` in milliseconds. */
export function encodeCreationTime(ms: number): string {
  scratch.setFloat64(0, ms);
  let high = scratch.getUint32(0);
  let low = scratch.getUint32(4);
  // IEEE total order: the sign bit is flipped, and negative numbers run backwards.
  if (high >= 0x80000000) {
    high = ~high;
    low = ~low;
  } else {
    high |= 0x80000000;
  }
  return String.fromCharCode(
    TAG_FLOAT64,
    (high >>> 24) & 255,
    (high >>> 16) & 255,
    (high >>> 8) & 255,
    high & 255,
    (low >>> 24) & 255,
    (low >>> 16) & 255,
    (low >>> 8) & 255,
    low & 255,
  );
}

/** The bytes of a key, for a BLOB column. SQLite compares BLOBs byte by byte, as `<` compares the string. */
export function keyToBuffer(key: string): Buffer {
  return Buffer.from(key, "latin1");
}

/** The key stored in a BLOB column. */
export function bufferToKey(buffer: Uint8Array): string {
  return Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength).toString("latin1");
}

/**
 * The smallest key above every key that starts with `prefix`: the open end of a prefix range.
 * Null when there is none (an empty prefix, or one of 0xFF bytes only).
 */
export function keySuccessor(prefix: string): string | null {
  for (let i = prefix.length - 1; i >= 0; i--) {
    const byte = prefix.charCodeAt(i);
    if (byte < 255) return prefix.slice(0, i) + String.fromCharCode(byte + 1);
  }
  return null;
}

/** The field at a dotted path, or undefined when any step is missing or is not an object. */
export function getField(document: JsonObject, path: string): JsonValue | undefined {
  let dot = path.indexOf(".");
  if (dot === -1) return Object.hasOwn(document, path) ? document[path] : undefined;
  let current: JsonValue | undefined = document;
  let start = 0;
  for (;;) {
    if (typeof current !== "object" || current === null || Array.isArray(current)) return undefined;
    const field = dot === -1 ? path.slice(start) : path.slice(start, dot);
    if (!Object.hasOwn(current, field)) return undefined;
    current = current[field];
    if (dot === -1) return current;
    start = dot + 1;
    dot = path.indexOf(".", start);
  }
}

function encodeText(tag: string, text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f || code <= 1) return tag + escapedUtf8(text) + END;
  }
  return tag + text + END;
}

function escapedUtf8(text: string): string {
  return escape(Buffer.from(text, "utf8").toString("latin1"));
}

function escape(bytes: string): string {
  let escaped = bytes;
  if (escaped.includes("\x01")) escaped = escaped.replaceAll("\x01", `${ESCAPE}\x02`);
  // The order matters: this one writes bytes that the line above would escape again.
  if (escaped.includes("\x00")) escaped = escaped.replaceAll("\x00", `${ESCAPE}\x01`);
  return escaped;
}

function encodeComposite(value: JsonValue[] | JsonObject): string {
  if (Array.isArray(value)) {
    let key = TAG_ARRAY;
    for (const element of value) key += encodeKeyPart(element);
    return key + END;
  }
  switch (typeOf(value)) {
    case "int64":
      return encodeInt64Key(value);
    case "float64":
      return encodeFloat64Key(value);
    case "bytes":
      return TAG_BYTES + escape(binaryFromBase64(encodedText(value, "$bytes"))) + END;
    default:
  }
  let key = TAG_OBJECT;
  // Field names are ASCII, so sorting UTF-16 units sorts bytes.
  for (const field of Object.keys(value).toSorted()) {
    key += encodeText(TAG_STRING, field) + encodeKeyPart(value[field]);
  }
  return key + END;
}

function encodeInt64Key(value: JsonObject): string {
  // An unresolved commit timestamp sorts as the largest int64, as in real Convex.
  if ("$commitTs" in value) return MAX_INT64_KEY;
  const bytes = binaryFromBase64(encodedText(value, "$integer"));
  if (bytes.length !== 8) throw new TypeError(`Received ${bytes.length} bytes, expected 8 for $integer`);
  let key = TAG_INT64 + String.fromCharCode(bytes.charCodeAt(7) ^ 0x80);
  for (let i = 6; i >= 0; i--) key += bytes[i];
  return key;
}

function encodeFloat64Key(value: JsonObject): string {
  const bytes = binaryFromBase64(encodedText(value, "$float"));
  if (bytes.length !== 8) throw new TypeError(`Received ${bytes.length} bytes, expected 8 for $float`);
  // The bytes are turned into the key directly: reading them as a number could lose the sign or payload of a NaN.
  const negative = bytes.charCodeAt(7) >= 0x80;
  let key = String.fromCharCode(TAG_FLOAT64);
  for (let i = 7; i >= 0; i--) {
    const flip = negative ? 0xff : i === 7 ? 0x80 : 0;
    key += String.fromCharCode(bytes.charCodeAt(i) ^ flip);
  }
  return key;
}
