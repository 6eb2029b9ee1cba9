/** Only a number with a fraction, an exponent or sixteen digits can be rounded; most bodies have none. */
const MAY_BE_ROUNDED = /\d[.eE]|\d{16}/;
/** A string, to be passed over, or a number in its parts. */
const TOKEN = /"(?:[^"\\]|\\.)*"|(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/g;
/** Shifts beyond this belong to no amount; their digits are not worked out. */
const SHIFT_MAX = 400;
/** Stands in for a number that would be rounded to a whole one: no schema of amounts lets it through. */
const NOT_WHOLE = "0.5";

/**
 * JSON text can spell numbers that a double cannot hold, and `JSON.parse` rounds them without a word:
 * 9007199254740990.6 becomes a whole number. Amounts must never be rounded, so in the text returned such a number is
 * one that validation refuses at its path. `json` is well-formed.
 */
export function spoilRoundedNumbers(json: string): string {
  if (!MAY_BE_ROUNDED.test(json)) return json;
  return json.replaceAll(TOKEN, (text: string, whole?: string, fraction = "", exponent = "0") => {
    const parsed = Number(text);
    if (whole === undefined || !Number.isSafeInteger(parsed)) return text;
    return isExactly(parsed, whole + fraction, Number(exponent) - fraction.length) ? text : NOT_WHOLE;
  });
}

/** True when digits × 10^shift is `value`. */
function isExactly(value: number, digits: string, shift: number): boolean {
  const significand = BigInt(digits);
  if (significand === 0n) return value === 0;
  if (Math.abs(shift) > SHIFT_MAX) return false;
  const scale = 10n ** BigInt(Math.abs(shift));
  return shift >= 0 ? significand * scale === BigInt(value) : significand === BigInt(value) * scale;
}
