import { assert } from "../shared/assert.ts";
import type { Meter } from "./meter.ts";
import {
  BOUNDARY_GUARD_MS,
  lapsed,
  LATE_WRITE_MS,
  REQUEST_TIMEOUT_MS,
  SEND_LEASE_MS,
  type ReportState,
} from "./report-state.ts";

/*
 * The reporter, one meter at a time. `nextStep` is asked in the mutation that takes a mark, with the 64 counters read in
 * it; `report-outcome.ts` in the mutation that books what came of the step.
 *
 * Why no older total of ours overtakes a newer one: a claim gives one sender the meter until its lease ends. It may
 * start its write up to `startBeforeMs`, one timeout before that, so by the next claim its attempt is over here. What
 * may still happen is that the provider applies it late. So an attempt without an answer leaves the meter marked until
 * a read-back, sent when such a write would have landed, shows the total written last.
 *
 * All of this goes by our time of day, the only clock that a function has across two calls. Set forward, it ends leases
 * and waits too early. A claim that comes too early takes what the sender before it wrote for unknown, so both mistakes
 * end in the wait for a late write; and that one is waited for twice, so that one jump, however far, spoils one half of
 * it and leaves the other. What is left: a clock that is set forward twice within those minutes, or a write that the
 * provider applies after `LATE_WRITE_MS`. Then the meter shows an older total while the report says "confirmed", until
 * the next report of the meter writes over it, or the reconciler of the night finds `under_billed` or `over_billed` with
 * the cause "The meter moved without a report from this app", writes the ledger's total and reads it back. If the meter
 * has closed by then it finds `closed_cycle_drift`, and a person decides. A clock that is set back only waits longer.
 */

/** When a meter takes no more writes: at the end of its cycle, or of its agreement if that comes first. */
export function closesAtMs(cycleEndMs: number, agreementUntilMs: number | null): number {
  return agreementUntilMs === null ? cycleEndMs : Math.min(cycleEndMs, agreementUntilMs);
}

export type Step =
  /** Write `totalUnits`, but only if the write can start before `startBeforeMs`. Store `state`, delete the mark. */
  | {
      readonly kind: "send";
      readonly totalUnits: number;
      readonly version: number;
      readonly startBeforeMs: number;
      readonly state: ReportState;
    }
  /** Read the meter and hand the answer to `afterReadBack`. Keep the mark, for `untilMs`; store `state`. */
  | {
      readonly kind: "read_back";
      readonly version: number;
      readonly untilMs: number;
      readonly state: ReportState;
    }
  /** Keep the mark, ask again then. */
  | { readonly kind: "wait"; readonly untilMs: number }
  /** The provider has the ledger's total, as far as can be known. Delete the mark. */
  | { readonly kind: "done"; readonly straddled: boolean }
  /** No agreement, so no meter outside. Delete the mark; an agreement learnt later moves the entries. */
  | { readonly kind: "unmetered" }
  /** The meter has closed and its total differs. Delete the mark; a person decides. */
  | { readonly kind: "review"; readonly late: LateUsage; readonly straddled: boolean };

/*
 * `straddled`: a write to this meter may have been applied after its end, which the provider counts in the next cycle.
 * Mark the next cycle's meter of the same agreement, with `withStraddler`.
 */

/** What a closed meter's ledger says and the provider does not. */
export interface LateUsage {
  /** Below zero when usage that was settled here was found to belong to another agreement afterwards. */
  readonly ledgerUnits: number;
  /** The last confirmed total, 0 if there was none. */
  readonly sentUnits: number;
  /** Ledger less sent; below zero when corrections came late. */
  readonly lateUnits: number;
  /** The total of a last attempt without an answer: the provider has it or not. Null when all answers are known. */
  readonly maybeSentUnits: number | null;
}

/** No meter outside stands below zero. One that has closed is not written any more, so there it is late usage. */
function assertSendable(ledgerUnits: number): void {
  assert(ledgerUnits >= 0, `the counters add up to ${ledgerUnits}, which no meter can show`);
}

/**
 * What to do about a marked meter at this instant. `ledgerUnits` is read in the same transaction. Throws `AssertionError`
 * when they are below zero and the meter is open.
 */
export function nextStep(
  stored: ReportState,
  meter: Pick<Meter, "agreementId"> & { readonly closesAtMs: number },
  ledgerUnits: number,
  nowMs: number,
): Step {
  if (meter.agreementId === null) return { kind: "unmetered" };
  const state = lapsed(stored, nowMs);
  // A live sender first, even past the end: its answer is on its way.
  if (state.pending !== null) return { kind: "wait", untilMs: state.pending.leaseExpiresAtMs };
  if (nowMs >= meter.closesAtMs) return afterClosing(state, meter.closesAtMs, ledgerUnits);
  assertSendable(ledgerUnits);

  const isWritten = ledgerUnits === (state.lastTotalUnits ?? 0) && state.lastOutcome !== "failed";
  if (state.resend || !isWritten) {
    if (nowMs < state.notBeforeMs) return { kind: "wait", untilMs: state.notBeforeMs };
    const lastStartMs = meter.closesAtMs - BOUNDARY_GUARD_MS;
    if (nowMs >= lastStartMs) return { kind: "wait", untilMs: meter.closesAtMs };
    return claim(state, ledgerUnits, lastStartMs, nowMs);
  }
  if (state.unsure === null) return { kind: "done", straddled: false };
  const { readNotBeforeMs, readerUntilMs = 0 } = state.unsure;
  const dueMs = Math.max(readNotBeforeMs, readerUntilMs);
  return nowMs < dueMs ? { kind: "wait", untilMs: dueMs } : claimReading(state, state.unsure, nowMs);
}

function claimReading(state: ReportState, unsure: NonNullable<ReportState["unsure"]>, nowMs: number): Step {
  const untilMs = nowMs + SEND_LEASE_MS;
  const read = { ...state, unsure: { ...unsure, readerUntilMs: untilMs } };
  return { kind: "read_back", version: state.version, untilMs, state: read };
}

function claim(state: ReportState, totalUnits: number, lastStartMs: number, nowMs: number): Step {
  const version = state.version + 1;
  const leaseExpiresAtMs = nowMs + SEND_LEASE_MS;
  return {
    kind: "send",
    totalUnits,
    version,
    startBeforeMs: Math.min(leaseExpiresAtMs - REQUEST_TIMEOUT_MS, lastStartMs),
    state: {
      ...state,
      version,
      pending: { totalUnits, version, leaseExpiresAtMs },
      lastTotalUnits: totalUnits,
      resend: false,
    },
  };
}

function afterClosing(state: ReportState, closedAtMs: number, ledgerUnits: number): Step {
  const { unsure, confirmed, lastOutcome, lastTotalUnits } = state;
  const straddled = unsure !== null && unsure.sinceMs + LATE_WRITE_MS > closedAtMs;
  const sentUnits = confirmed?.totalUnits ?? 0;
  const lateUnits = ledgerUnits - sentUnits;
  const maybeSentUnits = lastOutcome === "unknown" ? lastTotalUnits : null;
  if (lateUnits === 0 && (maybeSentUnits ?? ledgerUnits) === ledgerUnits) return { kind: "done", straddled };
  return { kind: "review", late: { ledgerUnits, sentUnits, lateUnits, maybeSentUnits }, straddled };
}
