import { inParallel } from "../support/load-run.mjs";
import { median, rounded } from "../support/statistics.mjs";

/** Admissions and inserts run this many at a time, as the published load does. */
export const AT_A_TIME = 50;

/** Microseconds one call takes when calls follow each other: the median over `count` calls. */
export async function medianMicros(
  count: number,
  call: (index: number) => Promise<unknown>,
): Promise<number> {
  const micros: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    await call(index);
    micros.push((performance.now() - startMs) * 1000);
  }
  return median(micros);
}

/** Calls a second with `atATime` of them in flight. */
export async function callsPerSecond(
  count: number,
  call: (index: number) => Promise<unknown>,
  atATime = AT_A_TIME,
): Promise<number> {
  const startMs = performance.now();
  await inParallel(count, atATime, async (index) => void (await call(index)));
  return (count * 1000) / (performance.now() - startMs);
}

/** Numbers below `bound` in no order, the same ones in every run. */
export function scattered(bound: number, seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    // xorshift32: good enough to defeat caches of neighbours.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

/**
 * Runs every measurement once a round and keeps the median over the rounds. The sizes take turns within a round,
 * so that what disturbs the machine disturbs all of them alike.
 */
export async function inRounds<Name extends string>(
  rounds: number,
  measurements: Readonly<Record<Name, (round: number) => Promise<number>>>,
): Promise<Record<Name, number>> {
  const results = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries<(round: number) => Promise<number>>(measurements)) {
      results.set(name, [...(results.get(name) ?? []), await measure(round)]);
    }
  }
  const medians = [...results].map(([name, values]) => [name, rounded(median(values))]);
  return Object.fromEntries(medians);
}
