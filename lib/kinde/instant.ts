import { HOUR_MS, MINUTE_MS } from "../shared/durations.ts";

/** Date, or date and time with seconds, any number of fraction digits and an offset of hours, minutes optional. */
const INSTANT =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?))?$/;

/** The widest offset in use is +14. More than this is not an offset. */
const OFFSET_HOURS_MAX = 15;

/**
 * Reads an instant as Kinde writes it, in milliseconds; null when the text is none. `Date.parse` will not do: Kinde's
 * own examples have offsets of two digits (`2024-11-18T13:32:03+11`), which it calls invalid (facts §0.6). Fractions
 * are cut to the millisecond. A date alone is its first instant in UTC, as a billing day is nowhere said to be in
 * another zone. A time without an offset could be eleven hours off, so it is refused rather than guessed.
 */
export function parseInstantMs(text: string): number | null {
  const match = INSTANT.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = ""] = match;
  const dayMs = dayStartMs(Number(year), Number(month), Number(day));
  if (dayMs === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const offsetMs = parseOffsetMs(match[8], match[9], match[10]);
  if (offsetMs === null) return null;
  const timeMs = Number(hour) * HOUR_MS + Number(minute) * MINUTE_MS + Number(second) * 1_000;
  return dayMs + timeMs + Number(fraction.slice(0, 3).padEnd(3, "0")) - offsetMs;
}

/** Null when the calendar has no such day. */
function dayStartMs(year: number, month: number, day: number): number | null {
  const date = new Date(0);
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : null;
}

function parseOffsetMs(sign: string | undefined, hours = "0", minutes = "0"): number | null {
  if (Number(hours) > OFFSET_HOURS_MAX || Number(minutes) > 59) return null;
  const sizeMs = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
  return sign === "-" ? -sizeMs : sizeMs;
}
