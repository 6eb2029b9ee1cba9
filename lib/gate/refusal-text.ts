import { UNITS_MAX } from "../shared/units.ts";
import type { LimitUnknown, Refusal, RoomNumbers } from "./types.ts";

/** A refusal for a person: what happened, the numbers, and what to do next. */
export interface RefusalText {
  readonly title: string;
  readonly detail: string;
  readonly next: string;
}

/**
 * `formatTime` writes an instant in the reader's zone. When the earliest lease ends is left to the caller: it moves with
 * each sign of life of its worker.
 */
export function refusalText(
  refusal: Refusal | LimitUnknown,
  formatTime: (instantMs: number) => string,
): RefusalText {
  switch (refusal.code) {
    case "limit_reached":
      return limitReachedText(refusal, formatTime);
    case "held_by_running_jobs":
      return {
        title: "Your own running jobs hold the room",
        detail:
          `You asked for ${count(refusal.requestedUnits)}; ${count(refusal.freeUnits)} of ` +
          `${count(refusal.limitUnits)} are free and ${count(refusal.heldUnits)} are held by running jobs.`,
        next:
          refusal.freeUnits > 0
            ? `Wait for one to end, or ask for at most ${count(refusal.freeUnits)}.`
            : "Wait for one to end.",
      };
    case "limit_unknown":
      return {
        title: "The limit is not known right now",
        detail: "The billing provider could not be read, and what it said last is too old to rely on.",
        next: `Try again in ${seconds(refusal.retryAfterMs)}.`,
      };
    case "rate_limited":
      return {
        title: "Too many new jobs in a minute",
        detail: `This account starts at most ${count(refusal.limitPerMinute)} jobs a minute.`,
        next: `Try again in ${seconds(refusal.retryAfterMs)}.`,
      };
    case "payment_overdue":
      return {
        title: "An invoice is overdue",
        detail: `It is overdue since ${formatTime(refusal.overdueSinceMs)}. Jobs that run go on; new ones wait.`,
        next: "Pay the invoice; new jobs start again as soon as the payment is known.",
      };
    case "out_of_range":
      return {
        title: `${refusal.field} is out of range`,
        detail: refusal.message,
        next: `Give a whole number from ${count(refusal.minimum)} to ${count(refusal.maximum)}.`,
      };
    case "key_conflict":
      return {
        title: "This key started another job",
        detail: refusal.message,
        next: "Use a new key for a new job, or send the same values for the same one.",
      };
  }
}

/** What was asked for is more than use leaves of the limit. There may be room for less, and what is held may make some. */
function limitReachedText(numbers: RoomNumbers, formatTime: (instantMs: number) => string): RefusalText {
  const { requestedUnits, limitUnits, usedUnits, heldUnits, freeUnits } = numbers;
  const detail =
    `You asked for ${count(requestedUnits)}; ${count(freeUnits)} of ` +
    `${count(limitUnits)} are free (${count(usedUnits)} used, ${count(heldUnits)} held).`;
  if (limitUnits === 0) {
    return { title: "The plan has no tokens", detail, next: "A larger plan has some." };
  }
  const reset = formatTime(numbers.nextCycleStartMs);
  const leftUnits = limitUnits - usedUnits;
  const less =
    freeUnits > 0
      ? `Ask for at most ${count(freeUnits)}`
      : `Ask for at most ${count(leftUnits)} once your running jobs have ended`;
  // The plan has no limit: this is the end of what can be counted, and no plan has more.
  if (limitUnits === UNITS_MAX) {
    const title = "No more can be counted in this cycle";
    const next =
      leftUnits > 0 ? `${less}, or wait for the reset on ${reset}.` : `Wait for the reset on ${reset}.`;
    return { title, detail, next };
  }
  // No reset would ever make room for it.
  if (requestedUnits > limitUnits) {
    const isUsedUp = leftUnits <= 0;
    const smaller = isUsedUp ? `Ask for at most ${count(limitUnits)} after the reset on ${reset}` : less;
    return {
      title: "The job is larger than the whole limit",
      detail,
      next: `${smaller}, or choose a larger plan.`,
    };
  }
  if (leftUnits <= 0) {
    const next = `Choose a larger plan, or wait for the reset on ${reset}.`;
    return { title: "The limit is used up", detail, next };
  }
  return {
    title: "Not enough is left of the limit",
    detail,
    next: `${less}, choose a larger plan, or wait for the reset on ${reset}.`,
  };
}

const count = (units: number): string => units.toLocaleString("en-US");

const seconds = (ms: number): string => {
  const whole = Math.max(1, Math.ceil(ms / 1000));
  return whole === 1 ? "1 second" : `${whole} seconds`;
};
