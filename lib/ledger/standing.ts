import type { EvidenceStatus } from "./reconcile.ts";

/*
 * What can be said of a meter at this moment: the last reading, and what has happened since. A reading says what the
 * provider had at one instant; as soon as the ledger goes on, it proves the older total only.
 */

/** What the last reconciliation of the meter found, and when it was found last. */
export interface LastReading {
  /** What the meter showed when it was left: after a repair what was read back. Null when it could not be read. */
  readonly meterUnits: number | null;
  readonly ledgerUnits: number;
  readonly status: EvidenceStatus;
  readonly atMs: number;
  /** Whether a later run has found the same again. */
  readonly isSeenAgain: boolean;
}

export interface MeterFactsNow {
  /** Whether it is sent to the provider at all. */
  readonly isMetered: boolean;
  /** Whether its account has a customer at the provider; without one there is only our own copy of the total. */
  readonly isAtProvider: boolean;
  readonly ledgerUnits: number;
  /** The last total that the provider confirmed. */
  readonly sent: { readonly totalUnits: number; readonly atMs: number } | null;
  /** Why the last report did not arrive; null when it did. */
  readonly sendError: string | null;
  readonly reading: LastReading | null;
  /** A person has decided that what differs stays as it is. */
  readonly isAccepted: boolean;
}

export const STANDINGS = [
  /** Read from the provider, and equal to the ledger as it is now. */
  "proven",
  /** It differed, was written over, and the read-back shows the ledger's total. */
  "repaired",
  /** The provider confirmed the ledger's total; nobody has read it since. */
  "confirmed",
  /** The ledger has gone on; the report with it is due. */
  "on_its_way",
  /** The report was tried and did not arrive; it is tried again. */
  "failing",
  /** The last run could not read the meter. */
  "unreadable",
  /** The last run could not repair it, or did not see the repair. */
  "error",
  /** Closed with a difference: a person has to decide. */
  "needs_review",
  /** Closed with a difference that a person has signed. */
  "accepted",
  /** Nothing was counted that would have to be sent. */
  "empty",
  /** The account has no customer at the provider, so nothing is sent or read there: our own copy is all there is. */
  "kept_here",
  /** Counted under no agreement: there is no meter at the provider. */
  "unmetered",
] as const;

export type Standing = (typeof STANDINGS)[number];

/** Those that somebody should look at. */
export function isTrouble(standing: Standing): boolean {
  return ["failing", "unreadable", "error", "needs_review"].includes(standing);
}

export function standingOf(facts: MeterFactsNow): Standing {
  if (!facts.isMetered) return "unmetered";
  const standing = standingOfTotal(facts);
  // What our own copy shows says nothing of a provider. That it differs for good is worth a look all the same.
  const says = isTrouble(standing) || standing === "accepted" || standing === "empty";
  return facts.isAtProvider || says ? standing : "kept_here";
}

function standingOfTotal({ ledgerUnits, sent, sendError, reading, isAccepted }: MeterFactsNow): Standing {
  const isConfirmed = sent !== null && sent.totalUnits === ledgerUnits;
  if (reading !== null) {
    const { status } = reading;
    if (status === "needs_review") return isAccepted ? "accepted" : "needs_review";
    const isOvertaken = isConfirmed && sent.atMs > reading.atMs;
    if ((status === "error" || status === "unreadable") && !isOvertaken) return status;
    if (reading.meterUnits === ledgerUnits && reading.ledgerUnits === ledgerUnits) {
      return status === "repaired_and_confirmed" && !reading.isSeenAgain ? "repaired" : "proven";
    }
  }
  if (isConfirmed) return "confirmed";
  if (sendError !== null) return "failing";
  return ledgerUnits === 0 && sent === null ? "empty" : "on_its_way";
}
