/**
 * Whether a limit is a number. A null in its place would say two things that are not alike: a plan without a limit, and
 * a limit that nobody has read in time.
 */
export const LIMIT_STATES = ["known", "unlimited", "unknown"] as const;

export type LimitState = (typeof LIMIT_STATES)[number];

/** `limit` null: it was never read, or too long ago to rely on. */
export function limitStateOf(limit: { readonly limitUnits: number | null } | null): LimitState {
  if (limit === null) return "unknown";
  return limit.limitUnits === null ? "unlimited" : "known";
}
