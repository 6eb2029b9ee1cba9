import { assert } from "../shared/assert.ts";
import { meterKey, type Meter } from "./meter.ts";
import type { LateUsage } from "./report.ts";

/*
 * What a person may do about a meter that closed with another total than the ledger's:
 *
 *   carry_over   the difference leaves the closed meter and is billed in the current one
 *   write_off    it leaves the closed meter and is billed nowhere
 *   accept       nothing is booked; the difference stays as it is, seen and signed
 *
 * After the first two the ledger of the closed meter says what the provider was sent.
 */

export type LateDecision = "carry_over" | "write_off" | "accept";

export interface LateReview {
  readonly reviewId: string;
  readonly meter: Meter;
  /** The end of the meter. */
  readonly closedAtMs: number;
  /** The numbers that the person was shown. */
  readonly late: LateUsage;
  /** What was decided before; null while the review is open. */
  readonly decision: LateDecision | null;
}

export interface LateRequest {
  readonly decision: LateDecision;
  /**
   * What the closed meter is billed as: the last confirmed total, or the one that was sent without an answer. Has to be
   * said where there is such a one, because booking on a wrong guess bills twice or not at all.
   */
  readonly billedUnits: number;
}

/** A row that settles late usage. It belongs to the review, not to one entry, and to no budget. */
export interface LateEntry {
  readonly key: string;
  readonly meter: Meter;
  readonly units: number;
  readonly atMs: number;
  readonly reviewId: string;
  readonly reason: Exclude<LateDecision, "accept">;
}

export type LateOutcome =
  /** Book the entries, mark the current meter if it got one, close the review and write the audit line. */
  | { readonly kind: "decided"; readonly lateUnits: number; readonly entries: readonly LateEntry[] }
  /** The same was decided before: answer so and book nothing. */
  | { readonly kind: "already_decided" }
  | {
      readonly kind: "refused";
      readonly code:
        | "decided_otherwise"
        | "numbers_changed"
        | "billed_unknown"
        | "not_late"
        | "too_much_back";
      readonly message: string;
    };

/**
 * Decides a review. `current` is the meter that carries on, with its ledger total; `ledgerUnits` the closed meter's
 * total; both are read in the same transaction. All rows together change the account's units by nothing, or by what is
 * written off.
 */
export function decideLateUsage(
  review: LateReview,
  request: LateRequest,
  now: {
    readonly ledgerUnits: number;
    readonly current: { meter: Meter; ledgerUnits: number };
    readonly nowMs: number;
  },
): LateOutcome {
  const { late } = review;
  if (review.decision !== null) {
    return review.decision === request.decision
      ? { kind: "already_decided" }
      : refused("decided_otherwise", `was decided before: ${review.decision}`);
  }
  if (now.ledgerUnits !== late.ledgerUnits) {
    const message = `the ledger has ${now.ledgerUnits} by now, ${late.ledgerUnits} was shown`;
    return refused("numbers_changed", message);
  }
  const possible = late.maybeSentUnits === null ? [late.sentUnits] : [late.sentUnits, late.maybeSentUnits];
  if (!possible.includes(request.billedUnits)) {
    return refused("billed_unknown", `the closed meter may have ${possible.join(" or ")} only`);
  }
  const lateUnits = now.ledgerUnits - request.billedUnits;
  if (request.decision === "accept") return { kind: "decided", lateUnits, entries: [] };
  if (lateUnits === 0) return refused("not_late", "nothing is missing from the closed meter, so accept it");
  return request.decision === "write_off"
    ? writeOff(review, lateUnits)
    : carryOver(review, lateUnits, now.current, now.nowMs);
}

function writeOff(review: LateReview, lateUnits: number): LateOutcome {
  // Below zero the customer was billed too much, which is not ours to forget.
  if (lateUnits < 0)
    return refused("too_much_back", `${-lateUnits} were billed too many: carry them over or accept`);
  return { kind: "decided", lateUnits, entries: [closingRow(review, lateUnits, "write_off")] };
}

function carryOver(
  review: LateReview,
  lateUnits: number,
  current: { readonly meter: Meter; readonly ledgerUnits: number },
  nowMs: number,
): LateOutcome {
  assert(meterKey(current.meter) !== meterKey(review.meter), "late usage carried over to its own meter");
  assert(
    current.meter.feature === review.meter.feature,
    `${review.meter.feature} carried over to another feature`,
  );
  if (lateUnits < 0 && current.ledgerUnits + lateUnits < 0) {
    const message = `the current meter has ${current.ledgerUnits}, from which ${-lateUnits} cannot be given back`;
    return refused("too_much_back", message);
  }
  const opening: LateEntry = {
    key: `late:${review.reviewId}:in`,
    meter: current.meter,
    units: lateUnits,
    atMs: nowMs,
    reviewId: review.reviewId,
    reason: "carry_over",
  };
  return { kind: "decided", lateUnits, entries: [closingRow(review, lateUnits, "carry_over"), opening] };
}

/** In the last instant of the meter, so that it lies in its cycle. */
function closingRow(review: LateReview, lateUnits: number, reason: LateEntry["reason"]): LateEntry {
  const { reviewId, meter, closedAtMs } = review;
  return { key: closingKey(reviewId), meter, units: -lateUnits, atMs: closedAtMs - 1, reviewId, reason };
}

function closingKey(reviewId: string): string {
  return `late:${reviewId}:out`;
}

/**
 * Whether an entry is the row that settled a closed meter. It belongs to that meter and to no instant: whatever is
 * learnt of agreements afterwards, this meter was sent what the person saw.
 */
export function settlesClosedMeter(
  key: string,
  origin: { readonly kind: string; readonly reviewId?: string },
): boolean {
  return origin.reviewId !== undefined && key === closingKey(origin.reviewId);
}

function refused(code: Extract<LateOutcome, { kind: "refused" }>["code"], message: string): LateOutcome {
  return { kind: "refused", code, message };
}
