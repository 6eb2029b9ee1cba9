import { KEY_LENGTH_MAX } from "../gate/request.ts";
import { cycleByName } from "../ledger/cycle.ts";
import { must } from "../shared/assert.ts";
import { DAY_MS, SECOND_MS } from "../shared/durations.ts";
import type { FieldError } from "../shared/problem.ts";
import { balanceOf, type CreditRow } from "./allowance.ts";

/** Reminders: what one may say and when it is due, what can still be done about it, and what the month has left. */

export const REMINDER_TEXT_MAX = 1_000;
/** Sooner than this it would be due before its answer is read. */
const LEAD_MS_MIN = SECOND_MS;
/** The longest year, so that "this day next year" is always possible. */
const LEAD_MS_MAX = 366 * DAY_MS;
/** Cancelled ones included: whoever writes and cancels without end would make the month too long to be read at once. */
const REMINDERS_OF_PERIOD_MAX = 3_000;

export interface ReminderRequest {
  /** Chosen by the caller and kept across its retries. */
  readonly key: string;
  readonly text: string;
  readonly dueAtMs: number;
}

/** Every fault of a request; none when it is good. */
export function checkReminder({ key, text, dueAtMs }: ReminderRequest, nowMs: number): FieldError[] {
  const errors: FieldError[] = [];
  if (key.length < 1 || key.length > KEY_LENGTH_MAX) {
    errors.push({ path: "key", message: `key must have 1 to ${KEY_LENGTH_MAX} characters` });
  }
  const fault = textFault(text);
  if (fault !== null) errors.push({ path: "text", message: `text ${fault}` });
  // A number that is none fails every comparison.
  const isInTime = dueAtMs >= nowMs + LEAD_MS_MIN && dueAtMs <= nowMs + LEAD_MS_MAX;
  if (!Number.isInteger(dueAtMs) || !isInTime) {
    const message = "dueAtMs must be a whole millisecond, a second to 366 days from now";
    errors.push({ path: "dueAtMs", message });
  }
  return errors;
}

/** What is wrong with a text, to be read after its name; null when nothing is. */
export function textFault(text: string): string | null {
  if (text.trim() === "") return "must not be empty";
  if (text.length > REMINDER_TEXT_MAX) return `must have at most ${REMINDER_TEXT_MAX} characters`;
  if (/[^\P{Cc}\n]/u.test(text)) return "must not hold control characters other than line breaks";
  return null;
}

export function isSameRequest(one: ReminderRequest, other: ReminderRequest): boolean {
  return one.key === other.key && one.text === other.text && one.dueAtMs === other.dueAtMs;
}

export interface ReminderState {
  readonly status: "waiting" | "delivered" | "cancelled";
  readonly dueAtMs: number;
}

/**
 * Whether a reminder can be cancelled. From the instant it is due it cannot, delivered or not: what is asked for then
 * came after its time. `already`: it is cancelled, and asking again changes nothing.
 */
export function judgeCancel(
  { status, dueAtMs }: ReminderState,
  nowMs: number,
): "cancel" | "already" | "too_late" {
  if (status === "cancelled") return "already";
  return status === "delivered" || nowMs >= dueAtMs ? "too_late" : "cancel";
}

/** The credits of a month, as they are shown. */
export interface CreditBalance {
  readonly period: string;
  readonly grantedUnits: number;
  readonly takenUnits: number;
  readonly returnedUnits: number;
  readonly leftUnits: number;
  /** When the next month begins, and with it new credits. */
  readonly nextPeriodStartMs: number;
}

/** `rows` are all rows of the period, the grant that is not written yet included. */
export function creditBalance(period: string, rows: readonly CreditRow[]): CreditBalance {
  const sum = (reason: CreditRow["reason"]): number =>
    rows.reduce(
      (total, row) => (row.period === period && row.reason === reason ? total + row.units : total),
      0,
    );
  return {
    period,
    grantedUnits: sum("grant"),
    takenUnits: 0 - sum("reminder"),
    returnedUnits: sum("reminder_returned"),
    leftUnits: balanceOf(period, rows),
    nextPeriodStartMs: must(cycleByName(null, period), `not a month: ${period}`).endMs,
  };
}

export type Room =
  | { readonly kind: "room" }
  | { readonly kind: "no_credits"; readonly balance: CreditBalance }
  | { readonly kind: "too_many"; readonly message: string };

/** Whether a month takes another reminder. `rows` are all rows of it, its grant included. */
export function roomFor(period: string, rows: readonly CreditRow[]): Room {
  const balance = creditBalance(period, rows);
  if (balance.leftUnits < 1) return { kind: "no_credits", balance };
  if (balance.takenUnits < REMINDERS_OF_PERIOD_MAX) return { kind: "room" };
  const message = `${REMINDERS_OF_PERIOD_MAX} reminders were written this month, which is the most there can be`;
  return { kind: "too_many", message };
}
