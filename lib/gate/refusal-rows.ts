import { MINUTE_MS } from "../shared/durations.ts";

/**
 * Refusals of an account that are kept one by one in a minute. More than a person reads, and few enough that a client
 * which asks without end writes at most 21 rows a minute, some 12 MB a day.
 */
export const REFUSALS_PER_MINUTE_MAX = 20;

/** What the newest refusal row of an account says about its minute. */
export interface NewestRefusal {
  readonly atMs: number;
  /** 1 for the first row of its minute. */
  readonly ordinal: number;
  /** How many refusals the row stands for: 1, but for the last row of a full minute. */
  readonly times: number;
}

export type RefusalRow =
  | { readonly kind: "own"; readonly ordinal: number }
  /** The newest row stands for this refusal too, and takes its numbers. */
  | { readonly kind: "gathered"; readonly times: number };

/** Where a refusal is kept: in a row of its own, or counted in the one that gathers the rest of its minute. */
export function decideRefusalRow(newest: NewestRefusal | null, nowMs: number): RefusalRow {
  if (newest === null || minuteOf(newest.atMs) !== minuteOf(nowMs)) return { kind: "own", ordinal: 1 };
  if (newest.ordinal > REFUSALS_PER_MINUTE_MAX) return { kind: "gathered", times: newest.times + 1 };
  return { kind: "own", ordinal: newest.ordinal + 1 };
}

const minuteOf = (atMs: number): number => Math.floor(atMs / MINUTE_MS);
