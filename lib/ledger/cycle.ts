/*
 * Billing cycles: monthly, in UTC, half-open, from an account's anchor (design §5). The cycle of a month starts on
 * the anchor's day of that month, or on its last day when the month is shorter, at the anchor's time of day. The day
 * is always taken from the anchor, never from the cycle before, so day 31 is back after each short month.
 *
 * That start never leaves its month: the day is at most the month's last, the time of day is under 24 hours, and UTC
 * has no shifts. So every month holds exactly one start, which makes names unique and makes the cycles tile.
 */

const DAY_MS = 86_400_000;
/** The span of JavaScript dates, ±100 million days. Cycle borders may lie up to a month outside of it. */
const DATE_MS_MAX = 8_640_000_000_000_000;
const DAYS_IN_400_YEARS = 146_097;

export interface Cycle {
  /** The UTC month the cycle starts in: "2026-10". */
  name: string;
  /** The first instant of the cycle. */
  startMs: number;
  /** The first instant of the next cycle. */
  endMs: number;
}

/**
 * The cycle that contains an instant; a border belongs to the cycle it starts. `anchorMs` null means calendar months.
 * Before the anchor the same rhythm is continued backwards, so late facts from before it have a cycle as well.
 * Throws RangeError for an instant or an anchor outside the span of dates.
 */
export function cycleAt(anchorMs: number | null, atMs: number): Cycle {
  assertDate(atMs);
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  const month = at.getUTCMonth();
  const rhythm = rhythmOf(anchorMs);
  return atMs < startOf(rhythm, year, month)
    ? cycleOf(rhythm, year, month - 1)
    : cycleOf(rhythm, year, month);
}

/** The cycle with this name, or null when the text is not the name of a cycle. Throws as `cycleAt` for the anchor. */
export function cycleByName(anchorMs: number | null, name: string): Cycle | null {
  const match = /^(-?\d{4,6})-(0[1-9]|1[0-2])$/.exec(name);
  if (match === null) return null;
  const cycle = cycleOf(rhythmOf(anchorMs), Number(match[1]), Number(match[2]) - 1);
  // A year with needless zeros gives a cycle of another name.
  return cycle.name === name && Math.abs(cycle.startMs) <= DATE_MS_MAX ? cycle : null;
}

/** The cycle that starts where this one ends. */
export function nextCycle(anchorMs: number | null, cycle: Cycle): Cycle {
  return cycleAt(anchorMs, cycle.endMs);
}

export type ParsedAnchor = { ok: true; anchorMs: number } | { ok: false; message: string };

const ISO_INSTANT =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):(\d\d)))?$/;

/**
 * Reads an anchor given as ISO 8601 text. The instant it names is what counts: 2026-01-31T23:30+11:00 anchors at
 * 12:30 UTC. A date alone is midnight UTC. A time without an offset is refused, because it names no instant.
 */
export function parseAnchor(iso: string): ParsedAnchor {
  const match = ISO_INSTANT.exec(iso);
  if (match === null) {
    return {
      ok: false,
      message: "must be an ISO 8601 date, or a date and time with an offset, such as 2026-01-31T23:30+11:00",
    };
  }
  const part = (group: number): number => Number(match[group] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  const firstMs = month >= 1 && month <= 12 ? monthStart(year, month - 1) : Number.NaN;
  if (!(day >= 1 && day <= (monthStart(year, month) - firstMs) / DAY_MS)) {
    return { ok: false, message: `${iso.slice(0, 10)} is not a day of the calendar` };
  }
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) {
    return { ok: false, message: "has a time or an offset that does not exist" };
  }
  const millisecond = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const timeMs = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
  const offsetMs = (offsetHour * 60 + offsetMinute) * 60_000 * (match[8] === "-" ? -1 : 1);
  return { ok: true, anchorMs: firstMs + (day - 1) * DAY_MS + timeMs - offsetMs };
}

/** What of an anchor matters for its cycles: the day of the month, from 1, and the time of day. */
interface Rhythm {
  day: number;
  timeMs: number;
}

const CALENDAR_MONTHS: Rhythm = { day: 1, timeMs: 0 };

function rhythmOf(anchorMs: number | null): Rhythm {
  if (anchorMs === null) return CALENDAR_MONTHS;
  assertDate(anchorMs);
  return { day: new Date(anchorMs).getUTCDate(), timeMs: anchorMs - Math.floor(anchorMs / DAY_MS) * DAY_MS };
}

/** `month` counts from 0 and may be -1: the December before. */
function cycleOf(rhythm: Rhythm, year: number, month: number): Cycle {
  const [startYear, startMonth] = month < 0 ? [year - 1, month + 12] : [year, month];
  const sign = startYear < 0 ? "-" : "";
  return {
    name: `${sign}${String(Math.abs(startYear)).padStart(4, "0")}-${String(startMonth + 1).padStart(2, "0")}`,
    startMs: startOf(rhythm, startYear, startMonth),
    endMs: startOf(rhythm, startYear, startMonth + 1),
  };
}

/** The start of the cycle of a month. `month` counts from 0 and may be 12: the January after. */
function startOf(rhythm: Rhythm, year: number, month: number): number {
  const firstMs = monthStart(year, month);
  // The next month is looked up only for the days that some month lacks.
  const day =
    rhythm.day <= 28 ? rhythm.day : Math.min(rhythm.day, (monthStart(year, month + 1) - firstMs) / DAY_MS);
  return firstMs + (day - 1) * DAY_MS + rhythm.timeMs;
}

/**
 * The first instant of a month. `Date.UTC` reads the years 0 to 99 as 1900 to 1999 and ends with the span of dates,
 * so it is asked about the same year of the 400-year calendar cycle that starts in 2000.
 */
function monthStart(year: number, month: number): number {
  const era = Math.floor((year - 2000) / 400);
  return Date.UTC(year - era * 400, month, 1) + era * DAYS_IN_400_YEARS * DAY_MS;
}

function assertDate(ms: number): void {
  if (!(Math.abs(ms) <= DATE_MS_MAX))
    throw new RangeError(`${ms} is not an instant between the years -271821 and 275760`);
}
