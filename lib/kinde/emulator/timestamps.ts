import { HOUR_MS } from "../../shared/durations.ts";

/** The offset in the examples of Kinde's specification (facts §0.6). */
const OFFSET_HOURS = 11;

/** "2026-10-05T09:00:00.000Z", or with a two-digit offset "2026-10-05T20:00:00.000+11", which `Date.parse` refuses. */
export function timestampText(ms: number, spelling: { readonly twoDigitOffset: boolean }): string {
  if (!spelling.twoDigitOffset) return new Date(ms).toISOString();
  return `${new Date(ms + OFFSET_HOURS * HOUR_MS).toISOString().slice(0, -1)}+${OFFSET_HOURS}`;
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d(?::?\d\d)?)$/;

/** Reads a date-time with an offset, of two digits too; null when it is none. */
export function parseTimestamp(text: string): number | null {
  if (!DATE_TIME.test(text)) return null;
  const ms = Date.parse(
    text.replace(/([+-]\d\d):?(\d\d)?$/, (_, hours: string, minutes = "00") => `${hours}:${minutes}`),
  );
  return Number.isNaN(ms) ? null : ms;
}
