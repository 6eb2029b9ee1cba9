import { assertUnits } from "../shared/units.ts";
import type { ReportState } from "./report-state.ts";
import type { Reading } from "./report-outcome.ts";

/*
 * The reconciler's judgement of one meter. The ledger is the fact and the meter a copy of it: whatever the meter says,
 * nothing here ever proposes to change the ledger.
 */

export type Verdict = "match" | "under_billed" | "over_billed" | "closed_cycle_drift" | "unreadable";

export const CAUSES = {
  ledger_changed: "The ledger changed after the last report. A late click or a correction arrived.",
  report_failed: "The last report failed.",
  never_sent: "No total of this meter was sent before: what it counts had not been reported yet.",
  closed_unsent:
    "No total of this meter arrived before its cycle or its agreement ended, and the provider takes none after that.",
  meter_moved:
    "The meter moved without a report from this app. A report was counted twice, or something else wrote to the meter.",
} as const;

export type Cause = keyof typeof CAUSES;

export interface MeterFacts {
  /** The sum of the rows: the counters after each was checked against its rows, read in one snapshot. */
  readonly ledgerUnits: number;
  /** The sum of the counters as they were found. */
  readonly counterUnits: number;
  /** What was sent, as `lapsed` leaves it. */
  readonly report: Pick<ReportState, "confirmed" | "lastTotalUnits" | "lastOutcome">;
  readonly provider: Reading;
  /** The cycle or the agreement has ended: nothing is written to the meter any more. */
  readonly isClosed: boolean;
}

export interface Decision {
  readonly verdict: Verdict;
  /** Null where nothing is wrong, or nothing could be read. */
  readonly cause: Cause | null;
  /** Meter less ledger; null when it could not be read. */
  readonly driftUnits: number | null;
  /** `write` sends the ledger's total, as an absolute value, through the reporter's sender. `review` tells a person. */
  readonly repair:
    | { readonly kind: "none" }
    | { readonly kind: "write"; readonly totalUnits: number }
    | { readonly kind: "review" };
}

/**
 * Compares ledger, last sent and provider. Throws `AssertionError` when the ledger's total is no amount of units that an
 * open meter could be written to; a closed one may have come below zero (`LateUsage`).
 */
export function decide(facts: MeterFacts): Decision {
  const { provider, isClosed } = facts;
  const ledgerUnits = isClosed ? facts.ledgerUnits : assertUnits("ledgerUnits", facts.ledgerUnits);
  if (provider.kind === "unreadable") {
    return { verdict: "unreadable", cause: null, driftUnits: null, repair: { kind: "none" } };
  }
  const driftUnits = provider.totalUnits - ledgerUnits;
  if (driftUnits === 0) return { verdict: "match", cause: null, driftUnits, repair: { kind: "none" } };
  const cause = causeOf(facts, provider.totalUnits);
  if (isClosed) return { verdict: "closed_cycle_drift", cause, driftUnits, repair: { kind: "review" } };
  return {
    verdict: driftUnits < 0 ? "under_billed" : "over_billed",
    cause,
    driftUnits,
    repair: { kind: "write", totalUnits: ledgerUnits },
  };
}

/** Why a meter that does not show the ledger's total shows what it shows. A meter never written to shows 0. */
function causeOf({ report, ledgerUnits, isClosed }: MeterFacts, providerUnits: number): Cause {
  const { confirmed, lastOutcome, lastTotalUnits } = report;
  const isUnsent = confirmed === null && lastOutcome !== "unknown" && providerUnits === 0 && ledgerUnits > 0;
  if (isUnsent && isClosed) return "closed_unsent";
  if (isUnsent && lastOutcome === "none") return "never_sent";
  const lastFailed = lastOutcome === "failed" || lastOutcome === "unknown";
  if (providerUnits === (confirmed?.totalUnits ?? 0)) return lastFailed ? "report_failed" : "ledger_changed";
  // The answer was lost and the write was not: the meter stands where our last report put it.
  if (lastOutcome === "unknown" && providerUnits === lastTotalUnits) return "ledger_changed";
  return "meter_moved";
}

/**
 * How a run ends for one meter. `error` makes the whole run end with an error. `kept_here` is the match of a meter that
 * no provider has: our own copy of the total was compared, so nothing is proven by it.
 */
export type EvidenceStatus =
  | "proven"
  | "kept_here"
  | "repaired_and_confirmed"
  | "error"
  | "needs_review"
  | "unreadable";

/** What becomes of a decision without a write. `isAtProvider` says whether the provider has a meter that was read. */
export function statusOf(
  verdict: Exclude<Verdict, "under_billed" | "over_billed">,
  isAtProvider: boolean,
): EvidenceStatus {
  if (verdict === "match") return statusOfMatch(isAtProvider);
  return verdict === "unreadable" ? "unreadable" : "needs_review";
}

const statusOfMatch = (isAtProvider: boolean): EvidenceStatus => (isAtProvider ? "proven" : "kept_here");

export type RepairResult =
  | { readonly status: "repaired_and_confirmed"; readonly readBackUnits: number }
  | { readonly status: "error"; readonly readBackUnits: number | null; readonly error: string };

/**
 * What the read-back after a repair means. Only the very total that was written counts as repaired; a write that was
 * answered and not seen, or not read, is an error. The sender's lease is held over both, so no report comes between.
 */
export function judgeReadBack(writtenUnits: number, reading: Reading): RepairResult {
  if (reading.kind === "unreadable") {
    const error = `${writtenUnits} was written and could not be read back: ${reading.error}`;
    return { status: "error", readBackUnits: null, error };
  }
  const readBackUnits = reading.totalUnits;
  if (readBackUnits === writtenUnits) return { status: "repaired_and_confirmed", readBackUnits };
  return {
    status: "error",
    readBackUnits,
    error: `${writtenUnits} was written and ${readBackUnits} was read back`,
  };
}

/** The numbers of one reconciliation of one meter, as they are kept. */
export interface Evidence {
  readonly ledgerUnits: number;
  readonly counterUnits: number;
  /** The last confirmed total before a repair; null if there was none. */
  readonly sentUnits: number | null;
  /** What the provider showed before a repair; null when it could not be read. */
  readonly providerUnits: number | null;
  readonly verdict: Verdict;
  readonly status: EvidenceStatus;
  /** Whether the provider has this meter; false where our own copy of the total stands for one. */
  readonly isAtProvider: boolean;
}

/**
 * Does a result say what the last kept row of its meter says already? Then no row is added. A confirmed repair leaves
 * the ledger's total in all four places, so finding just that in the next run is what was proven, not news; another
 * drift after it is.
 */
export function isRepeat(previous: Evidence | null, next: Evidence): boolean {
  if (previous === null) return false;
  const left = numbersLeftBy(previous);
  return (
    next.ledgerUnits === left.ledgerUnits &&
    next.counterUnits === left.ledgerUnits &&
    next.sentUnits === left.sentUnits &&
    next.providerUnits === left.providerUnits &&
    next.verdict === left.verdict &&
    next.status === left.status
  );
}

/** The counters are rebuilt whenever they differ, so they always leave equal to the ledger. */
function numbersLeftBy(evidence: Evidence): Omit<Evidence, "counterUnits" | "isAtProvider"> {
  if (evidence.status !== "repaired_and_confirmed") return evidence;
  const { ledgerUnits, isAtProvider } = evidence;
  return {
    ledgerUnits,
    sentUnits: ledgerUnits,
    providerUnits: ledgerUnits,
    verdict: "match",
    status: statusOfMatch(isAtProvider),
  };
}
