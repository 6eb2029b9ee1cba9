import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";

/** A job may ask for a lease in this range; two minutes when it does not ask (design, gate: charge). */
export const LEASE_MS_MIN = 10 * SECOND_MS;
export const LEASE_MS_MAX = 2 * MINUTE_MS;
export const LEASE_MS_DEFAULT = 2 * MINUTE_MS;

/** A lease ends at its instant, swept or not: the instant itself is already after the lease. */
export function leaseHasEnded(job: { readonly leaseExpiresAtMs: number }, nowMs: number): boolean {
  return nowMs >= job.leaseExpiresAtMs;
}
