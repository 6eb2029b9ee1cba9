import { unreachable } from "../shared/assert.ts";
import type { ClickClass } from "./classify.ts";
import type { Cycle } from "./cycle.ts";
import type { Meter } from "./meter.ts";

/** What an entry came from. */
export type EntryOrigin =
  | { readonly kind: "click"; readonly code: string; readonly class: ClickClass; readonly rule: string }
  | { readonly kind: "job"; readonly jobKey: string; readonly budgetCycle: string }
  /** One half of a pair: the units moved to the meter of the agreement that was in force. */
  | { readonly kind: "move"; readonly correctsEntryId: string }
  | { readonly kind: "take_back"; readonly correctsEntryId: string }
  | { readonly kind: "carry_over" | "write_off"; readonly reviewId: string };

export interface WhyFacts {
  readonly entry: { readonly units: number; readonly atMs: number; readonly origin: EntryOrigin };
  readonly meter: Meter;
  readonly cycle: Cycle;
  /** For a click on a link with a cap: the cap, and the billable clicks that the link has in all. */
  readonly cap: { readonly capUnits: number; readonly billedUnits: number } | null;
  /** The last total of this meter that the provider is known to have. */
  readonly confirmed: { readonly totalUnits: number; readonly atMs: number } | null;
}

/** "Why was this billed", for a person. */
export interface WhyText {
  /** Billed, not billed, or a correction, and how many units. */
  readonly title: string;
  /** Sentences from the entry to the bill, in that order. */
  readonly reasons: readonly string[];
}

/** `formatTime` writes an instant in the reader's zone. */
export function whyText(facts: WhyFacts, formatTime: (instantMs: number) => string): WhyText {
  return {
    title: titleOf(facts.entry),
    reasons: [
      originText(facts.entry, formatTime),
      ...(facts.cap === null ? [] : [capText(facts.cap)]),
      meterText(facts, formatTime),
      reportText(facts, formatTime),
    ],
  };
}

function titleOf({ units, origin }: WhyFacts["entry"]): string {
  if (units === 0) return "Not billed";
  if (origin.kind === "click" || origin.kind === "job") return `Billed: ${unitsText(units)}`;
  return units > 0 ? `Correction: ${unitsText(units)} more` : `Correction: ${unitsText(-units)} less`;
}

function originText({ atMs, origin }: WhyFacts["entry"], formatTime: (instantMs: number) => string): string {
  const time = formatTime(atMs);
  switch (origin.kind) {
    case "click":
      return `A click on /${origin.code} on ${time}. ${CLASS_TEXTS[origin.class]} Rule: ${origin.rule}.`;
    case "job":
      return `Job ${origin.jobKey} was settled on ${time} at what it had used. Its hold was in cycle ${origin.budgetCycle}.`;
    case "move":
      return (
        `Entry ${origin.correctsEntryId} of ${time} was in the meter of another agreement, because a change was ` +
        "learnt late. This row and its pair move it; together they add nothing."
      );
    case "take_back":
      return `Entry ${origin.correctsEntryId} of ${time} was taken back.`;
    case "carry_over":
      return `Review ${origin.reviewId} carried usage over that missed the report of its own cycle. Its pair has the other sign.`;
    case "write_off":
      return `Review ${origin.reviewId} wrote usage off that missed the report of its cycle.`;
    default:
      return unreachable(origin);
  }
}

const CLASS_TEXTS: Record<ClickClass, string> = {
  billable: "A person's browser asked for it, so it counts.",
  inactive: "The link was disabled or deleted at that instant, so it does not count.",
  head: "It asked for headers only, so it does not count.",
  prefetch: "A browser fetched it before anybody clicked, so it does not count.",
  bot: "A program asked for it, so it does not count.",
  over_cap: "The link had all the clicks that its cap allows, so it does not count.",
};

function capText({ capUnits, billedUnits }: NonNullable<WhyFacts["cap"]>): string {
  return `The link's cap is ${unitsText(capUnits)}; ${count(billedUnits)} are billed.`;
}

function meterText({ meter, cycle }: WhyFacts, formatTime: (instantMs: number) => string): string {
  const agreement =
    meter.agreementId === null ? "with no agreement in force" : `under agreement ${meter.agreementId}`;
  return (
    `It is in the meter "${meter.feature}" ${agreement}, cycle ${cycle.name}: ` +
    `from ${formatTime(cycle.startMs)} up to ${formatTime(cycle.endMs)}.`
  );
}

function reportText({ meter, confirmed }: WhyFacts, formatTime: (instantMs: number) => string): string {
  if (meter.agreementId === null) return "Nothing of this meter is sent to the provider.";
  if (confirmed === null) return "No total of this meter has been confirmed by the provider yet.";
  return `The provider last confirmed ${unitsText(confirmed.totalUnits)} for this meter, on ${formatTime(confirmed.atMs)}.`;
}

const count = (units: number): string => units.toLocaleString("en-US");

const unitsText = (units: number): string => `${count(units)} ${Math.abs(units) === 1 ? "unit" : "units"}`;
