import { assert } from "./assert.ts";

/** The largest amount that an IEEE double counts without skipping: 2^53 - 1. */
export const UNITS_MAX = Number.MAX_SAFE_INTEGER;

/** An amount that was refused, with the range it should have been in. Never rounded, never clamped. */
export interface OutOfRange {
  readonly code: "out_of_range";
  readonly field: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly message: string;
}

export interface UnitsRange {
  /** Smallest accepted value; 0 unless told. */
  readonly minimum?: number;
  /** Largest accepted value; 2^53 - 1 unless told. */
  readonly maximum?: number;
}

/**
 * Judges a value that came from outside. Returns null when it is an integer within the range, else the refusal that
 * names the field and the range. Fractions, NaN, infinities, strings and values past 2^53 - 1 are all out of range.
 */
export function checkUnits(field: string, value: unknown, range: UnitsRange = {}): OutOfRange | null {
  const minimum = range.minimum ?? 0;
  const maximum = range.maximum ?? UNITS_MAX;
  if (Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum)
    return null;
  const message = `${field} must be a whole number from ${minimum} to ${maximum}`;
  return { code: "out_of_range", field, minimum, maximum, message };
}

/** Checks an amount of our own making before it is stored. Throws `AssertionError`: a wrong one is a fault here. */
export function assertUnits(field: string, units: number): number {
  assert(Number.isSafeInteger(units) && units >= 0, `${field} is not an amount of units: ${units}`);
  return units;
}

/** The sum of two amounts. Throws `AssertionError` when it passes 2^53 - 1. */
export function addUnits(a: number, b: number): number {
  return assertUnits(`${a} + ${b}`, a + b);
}

/** The difference of two amounts. Throws `AssertionError` when it is below zero. */
export function subtractUnits(a: number, b: number): number {
  return assertUnits(`${a} - ${b}`, a - b);
}
