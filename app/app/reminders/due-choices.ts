import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../lib/shared/durations.ts";

/** When a reminder may be due, in the words of the form. */
export type DueChoice = "minute" | "hour" | "morning" | "week" | "own";

export const DUE_CHOICES: readonly { readonly value: DueChoice; readonly label: string }[] = [
  { value: "minute", label: "In 1 minute" },
  { value: "hour", label: "In 1 hour" },
  { value: "morning", label: "Tomorrow 9:00" },
  { value: "week", label: "In a week" },
  { value: "own", label: "Another time" },
];

const MORNING_HOUR = 9;

/** The instant in the reader's zone. NaN for an own time that is not given. */
export function dueAt(choice: DueChoice, own: string, nowMs: number): number {
  switch (choice) {
    case "minute":
      return nowMs + MINUTE_MS;
    case "hour":
      return nowMs + HOUR_MS;
    case "morning": {
      // By the calendar, not by adding hours: a day may have 23 or 25 of them.
      const now = new Date(nowMs);
      return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, MORNING_HOUR).getTime();
    }
    case "week":
      return nowMs + 7 * DAY_MS;
    case "own":
      return new Date(own).getTime();
  }
}
