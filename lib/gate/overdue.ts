import { DAY_MS } from "../shared/durations.ts";
import type { PaymentOverdue } from "./types.ts";

/** A year. Whoever waits longer wants no block at all. */
export const OVERDUE_BLOCK_DAYS_MAX = 365;

/**
 * Whether new jobs are refused because an invoice is overdue, from the instant on that lies `blockDays` times 24 hours
 * after the notice; null when they are not. `blockDays` null: they never are. Rule source: design §6.
 */
export function overdueBlock(
  overdueSinceMs: number | null,
  blockDays: number | null,
  nowMs: number,
): PaymentOverdue | null {
  if (overdueSinceMs === null || blockDays === null) return null;
  const blockedSinceMs = overdueSinceMs + blockDays * DAY_MS;
  return nowMs < blockedSinceMs ? null : { code: "payment_overdue", overdueSinceMs, blockedSinceMs };
}
