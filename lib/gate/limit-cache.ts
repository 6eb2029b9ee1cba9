import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";
import type { LimitUnknown, LimitView, ProviderName } from "./types.ts";

/** A read is used as it is for this long. */
export const LIMIT_FRESH_MS = MINUTE_MS;
/** When the provider cannot be read, the last limit serves until it is this old. */
export const LIMIT_USABLE_MS = 10 * MINUTE_MS;
/** A failed refresh is not tried again for this long, so that an outage does not become a stampede. */
export const REFRESH_RETRY_MS = 5 * SECOND_MS;
/** A caller that was told to refresh and died gives its place up after this long. Above the provider's timeout. */
export const REFRESH_LEASE_MS = 10 * SECOND_MS;
/** How soon a caller that waits for another one's refresh should ask again. */
export const REFRESH_POLL_MS = 50;

/** The cached limit of an account and feature, and who is refreshing it. */
export interface LimitRow {
  readonly provider: ProviderName;
  /** The last limit read; null means unlimited. Without meaning while `readAtMs` is null. */
  readonly limitUnits: number | null;
  /** The plan that the provider named with it; null when it names none. */
  readonly planKey: string | null;
  /** When the request that brought `limitUnits` was sent; null before the first read. */
  readonly readAtMs: number | null;
  /** Number of the last refresh lease; rises with each one granted. */
  readonly refreshFence: number;
  readonly refreshLeaseExpiresAtMs: number | null;
  readonly refreshFailedAtMs: number | null;
  /** Why the last refresh failed, for operators; null when it did not. */
  readonly refreshFailure: string | null;
  /** A plan change asks for a read sent at or after this instant. */
  readonly refreshRequiredAtMs: number | null;
}

export type LimitJudgement =
  | { readonly kind: "use"; readonly limit: LimitView }
  /** The caller may become the one that refreshes. `usable` is what a reader that must not write falls back on. */
  | { readonly kind: "refresh"; readonly usable: LimitView | null }
  | { readonly kind: "pending"; readonly retryAfterMs: number }
  | { readonly kind: "unknown"; readonly refusal: LimitUnknown };

export function emptyLimitRow(provider: ProviderName): LimitRow {
  return {
    provider,
    limitUnits: null,
    planKey: null,
    readAtMs: null,
    refreshFence: 0,
    refreshLeaseExpiresAtMs: null,
    refreshFailedAtMs: null,
    refreshFailure: null,
    refreshRequiredAtMs: null,
  };
}

/** What an admission may do with the cached limit at this instant. A missing row is one that was never read. */
export function judgeLimit(row: LimitRow | null, nowMs: number): LimitJudgement {
  if (row === null) return { kind: "refresh", usable: null };
  const usable = usableLimit(row, nowMs);
  if (usable !== null && !usable.stale) return { kind: "use", limit: usable };

  const leaseLeftMs = row.refreshLeaseExpiresAtMs === null ? 0 : row.refreshLeaseExpiresAtMs - nowMs;
  if (leaseLeftMs > 0) {
    return usable === null
      ? { kind: "pending", retryAfterMs: Math.min(leaseLeftMs, REFRESH_POLL_MS) }
      : { kind: "use", limit: usable };
  }

  const waitMs = row.refreshFailedAtMs === null ? 0 : row.refreshFailedAtMs + REFRESH_RETRY_MS - nowMs;
  if (waitMs > 0) {
    return usable === null
      ? { kind: "unknown", refusal: { code: "limit_unknown", retryAfterMs: waitMs } }
      : { kind: "use", limit: usable };
  }
  return { kind: "refresh", usable };
}

/** The cached limit when it is under ten minutes old, else null. */
export function usableLimit(row: LimitRow, nowMs: number): LimitView | null {
  if (row.readAtMs === null) return null;
  const ageMs = nowMs - row.readAtMs;
  if (ageMs >= LIMIT_USABLE_MS) return null;
  const superseded = row.refreshRequiredAtMs !== null && row.readAtMs < row.refreshRequiredAtMs;
  const stale = superseded || ageMs >= LIMIT_FRESH_MS;
  return { limitUnits: row.limitUnits, readAtMs: row.readAtMs, stale, provider: row.provider };
}

/** Grants the refresh lease to one caller. Its number is the fence that the refresh has to show. */
export function grantRefresh(row: LimitRow, nowMs: number): LimitRow {
  return { ...row, refreshFence: row.refreshFence + 1, refreshLeaseExpiresAtMs: nowMs + REFRESH_LEASE_MS };
}

/** Asks for a read sent at or after `nowMs`. The limit that is known keeps its age and serves while none can be had. */
export function requireRefresh(row: LimitRow, nowMs: number): LimitRow {
  return { ...row, refreshRequiredAtMs: nowMs };
}

/**
 * What a limit that was read by a request sent at `sentAtMs` changes. A read sent before the stored one changes
 * nothing; one sent before `refreshRequiredAtMs` is stored but leaves the requirement standing. A late read of a
 * caller that lost its lease is still a true read, so it counts, but the lease of the newer caller stays.
 */
export function applyRead(
  row: LimitRow,
  read: {
    readonly fence: number;
    readonly sentAtMs: number;
    readonly limitUnits: number | null;
    readonly planKey: string | null;
  },
): Partial<LimitRow> {
  const lease = read.fence === row.refreshFence ? { refreshLeaseExpiresAtMs: null } : {};
  if (row.readAtMs !== null && read.sentAtMs < row.readAtMs) return lease;
  const required = row.refreshRequiredAtMs;
  return {
    ...lease,
    limitUnits: read.limitUnits,
    planKey: read.planKey,
    readAtMs: read.sentAtMs,
    refreshFailedAtMs: null,
    refreshFailure: null,
    refreshRequiredAtMs: required !== null && read.sentAtMs < required ? required : null,
  };
}

/** What a failed read changes. Only the holder of the lease may say that the provider cannot be read. */
export function applyFailedRead(
  row: LimitRow,
  failure: { readonly fence: number; readonly atMs: number; readonly reason: string },
): Partial<LimitRow> {
  if (failure.fence !== row.refreshFence) return {};
  return {
    refreshLeaseExpiresAtMs: null,
    refreshFailedAtMs: failure.atMs,
    refreshFailure: failure.reason,
  };
}
