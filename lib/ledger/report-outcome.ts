import {
  FLUSH_EVERY_MS,
  inFlush,
  LATE_WRITE_MS,
  REVIEW_AFTER_ATTEMPTS,
  unsureSince,
  waitAfter,
  type ReportState,
} from "./report-state.ts";

/** `not_started`: the sender looked at the clock and found that it was too late to begin. */
export type SendOutcome =
  | { readonly kind: "confirmed" }
  | { readonly kind: "failed"; readonly retryAfterMs: number | null; readonly error: string }
  | { readonly kind: "unknown"; readonly retryAfterMs: number | null; readonly error: string }
  | { readonly kind: "not_started" };

/** The answer of a meter write, as the client gives it. */
export type WriteAnswer =
  | { readonly kind: "written" | "already_there" }
  | {
      readonly kind: "failed";
      readonly committed: "no" | "unknown";
      readonly retryAfterMs: number | null;
      readonly message: string;
    };

/** A write that the provider says it has already is delivered. One that may have been applied is unknown. */
export function outcomeOf(answer: WriteAnswer): SendOutcome {
  if (answer.kind !== "failed") return { kind: "confirmed" };
  const { committed, retryAfterMs, message: error } = answer;
  return { kind: committed === "no" ? "failed" : "unknown", retryAfterMs, error };
}

export type Settled =
  | {
      readonly kind: "settled";
      readonly state: ReportState;
      /** The meter has to be marked, and not be taken before this instant. Null: no mark for this reason. */
      readonly markNotBeforeMs: number | null;
      /** It has failed ten times in a row or more: have a review open. */
      readonly review: boolean;
    }
  /** The answer of a sender that lost the meter to another one. Nothing is stored. */
  | { readonly kind: "stale" };

/** What the outcome of the send with this version changes. An answer after the lease counts if nobody claimed since. */
export function afterSend(
  state: ReportState,
  version: number,
  outcome: SendOutcome,
  meter: { readonly closesAtMs: number },
  nowMs: number,
): Settled {
  const { pending } = state;
  if (pending?.version !== version) return { kind: "stale" };
  const answered: ReportState = { ...state, pending: null };
  switch (outcome.kind) {
    case "not_started":
      return settled({ ...answered, resend: true }, nowMs);
    case "confirmed":
      // An answer that came after the end does not tell in which cycle the write was counted.
      if (nowMs >= meter.closesAtMs) {
        const error = "the provider answered after the meter had closed";
        return settleUnknown(answered, { retryAfterMs: null, error }, meter, nowMs);
      }
      return settleConfirmed(answered, pending.totalUnits, nowMs);
    case "failed": {
      const attempts = state.attempts + 1;
      const notBeforeMs = nowMs + waitFor(attempts, outcome.retryAfterMs, meter, nowMs);
      const failed = {
        ...answered,
        lastOutcome: "failed",
        attempts,
        notBeforeMs,
        error: outcome.error,
      } as const;
      return settled(failed, notBeforeMs);
    }
    case "unknown":
      return settleUnknown(answered, outcome, meter, nowMs);
  }
}

export type Reading =
  | { readonly kind: "read"; readonly totalUnits: number }
  | { readonly kind: "unreadable"; readonly error: string };

/**
 * What a read-back sent at `sentAtMs` changes. Where the meter shows another total, or cannot be read, the total is
 * written again; the meter stays marked until it was read right, late enough.
 */
export function afterReadBack(
  state: ReportState,
  version: number,
  read: { readonly sentAtMs: number; readonly reading: Reading },
  nowMs: number,
): Settled {
  const { pending, lastTotalUnits } = state;
  if (state.version !== version || pending !== null || state.unsure === null) return { kind: "stale" };
  const { readerUntilMs: _, ...unsure } = state.unsure;
  const { reading, sentAtMs } = read;
  if (reading.kind === "read" && reading.totalUnits === lastTotalUnits) {
    const confirmed = { totalUnits: lastTotalUnits, atMs: sentAtMs };
    const right: ReportState = { ...state, confirmed, lastOutcome: "confirmed", error: null };
    const readAgain = (atMs: number, seen: object): Settled =>
      settled({ ...right, unsure: { ...unsure, ...seen, readNotBeforeMs: atMs } }, atMs);
    const landedByMs = unsure.sinceMs + LATE_WRITE_MS;
    if (sentAtMs < landedByMs) return readAgain(landedByMs, {});
    // Our clock may have been set forward in between, and the write land yet: it is waited for a second time.
    const seenAtMs = unsure.seenAtMs ?? sentAtMs;
    const provenByMs = seenAtMs + LATE_WRITE_MS;
    if (sentAtMs < provenByMs) return readAgain(provenByMs, { seenAtMs });
    return settled({ ...right, unsure: null, attempts: 0, notBeforeMs: 0 }, null);
  }
  const attempts = state.attempts + 1;
  const error =
    reading.kind === "read"
      ? `the meter showed ${reading.totalUnits} after ${lastTotalUnits} was written`
      : reading.error;
  // A wrong total is written over at once the first time. What keeps changing it, or cannot be read, is not hurried.
  const waitMs = reading.kind === "read" && state.attempts <= 1 ? 0 : waitAfter(attempts);
  const notBeforeMs = nowMs + waitMs;
  const readNotBeforeMs = Math.max(unsure.readNotBeforeMs, notBeforeMs);
  const { sinceMs } = unsure;
  return settled(
    { ...state, resend: true, attempts, notBeforeMs, error, unsure: { sinceMs, readNotBeforeMs } },
    notBeforeMs,
  );
}

function settleConfirmed(state: ReportState, totalUnits: number, nowMs: number): Settled {
  const confirmed = { totalUnits, atMs: nowMs };
  const written: ReportState = { ...state, confirmed, lastOutcome: "confirmed", notBeforeMs: 0, error: null };
  // While an older write may still land the count of failures stays, so that a meter that never reads right slows down.
  return state.unsure === null
    ? settled({ ...written, attempts: 0 }, null)
    : settled(written, state.unsure.readNotBeforeMs);
}

function settleUnknown(
  state: ReportState,
  outcome: { readonly retryAfterMs: number | null; readonly error: string },
  meter: { readonly closesAtMs: number },
  nowMs: number,
): Settled {
  const attempts = state.attempts + 1;
  const notBeforeMs = nowMs + waitFor(attempts, outcome.retryAfterMs, meter, nowMs);
  const unsure = unsureSince(nowMs);
  return settled(
    { ...state, lastOutcome: "unknown", unsure, attempts, notBeforeMs, error: outcome.error },
    unsure.readNotBeforeMs,
  );
}

/** A provider that names a wait is given it. The flush before the end does not wait longer than its own rhythm. */
function waitFor(
  attempts: number,
  retryAfterMs: number | null,
  meter: { readonly closesAtMs: number },
  nowMs: number,
): number {
  const waitMs = inFlush(meter.closesAtMs, nowMs)
    ? Math.min(waitAfter(attempts), FLUSH_EVERY_MS)
    : waitAfter(attempts);
  return Math.max(waitMs, retryAfterMs ?? 0);
}

function settled(state: ReportState, markNotBeforeMs: number | null): Settled {
  const review = state.attempts >= REVIEW_AFTER_ATTEMPTS && state.error !== null;
  return { kind: "settled", state, markNotBeforeMs, review };
}
