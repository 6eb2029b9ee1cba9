import type { LimitUnknown, Refusal } from "./types.ts";

/** A refusal for a person: what happened, the numbers, and what to do next. */
export interface RefusalText {
  readonly title: string;
  readonly detail: string;
  readonly next: string;
}

/** `formatTime` writes an instant in the reader's zone. */
export function refusalText(
  refusal: Refusal | LimitUnknown,
  formatTime: (instantMs: number) => string,
): RefusalText {
  switch (refusal.code) {
    case "limit_reached": {
      const detail =
        `You asked for ${count(refusal.requestedUnits)}; ${count(refusal.freeUnits)} of ` +
        `${count(refusal.limitUnits)} are free (${count(refusal.usedUnits)} used, ${count(refusal.heldUnits)} held).`;
      // No reset would ever make room for it.
      if (refusal.requestedUnits > refusal.limitUnits) {
        const title = "The job is larger than the whole limit";
        return { title, detail, next: "Ask for less, or choose a larger plan." };
      }
      return {
        title: "The limit is used up",
        detail,
        next: `Ask for less, choose a larger plan, or wait for the reset on ${formatTime(refusal.nextCycleStartMs)}.`,
      };
    }
    case "held_by_running_jobs":
      return {
        title: "Your own running jobs hold the room",
        detail:
          `You asked for ${count(refusal.requestedUnits)}; ${count(refusal.freeUnits)} of ` +
          `${count(refusal.limitUnits)} are free and ${count(refusal.heldUnits)} are held by running jobs.`,
        next: `Wait for one to end, or ask for less. The earliest lease ends at ${formatTime(refusal.earliestLeaseExpiresAtMs)}.`,
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
        next: "Use a new key for a new job.",
      };
  }
}

const count = (units: number): string => units.toLocaleString("en-US");

const seconds = (ms: number): string => {
  const whole = Math.max(1, Math.ceil(ms / 1000));
  return whole === 1 ? "1 second" : `${whole} seconds`;
};
