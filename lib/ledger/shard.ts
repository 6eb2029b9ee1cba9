import { assert } from "../shared/assert.ts";

/**
 * Counters of a meter. One counter would be written by every click of an account and make them wait for each other;
 * with 64, of which each click takes a random one, 100 at a time rarely meet.
 */
export const SHARDS = 64;

/** The shard for a draw of `random`, from 0 up to but not including 1. */
export function chooseShard(random: number): number {
  assert(random >= 0 && random < 1, `${random} is no draw from 0 up to 1`);
  return Math.floor(random * SHARDS);
}

/**
 * A counter after one more entry. It may be below zero, because a correction takes a random shard as well. Throws `AssertionError` past 2^53 - 1 on either side.
 */
export function addToShard(counterUnits: number, units: number): number {
  const sum = counterUnits + units;
  assert(
    [counterUnits, units, sum].every(Number.isSafeInteger),
    `a counter of ${counterUnits} cannot take ${units}`,
  );
  return sum;
}

/**
 * The total of a meter from its counters, read in one snapshot; shards that were never written may be missing. It may
 * be below zero, when a person settled a meter and the usage was found to belong to another one afterwards; whoever sends
 * it outside has to look. Throws `AssertionError` past 2^53 - 1 on either side.
 */
export function totalOfShards(counters: readonly number[]): number {
  const total = sumOfShards(counters);
  const units = Number(total);
  assert(Number.isSafeInteger(units), `the counters add up to ${total}`);
  return units;
}

/** The same for whoever may not fail on counters that are wrong. Exact for any size. */
export function sumOfShards(counters: readonly number[]): bigint {
  assert(counters.length <= SHARDS, `${counters.length} counters for ${SHARDS} shards`);
  // A sum of doubles could pass 2^53 on its way to a small total.
  let total = 0n;
  for (const counter of counters) {
    assert(Number.isSafeInteger(counter), `a counter of ${counter}`);
    total += BigInt(counter);
  }
  return total;
}
