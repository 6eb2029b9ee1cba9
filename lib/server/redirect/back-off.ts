const FIRST_MS = 100;
/** Short enough that clicks are on time again soon after Convex is back. */
const MAX_MS = 10_000;

/** The wait after failure number `failures` (1 for the first) in a row; `random` in [0, 1) spreads its upper half. */
export function backOffMs(failures: number, random: number): number {
  const ceilingMs = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(ceilingMs / 2 + (random * ceilingMs) / 2);
}
