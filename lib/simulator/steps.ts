import { Chance } from "./chance.ts";

/**
 * What happens to the world from outside. All that a step leaves open it draws from its own number, so that leaving
 * other steps out does not change it.
 */
export interface Step {
  readonly number: number;
  /** Virtual milliseconds since the trouble began. */
  readonly atMs: number;
  readonly what: StepKind;
}

const WEIGHTS = {
  /** A worker's whole life: admission, charges, extensions, an end; or it dies on the way. */
  job: 30,
  /** Several at once with one key, which the server gathers. */
  job_burst: 5,
  /** A key that was used before, with the same request or another one. */
  job_again: 5,
  clicks: 22,
  link_change: 3,
  reminder: 5,
  plan_change: 4,
  come_back: 4,
  payment: 2,
  limit_change: 3,
  second_writer: 2,
  report: 2,
  reconcile: 2,
  sweep: 2,
  audit: 2,
  drift_check: 1,
  decide: 2,
  replay: 2,
  clock_step: 3,
  engine_crash: 2,
} as const;

export type StepKind = keyof typeof WEIGHTS;

/** Some things come in bursts: this share follows the step before at once. */
const AT_ONCE = 0.4;
const GAP_MS_MAX = 2_400;

export function makeSteps(seed: number, count: number): Step[] {
  const chance = new Chance(seed).fork("steps");
  let atMs = 0;
  return Array.from({ length: count }, (_, index) => {
    if (!chance.strikes(AT_ONCE)) atMs += chance.below(GAP_MS_MAX);
    return { number: index + 1, atMs, what: chance.weighted(WEIGHTS) };
  });
}
