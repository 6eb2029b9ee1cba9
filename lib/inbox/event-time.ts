import { parseInstantMs } from "../kinde/instant.ts";

const NS_PER_MS = 1_000_000n;
/** The largest instant a signed 64-bit count of nanoseconds holds, which is in April 2262. */
const NS_MAX = 2n ** 63n - 1n;
/** Whole numbers below this are seconds, from it on milliseconds: the year 5138 and the year 1973. */
const SECONDS_END = 100_000_000_000;

/**
 * Reads an event time in nanoseconds since 1970, exactly; null when the value is none. Two plan events of one
 * millisecond are told apart by what comes after it, and the spellings `+11`, `+11:00` and `Z` of one instant are
 * equal. The specification types one of these fields as an integer, so seconds and milliseconds are read as well.
 * Digits past the ninth are cut. Before 1970 and after 2262 there are no events.
 */
export function parseEventNs(value: unknown): bigint | null {
  if (typeof value === "number") return fromNumber(value);
  if (typeof value !== "string") return null;
  if (/^\d{1,16}$/.test(value)) return fromNumber(Number(value));
  const ms = parseInstantMs(value);
  if (ms === null) return null;
  const digits = /\.(\d+)/.exec(value)?.[1] ?? "";
  // The fraction always counts forwards from the second, so what the millisecond lacks is added.
  return bounded(BigInt(ms) * NS_PER_MS + BigInt(digits.slice(3, 9).padEnd(6, "0")));
}

/** The millisecond that contains the instant. */
export function msOfNs(atNs: bigint): number {
  return Number(atNs / NS_PER_MS);
}

export function nsOfMs(atMs: number): bigint {
  return BigInt(Math.floor(atMs)) * NS_PER_MS;
}

function fromNumber(value: number): bigint | null {
  if (!Number.isSafeInteger(value)) return null;
  return bounded(nsOfMs(value < SECONDS_END ? value * 1_000 : value));
}

function bounded(atNs: bigint): bigint | null {
  return atNs >= 0n && atNs <= NS_MAX ? atNs : null;
}
