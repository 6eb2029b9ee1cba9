import type { EndedStatus } from "../gate/types.ts";
import { must, unreachable } from "../shared/assert.ts";
import type { ClickClass } from "./classify.ts";
import type { Cycle } from "./cycle.ts";
import type { Meter } from "./meter.ts";
import { amount, type MeterProof, proofText } from "./proof.ts";

/** What an entry came from. */
export type EntryOrigin =
  | { readonly kind: "click"; readonly code: string; readonly class: ClickClass; readonly rule: string }
  | { readonly kind: "job"; readonly jobKey: string; readonly budgetCycle: string }
  /** One half of a pair: the units moved to the meter of the agreement that was in force. */
  | { readonly kind: "move"; readonly correctsEntryId: string }
  | { readonly kind: "take_back"; readonly correctsEntryId: string }
  | { readonly kind: "carry_over" | "write_off"; readonly reviewId: string };

/** A job as it ended. What came back of its hold is the rest of it. */
export interface WhyJob {
  readonly status: EndedStatus;
  readonly heldUnits: number;
  readonly usedUnits: number;
  /** What it wanted beyond its hold, which is never charged. */
  readonly overCapUnits: number;
}

export interface WhyFacts {
  /** `atMs` is when it happened; a correction has that of the entry it corrects, and was booked later. */
  readonly entry: {
    readonly units: number;
    readonly atMs: number;
    readonly bookedAtMs: number;
    readonly origin: EntryOrigin;
  };
  /** The meter that the row is in. */
  readonly meter: Meter;
  readonly cycle: Cycle;
  /** The agreement of the meter; null without one. */
  readonly agreement: { readonly planKey: string | null; readonly fromMs: number } | null;
  /** For a click on a link with a cap: the cap, and the billable clicks that the link has in all. */
  readonly cap: { readonly capUnits: number; readonly billedUnits: number } | null;
  /** For the entry of a job: how that job ended. */
  readonly job: WhyJob | null;
  /** Where the units of this entry have been moved since; null while they are where they were booked. */
  readonly moved: WhyMove | null;
  /** The total in the ledger now of the meter that the units are in, which is the other one after a move. */
  readonly ledgerUnits: number;
  /** The last total of this meter that the provider is known to have. */
  readonly confirmed: { readonly totalUnits: number; readonly atMs: number } | null;
  /** What the provider's own meter showed when it was read last. */
  readonly proof: Pick<MeterProof, "isAtProvider" | "standing" | "reading">;
}

/** The last row that moved an entry to another meter. */
export interface WhyMove {
  readonly entryId: string;
  readonly bookedAtMs: number;
  readonly agreementId: string | null;
  readonly planKey: string | null;
  readonly cycle: string;
}

/** "Why was this billed", or was not, for a person. */
export interface WhyText {
  /** Billed, not billed, or a correction, and how many units. */
  readonly title: string;
  /** Sentences from the entry to the bill, in that order. */
  readonly reasons: readonly string[];
}

/**
 * `formatTime` writes an instant in the reader's zone, `planName` is how a plan is called there. Throws
 * `AssertionError` for the entry of a job without the facts of that job.
 */
export function whyText(
  facts: WhyFacts,
  formatTime: (instantMs: number) => string,
  planName: (planKey: string) => string,
): WhyText {
  return {
    title: titleOf(facts),
    reasons: [
      originText(facts, formatTime),
      ...(facts.cap === null ? [] : [capText(facts.cap, facts.meter.feature)]),
      meterText(facts, formatTime, planName),
      ...(facts.moved === null ? [] : [movedText(facts.moved, facts.meter.feature, formatTime, planName)]),
      reportText(facts, formatTime),
      proofText({ ...facts.proof, feature: facts.meter.feature, ledgerUnits: facts.ledgerUnits }, formatTime),
    ],
  };
}

function titleOf({ entry: { units, origin }, meter: { feature } }: WhyFacts): string {
  if (units === 0) return "Not billed";
  if (origin.kind === "click" || origin.kind === "job") return `Billed: ${amount(units, feature)}`;
  return units > 0
    ? `Correction: ${amount(units, feature)} more`
    : `Correction: ${amount(-units, feature)} less`;
}

function originText(facts: WhyFacts, formatTime: (instantMs: number) => string): string {
  const { atMs, origin } = facts.entry;
  const time = formatTime(atMs);
  switch (origin.kind) {
    case "click":
      return `A click on /${origin.code} on ${time}. ${CLASS_TEXTS[origin.class]} ${ruleText(origin)}`;
    case "job":
      return jobText(origin, must(facts.job, `no facts of job ${origin.jobKey}`), facts.meter.feature, time);
    case "move":
      return (
        `Entry ${origin.correctsEntryId} of ${time} was in the meter of another agreement, because a change was ` +
        `learnt late. This row, booked on ${formatTime(facts.entry.bookedAtMs)}, and its pair move it; together they add nothing.`
      );
    case "take_back":
      return `Entry ${origin.correctsEntryId} of ${time} was taken back on ${formatTime(facts.entry.bookedAtMs)}.`;
    case "carry_over":
      return `Review ${origin.reviewId} carried usage over that missed the report of its own cycle. Its pair has the other sign.`;
    case "write_off":
      return `Review ${origin.reviewId} wrote usage off that missed the report of its cycle.`;
    default:
      return unreachable(origin);
  }
}

function jobText(
  { jobKey, budgetCycle }: Extract<EntryOrigin, { kind: "job" }>,
  { status, heldUnits, usedUnits, overCapUnits }: WhyJob,
  feature: string,
  time: string,
): string {
  const sentences = [
    `Job ${jobKey} ${END_TEXTS[status](time)}`,
    `It held ${amount(heldUnits, feature)}, used ${count(usedUnits)} and returned ${count(heldUnits - usedUnits)}.`,
    ...(overCapUnits === 0 ? [] : [`It wanted ${count(overCapUnits)} more; the hold cut that off.`]),
    `Its hold was in cycle ${budgetCycle}.`,
  ];
  return sentences.join(" ");
}

const END_TEXTS: Record<EndedStatus, (time: string) => string> = {
  completed: (time) => `was completed on ${time}.`,
  failed: (time) => `failed on ${time}; what it had used until then is charged.`,
  cancelled: (time) => `was cancelled on ${time}; what it had used until then is charged.`,
  capped: (time) => `was stopped at the end of its hold on ${time}.`,
  // By the sweeper, or by an admission that needed the room.
  expired: (time) =>
    `was still running when its lease ended; it was settled on ${time} at what had been charged.`,
};

/** Of a click that counts no rule matched. */
const ruleText = ({ class: kind, rule }: Extract<EntryOrigin, { kind: "click" }>): string =>
  kind === "billable" ? NO_RULE_TEXT : `Rule: ${rule}.`;

/** The rules of classify.ts in the order in which they are tried. */
const NO_RULE_TEXT =
  "No rule speaks against it; checked were: the link is not active, only headers were asked for, a browser fetched it " +
  "ahead, a program (bot) asked, the cap of the link was reached.";

const CLASS_TEXTS: Record<ClickClass, string> = {
  billable: "A person's browser asked for it, so it counts.",
  inactive: "The link was disabled or deleted at that instant, so it does not count.",
  head: "It asked for headers only, so it does not count.",
  prefetch: "A browser fetched it before anybody clicked, so it does not count.",
  bot: "A program asked for it, so it does not count.",
  over_cap: "The link had all the clicks that its cap allows, so it does not count.",
};

function capText({ capUnits, billedUnits }: NonNullable<WhyFacts["cap"]>, feature: string): string {
  const verb = billedUnits === 1 ? "is" : "are";
  return `The link's cap is ${amount(capUnits, feature)}; ${count(billedUnits)} ${verb} billed.`;
}

function meterText(
  { entry, meter, cycle, agreement, moved }: WhyFacts,
  formatTime: (instantMs: number) => string,
  planName: (planKey: string) => string,
): string {
  const place = entry.units === 0 ? "It adds 0 to" : moved === null ? "It is in" : "It was booked in";
  // An agreement that is not the first of its cycle has a meter of its own, for its part of the cycle.
  const began =
    agreement !== null && agreement.fromMs > cycle.startMs && agreement.fromMs < cycle.endMs
      ? ` The agreement began within it, on ${formatTime(agreement.fromMs)}.`
      : "";
  return (
    `${place} the meter "${meter.feature}" ${agreementText(agreement, planName)}, cycle ${cycle.name}: ` +
    `from ${formatTime(cycle.startMs)} up to ${formatTime(cycle.endMs)}.${began}`
  );
}

function agreementText(
  agreement: { readonly planKey: string | null } | null,
  planName: (planKey: string) => string,
): string {
  if (agreement === null) return "with no agreement in force";
  return agreement.planKey === null
    ? "of an agreement whose plan is not known"
    : `of the plan ${planName(agreement.planKey)}`;
}

function movedText(
  { entryId, bookedAtMs, agreementId, planKey, cycle }: WhyMove,
  feature: string,
  formatTime: (instantMs: number) => string,
  planName: (planKey: string) => string,
): string {
  const place = agreementText(agreementId === null ? null : { planKey }, planName);
  return (
    `On ${formatTime(bookedAtMs)} it was moved to the meter "${feature}" ${place}, cycle ${cycle}, because a change of ` +
    `the agreement was learnt late: entry ${entryId}. It is billed there, and the first meter has nothing of it.`
  );
}

function reportText(facts: WhyFacts, formatTime: (instantMs: number) => string): string {
  const total = amount(facts.ledgerUnits, facts.meter.feature);
  return `${providerText(facts, formatTime)} Its total in the ledger is ${total}.`;
}

function providerText(
  { meter, moved, confirmed, proof }: WhyFacts,
  formatTime: (instantMs: number) => string,
): string {
  if ((moved ?? meter).agreementId === null || !proof.isAtProvider)
    return "Nothing of this meter is sent to the provider.";
  if (confirmed === null) return "No total of this meter has been confirmed by the provider yet.";
  const total = amount(confirmed.totalUnits, meter.feature);
  return `The last total sent for this meter, and taken by the provider, is ${total}, on ${formatTime(confirmed.atMs)}.`;
}

const count = (units: number): string => units.toLocaleString("en-US");
