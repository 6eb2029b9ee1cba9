import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";

/** How many marks one round takes, how long a run goes on, and how many totals are under way at once. */
export const MARKS_PER_ROUND = 100;
export const RUN_MS = 50 * SECOND_MS;
export const SENDS_AT_ONCE = 10;

/** A write that has no answer after this long is given up, and may still have been applied. The client's own timeout. */
export const REQUEST_TIMEOUT_MS = 5 * SECOND_MS;
/** A sender holds a meter this long: time for a write and the read-back of a repair, with their retries. */
export const SEND_LEASE_MS = 30 * SECOND_MS;
/** A write that we gave up may be applied this much later. Only a read-back after that closes the matter. */
export const LATE_WRITE_MS = 45 * SECOND_MS;

/** From this long before a meter closes, its total is sent every `FLUSH_EVERY_MS`. */
export const FLUSH_SPAN_MS = 2 * MINUTE_MS;
export const FLUSH_EVERY_MS = 5 * SECOND_MS;
/** No write starts this shortly before a meter closes: it would be counted in the next cycle. */
export const BOUNDARY_GUARD_MS = SECOND_MS;

const WAIT_FIRST_MS = 5 * SECOND_MS;
const WAIT_MAX_MS = 15 * MINUTE_MS;
/** After this many failures in a row a person is told. */
export const REVIEW_AFTER_ATTEMPTS = 10;

/** A total that a sender is about to write or is writing. */
export interface PendingSend {
  readonly totalUnits: number;
  readonly version: number;
  readonly leaseExpiresAtMs: number;
}

/** What is known about how far a meter at the provider follows the ledger. One for each meter. */
export interface ReportState {
  /** The number of the last claim. Higher is newer; a total may fall when corrections arrive, so it tells no age. */
  readonly version: number;
  /** The last total that the provider is known to have had, and since when. */
  readonly confirmed: { readonly totalUnits: number; readonly atMs: number } | null;
  readonly pending: PendingSend | null;
  /** The total of the last attempt, whatever became of it; null before the first. */
  readonly lastTotalUnits: number | null;
  readonly lastOutcome: "none" | "confirmed" | "failed" | "unknown";
  /**
   * An attempt ended at `sinceMs` without an answer, so the provider may take its total yet. Stays until a read-back
   * sent `LATE_WRITE_MS` later shows the last total, at `seenAtMs`, and another one as long after that shows it too.
   * Until `readerUntilMs` somebody is reading: the read-backs of many at once would be many failures where it is one.
   */
  readonly unsure: {
    readonly sinceMs: number;
    readonly readNotBeforeMs: number;
    readonly seenAtMs?: number;
    readonly readerUntilMs?: number;
  } | null;
  /** The total has to be written again, even if it is the one written last. */
  readonly resend: boolean;
  /** Failures in a row. */
  readonly attempts: number;
  /** No write before this instant; 0 for at once. */
  readonly notBeforeMs: number;
  readonly error: string | null;
}

/** A meter that nothing was ever sent to. */
export const NEVER_REPORTED: ReportState = {
  version: 0,
  confirmed: null,
  pending: null,
  lastTotalUnits: null,
  lastOutcome: "none",
  unsure: null,
  resend: false,
  attempts: 0,
  notBeforeMs: 0,
  error: null,
};

/**
 * The state as time has left it: a sender whose lease has ended is taken for dead, and what it wrote for unknown. So
 * an ended lease does what a mark does, and a crash loses nothing.
 */
export function lapsed(state: ReportState, nowMs: number): ReportState {
  const { pending } = state;
  if (pending === null || nowMs < pending.leaseExpiresAtMs) return state;
  return {
    ...state,
    pending: null,
    lastOutcome: "unknown",
    unsure: unsureSince(pending.leaseExpiresAtMs),
    resend: true,
    attempts: state.attempts + 1,
    error: "the sender stopped before it told what became of its write",
  };
}

/** The reconciler found a difference, or a person asks: the next step writes the total, whatever was written last. */
export function withResend(state: ReportState): ReportState {
  return { ...state, resend: true };
}

/**
 * For the meter of the next cycle, after a write to the one before may have crossed the border: what landed there is
 * written over, and read back until it is right.
 */
export function withStraddler(state: ReportState, nowMs: number): ReportState {
  return { ...state, resend: true, unsure: unsureSince(nowMs) };
}

export function unsureSince(sinceMs: number): NonNullable<ReportState["unsure"]> {
  return { sinceMs, readNotBeforeMs: sinceMs + REQUEST_TIMEOUT_MS };
}

/** The wait after so many failures in a row: 5 s, then twice as long each time up to 15 min. */
export function waitAfter(attempts: number): number {
  return Math.min(WAIT_MAX_MS, WAIT_FIRST_MS * 2 ** Math.max(0, attempts - 1));
}

/** When the next flush of a meter that closes at `closesAtMs` is due; null once no write may start any more. */
export function nextFlushMs(closesAtMs: number, nowMs: number): number | null {
  const firstMs = closesAtMs - FLUSH_SPAN_MS;
  if (nowMs < firstMs) return firstMs;
  // The last one is as late as it may be, with room for the steps that lead to it.
  const lastMs = closesAtMs - 2 * BOUNDARY_GUARD_MS;
  const dueMs = Math.min(nowMs + FLUSH_EVERY_MS, lastMs);
  return dueMs > nowMs ? dueMs : null;
}

export function inFlush(closesAtMs: number, nowMs: number): boolean {
  return nowMs >= closesAtMs - FLUSH_SPAN_MS && nowMs < closesAtMs;
}
