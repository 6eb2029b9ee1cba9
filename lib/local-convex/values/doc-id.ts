/*
 * Document ids in Convex's format: base32 of varint(table number), 16 internal bytes and a Fletcher-16 checksum.
 * The internal part is handled as a binary string (one char a byte), the form the storage keys use.
 */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const INTERNAL_BYTES = 16;
/** Text lengths of ids with a table number of one to five varint bytes. No other length can be canonical. */
const TEXT_LENGTHS = [31, 32, 34, 36, 37] as const;
const MAX_TABLE_NUMBER = 0xffffffff;
const NOT_BASE32 = 255;

const digitOf = new Uint8Array(128).fill(NOT_BASE32);
for (let i = 0; i < ALPHABET.length; i++) digitOf[ALPHABET.charCodeAt(i)] = i;

/** Reused by every call; nothing keeps a reference to it. 5 + 16 + 2 bytes is the longest id. */
const scratch = new Uint8Array(23);

export interface DecodedId {
  tableNumber: number;
  /** 16 chars, one a byte. */
  internal: string;
}

/** The id of a document. `internal` is 16 bytes, as an array or as a binary string. Throws RangeError otherwise. */
export function encodeId(tableNumber: number, internal: Uint8Array | string): string {
  if (!Number.isInteger(tableNumber) || tableNumber < 1 || tableNumber > MAX_TABLE_NUMBER) {
    throw new RangeError(`table number ${tableNumber} is not between 1 and ${MAX_TABLE_NUMBER}`);
  }
  if (internal.length !== INTERNAL_BYTES) {
    throw new RangeError(`an internal id has 16 bytes, got ${internal.length}`);
  }
  let length = 0;
  let rest = tableNumber;
  while (rest >= 0x80) {
    scratch[length++] = (rest & 0x7f) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  scratch[length++] = rest;
  for (let i = 0; i < INTERNAL_BYTES; i++) {
    scratch[length++] = typeof internal === "string" ? internal.charCodeAt(i) : internal[i]!;
  }
  const checksum = fletcher16(length);
  scratch[length++] = checksum & 255;
  scratch[length++] = checksum >>> 8;
  return base32(length);
}

/** The parts of an id, or null when the text is not an id in its one canonical spelling. */
export function decodeId(id: string): DecodedId | null {
  const decoded = decode(id);
  return typeof decoded === "string" ? null : decoded;
}

/** As `decodeId`, with Convex's explanation ("Unable to decode ID: Invalid ID length 3") in place of null. */
export function decodeIdOrExplain(
  id: string,
): { ok: true; tableNumber: number; internal: string } | { ok: false; message: string } {
  const decoded = decode(id);
  if (typeof decoded === "string") return { ok: false, message: `Unable to decode ID: ${decoded}` };
  return { ok: true, tableNumber: decoded.tableNumber, internal: decoded.internal };
}

/** The decoded parts, or what is wrong with the text. */
function decode(id: string): DecodedId | string {
  if (!(TEXT_LENGTHS as readonly number[]).includes(id.length)) return invalidLength(id);
  const length = readBase32(id);
  if (length === -1) return "ID wasn't valid base32";

  let tableNumber = 0;
  let at = 0;
  for (let scale = 1; ; scale *= 0x80) {
    if (at >= 5) return "Invalid table number";
    const byte = scratch[at++]!;
    tableNumber += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      // A zero in the last group is a longer spelling of a shorter number, or the number 0.
      if (byte === 0 || tableNumber > MAX_TABLE_NUMBER) return "Invalid table number";
      break;
    }
  }
  if (length !== at + INTERNAL_BYTES + 2) return invalidLength(id);

  const body = at + INTERNAL_BYTES;
  const expected = fletcher16(body);
  const found = scratch[body]! | (scratch[body + 1]! << 8);
  if (found !== expected) return `Invalid ID version ${found} (expected ${expected})`;

  const b = scratch;
  // oxfmt-ignore
  const internal = String.fromCharCode(
    b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!, b[at + 6]!, b[at + 7]!,
    b[at + 8]!, b[at + 9]!, b[at + 10]!, b[at + 11]!, b[at + 12]!, b[at + 13]!, b[at + 14]!, b[at + 15]!,
  );
  return { tableNumber, internal };
}

function invalidLength(id: string): string {
  return `Invalid ID length ${Buffer.byteLength(id, "utf8")}`;
}

/** Fletcher-16, modulo 256, of the first `length` scratch bytes. */
function fletcher16(length: number): number {
  let c0 = 0;
  let c1 = 0;
  for (let i = 0; i < length; i++) {
    c0 = (c0 + scratch[i]!) & 255;
    c1 = (c1 + c0) & 255;
  }
  return (c1 << 8) | c0;
}

function base32(length: number): string {
  let text = "";
  let bits = 0;
  let bitCount = 0;
  for (let i = 0; i < length; i++) {
    bits = ((bits << 8) | scratch[i]!) & 0xfff;
    bitCount += 8;
    while (bitCount >= 5) {
      bitCount -= 5;
      text += ALPHABET[(bits >>> bitCount) & 31];
    }
  }
  return bitCount === 0 ? text : text + ALPHABET[(bits << (5 - bitCount)) & 31];
}

/** Reads base32 into the scratch bytes and returns their number, or -1 when a digit or the padding is wrong. */
function readBase32(text: string): number {
  let length = 0;
  let bits = 0;
  let bitCount = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const digit = code < 128 ? digitOf[code]! : NOT_BASE32;
    if (digit === NOT_BASE32) return -1;
    bits = ((bits << 5) | digit) & 0xfff;
    bitCount += 5;
    if (bitCount >= 8) {
      bitCount -= 8;
      scratch[length++] = (bits >>> bitCount) & 255;
    }
  }
  return (bits & ((1 << bitCount) - 1)) === 0 ? length : -1;
}
