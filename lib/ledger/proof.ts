import { unreachable } from "../shared/assert.ts";
import type { LastReading, Standing } from "./standing.ts";

/*
 * Whether a meter is right, in a sentence for the one who is billed by it. Only a reading of the provider's meter proves
 * anything: that a total was sent and taken says nothing of what the meter shows.
 */

export interface MeterProof {
  readonly feature: string;
  /** The total of the meter in the ledger now. */
  readonly ledgerUnits: number;
  /** Whether the provider has this meter; without a customer there, nothing is sent to it or read. */
  readonly isAtProvider: boolean;
  readonly standing: Standing;
  readonly reading: ProvenReading | null;
}

/** The last reading, with what the provider showed before anything was written over it. */
export interface ProvenReading extends LastReading {
  /** Null when it could not be read. */
  readonly foundUnits: number | null;
}

/** `formatTime` writes an instant in the reader's zone. */
export function proofText(proof: MeterProof, formatTime: (instantMs: number) => string): string {
  const { isAtProvider, standing, reading, feature, ledgerUnits } = proof;
  if (standing === "unmetered") return "No agreement was in force, so no provider's meter has to follow it.";
  if (!isAtProvider)
    return "The account has no customer at the billing provider, so there is no meter to prove.";
  if (reading === null) {
    return "The provider's meter is not proven yet: the reconciliation runs every night, or when an operator starts it.";
  }
  const found = foundText(reading, standing, formatTime(reading.atMs));
  if (ledgerUnits === reading.ledgerUnits) return found;
  return `${found} The ledger has gone on to ${amount(ledgerUnits, feature)} since; the next reading proves that.`;
}

function foundText(reading: ProvenReading, standing: Standing, time: string): string {
  const { status, meterUnits, foundUnits, ledgerUnits, isSeenAgain } = reading;
  const differed = `differed when it was last read, on ${time}: provider ${count(foundUnits)}, ledger ${count(ledgerUnits)}`;
  switch (status) {
    case "proven":
      return provenText(time, ledgerUnits);
    case "repaired_and_confirmed":
      return isSeenAgain
        ? provenText(time, ledgerUnits)
        : `The meter ${differed}. It was put right, and read back it showed ${count(meterUnits)}.`;
    case "error":
      return standing === "error"
        ? `The meter ${differed}; it is being put right.`
        : `The meter ${differed}. The ledger's total was sent again since.`;
    case "needs_review":
      return standing === "accepted"
        ? `The meter has closed and ${differed}. An operator has decided that it stays so.`
        : `The meter has closed and ${differed}. An operator decides what becomes of it.`;
    case "unreadable":
      return `The meter could not be read on ${time}, so nothing is proven now; it is read again by itself.`;
    case "kept_here":
      return "There is no meter at the provider to prove.";
    default:
      return unreachable(status);
  }
}

const provenText = (time: string, units: number): string =>
  `Proven on ${time}: the provider showed ${count(units)}, the ledger had ${count(units)}.`;

const count = (units: number | null): string => (units === null ? "nothing" : units.toLocaleString("en-US"));

/** An amount in words. Features are named by what they count, in the plural: tokens, clicks. */
export const amount = (units: number, feature: string): string =>
  `${count(units)} ${Math.abs(units) === 1 ? feature.replace(/s$/, "") : feature}`;
