import type { JsonValue } from "./json.ts";
import { encodeKeyPart } from "./order-key.ts";

/**
 * Negative, zero or positive as `a` sorts before, with or after `b` in Convex's order of all values
 * (facts §2.2). `undefined` is a missing field. 0 means the same value: -0 and 0 differ, equal NaNs do not.
 */
export function compareValues(a: JsonValue | undefined, b: JsonValue | undefined): number {
  if (typeof a === "string" && typeof b === "string") return compareUtf8(a, b);
  if (typeof a === "number" && typeof b === "number") return compareNumbers(a, b);
  if (a === b) return 0;
  // Mixed types, `$` encodings, arrays and objects are rare in filters; their keys already carry the order.
  const keyA = encodeKeyPart(a);
  const keyB = encodeKeyPart(b);
  return keyA < keyB ? -1 : keyA > keyB ? 1 : 0;
}

function compareNumbers(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  // JSON has no NaN, so what is neither below nor above is equal, except for the two zeros.
  return a === 0 ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : 0;
}

/** The order of the UTF-8 bytes, which is code point order. `<` compares UTF-16 units and differs above U+D7FF. */
function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA !== unitB) return byCodePoint(unitA) - byCodePoint(unitB);
  }
  return a.length - b.length;
}

/** Moves surrogate units, which stand for code points from U+10000 on, above all other units. */
function byCodePoint(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
