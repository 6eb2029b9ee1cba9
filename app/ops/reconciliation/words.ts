import type { EvidenceStatus, Verdict } from "../../../lib/ledger/reconcile.ts";
import { isTrouble, type Standing } from "../../../lib/ledger/standing.ts";
import type { Tone } from "../../components/badge.tsx";
import { countOf, formatUnits } from "../../components/format.ts";

/** The words of the reconciliation screens. */

interface MeterName {
  readonly feature: string;
  readonly cycle: string;
  readonly agreementId: string | null;
}

export const STANDING_NAMES: Record<Standing, { name: string; tone: Tone }> = {
  proven: { name: "Proven", tone: "good" },
  repaired: { name: "Repaired", tone: "good" },
  confirmed: { name: "Reported", tone: "accent" },
  on_its_way: { name: "On its way", tone: "accent" },
  failing: { name: "Report fails", tone: "bad" },
  unreadable: { name: "Not readable", tone: "warn" },
  error: { name: "Not repaired", tone: "bad" },
  needs_review: { name: "Needs a decision", tone: "warn" },
  accepted: { name: "Accepted", tone: "neutral" },
  empty: { name: "Nothing to send", tone: "neutral" },
  kept_here: { name: "No provider meter", tone: "neutral" },
  unmetered: { name: "No agreement", tone: "neutral" },
};

/** Whether the meter is right, and how that is known. */
export const STANDING_REASONS: Record<Standing, string> = {
  proven: "The meter was read from the provider and shows exactly what the ledger adds up to.",
  repaired:
    "The meter differed. The ledger's total was written over it, and the meter read back shows that total.",
  confirmed:
    "The provider has confirmed the ledger's total. The meter itself was not read since; the next run does.",
  on_its_way: "The ledger has gone on since the last report. The next report is due within a minute.",
  failing: "The last report did not arrive. It is tried again by itself.",
  unreadable:
    "The last run could not read the meter, so nothing is known about it. The next run tries again.",
  error: "The last run could not bring the meter to the ledger's total, or did not see it there afterwards.",
  needs_review:
    "The cycle has closed with a difference. A closed meter is never written: a person decides what becomes of it.",
  accepted: "The cycle has closed with a difference, and a person has signed that it stays.",
  empty: "Nothing was counted that would have to be sent.",
  kept_here:
    "The account has no customer at the billing provider, so there is no meter to send to, to read or to prove. Its total is kept in this database alone.",
  unmetered: "This was counted while no agreement was in force. It is sent nowhere.",
};

export const STATUS_TITLES: Record<EvidenceStatus, { title: string; tone: Tone }> = {
  proven: { title: "Proven: meter and ledger agree", tone: "good" },
  kept_here: { title: "No meter at the provider: ledger and own copy agree", tone: "neutral" },
  repaired_and_confirmed: { title: "Repaired, and the repair was read back", tone: "good" },
  error: { title: "Not repaired", tone: "bad" },
  needs_review: { title: "Put before a person", tone: "warn" },
  unreadable: { title: "The meter could not be read", tone: "warn" },
};

/** Where the account has no customer at the provider, only this app's own copy of the total can be compared. */
export const COPY_REPAIRED = "The own copy of the total was written anew";

export const VERDICTS: Record<Verdict, string> = {
  match: "The meter shows the ledger's total. Nothing has to be done.",
  under_billed: "The meter shows less than the ledger: under-billed. It has to be written.",
  over_billed: "The meter shows more than the ledger: over-billed. It has to be written over.",
  closed_cycle_drift: "The cycle has closed, and closed meters are never written. A person decides.",
  unreadable: "Nothing can be said without a reading, so nothing is written.",
};

/** The same of a copy that is kept here, of which nobody is billed. */
export const COPY_VERDICTS: Record<Verdict, string> = {
  match:
    "The own copy shows the ledger's total. Nothing was read from a provider, and nothing is proven by it.",
  under_billed: "The own copy shows less than the ledger. It has to be written.",
  over_billed: "The own copy shows more than the ledger. It has to be written over.",
  closed_cycle_drift: VERDICTS.closed_cycle_drift,
  unreadable: VERDICTS.unreadable,
};

/** Enough of an agreement's id to tell two apart. */
const AGREEMENT_CHARS = 6;

/**
 * "agreement …4f2a1c", where an account has more than one meter of this feature and cycle, as after a change of the plan;
 * otherwise null.
 */
export function agreementMark(meter: MeterName, ofAccount: readonly MeterName[]): string | null {
  const { feature, cycle, agreementId } = meter;
  const alike = ofAccount.filter((other) => other.feature === feature && other.cycle === cycle);
  if (alike.length < 2) return null;
  return agreementId === null ? "no agreement" : `agreement …${agreementId.slice(-AGREEMENT_CHARS)}`;
}

/** With its sign, since less and more are different things here. */
export function formatDifference(units: number): string {
  if (units === 0) return "0";
  return `${units > 0 ? "+" : "−"}${formatUnits(Math.abs(units))}`;
}

/** Red only where a difference is not explained by what is still on its way. */
export function differenceTone(units: number, standing: Standing): string {
  if (units === 0) return "text-good";
  return isTrouble(standing) ? "font-medium text-bad" : "text-muted";
}

/** What a run went through, and what came of it. */
export function describeCounts(counts: Readonly<Record<string, number>>): { went: string; found: string } {
  const of = (name: string) => counts[name] ?? 0;
  const went = `${countOf(of("accounts"), "account")}, ${countOf(of("meters"), "meter")}, ${countOf(of("rows"), "ledger row")}`;
  const found = [
    [of("match"), "proven"],
    [of("kept_here"), "with no meter at the provider"],
    [of("repaired"), "repaired"],
    [of("closed_cycle_drift"), "closed with a difference"],
    [of("unreadable"), "not readable"],
    [of("errors"), "not repaired"],
    [of("rebuilt"), "counters rebuilt"],
    [of("unmetered"), "without an agreement"],
  ]
    .filter(([count]) => count !== 0)
    .map(([count, what]) => `${formatUnits(Number(count))} ${what}`);
  return { went, found: found.length === 0 ? "nothing to compare" : found.join(", ") };
}
