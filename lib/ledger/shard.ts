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
 * A counter after one more entry. It may be below zero, because a correction takes a random shard as well; only the
 * total may not. Throws `AssertionError` past 2^53 - 1 on either side.
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
 * The total of a meter from its counters, read in one snapshot; shards that were never written may be missing. Throws
 * `AssertionError` when it is no amount of units: below zero more was taken back than was ever booked.
 */
export function totalOfShards(counters: readonly number[]): number {
  const total = sumOfShards(counters);
  assert(total >= 0n && total <= BigInt(Number.MAX_SAFE_INTEGER), `the counters add up to ${total}`);
  return Number(total);
}

/** The same for whoever has to say how far below zero a meter is. Exact for any order. */
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
