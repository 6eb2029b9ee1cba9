import { Cron } from "croner";

/** The schedule of a cron job as `crons.export()` writes it (facts §1.5). All times are UTC. */
export type CronSchedule =
  | { type: "interval"; seconds?: number; minutes?: number; hours?: number }
  | { type: "hourly"; minuteUTC?: number }
  | { type: "daily"; hourUTC: number; minuteUTC?: number }
  | { type: "weekly"; dayOfWeek: string; hourUTC: number; minuteUTC?: number }
  | { type: "monthly"; day: number; hourUTC: number; minuteUTC?: number }
  | { type: "cron"; cron: string };

/** A schedule that cannot be read or never runs. A user error, found when the functions are loaded. */
export class CronScheduleError extends Error {
  readonly code = "InvalidCronSchedule";
  override readonly name = "CronScheduleError";
}

const DAYS_OF_WEEK = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/**
 * When a cron job runs next, in ms. `previousDueMs` is when the run before was due, null when it never ran.
 *
 * Runs that became overdue are skipped, not caught up with: the answer is never before `nowMs` and always after
 * `previousDueMs`. An interval starts now and keeps its rhythm. All others run at a delay after the matching minute,
 * 0 to 59 s, so that a deployment's jobs do not start together; where the minute is left open it is chosen as well.
 * Both come from `seed` alone: give each job its own number, and the same one every time.
 * Throws CronScheduleError.
 */
export function nextRunMs(
  schedule: CronSchedule,
  previousDueMs: number | null,
  nowMs: number,
  seed: number,
): number {
  if (schedule.type === "interval") return nextInterval(intervalMs(schedule), previousDueMs, nowMs);
  const delayMs = (mix(seed) % 60) * 1000;
  const minutes = matchingMinutes(schedule, mix(seed + 1) % 60);
  // The minute sought is the first one whose delayed run lies after the previous run and not before now.
  const afterMs = Math.max(previousDueMs ?? Number.NEGATIVE_INFINITY, nowMs - 1) - delayMs;
  const minute = minutes.nextRun(new Date(afterMs));
  if (minute === null) throw new CronScheduleError(`Cron schedule ${JSON.stringify(schedule)} never runs`);
  return minute.getTime() + delayMs;
}

function nextInterval(everyMs: number, previousDueMs: number | null, nowMs: number): number {
  if (previousDueMs === null) return nowMs;
  const skipped = Math.max(1, Math.ceil((nowMs - previousDueMs) / everyMs));
  return previousDueMs + skipped * everyMs;
}

function intervalMs(schedule: { seconds?: number; minutes?: number; hours?: number }): number {
  const given = [
    [schedule.seconds, 1000],
    [schedule.minutes, 60_000],
    [schedule.hours, 3_600_000],
  ].filter(([count]) => count !== undefined);
  const [count, unitMs] = given[0] ?? [];
  if (given.length !== 1 || count === undefined || unitMs === undefined) {
    throw new CronScheduleError("Exactly one of (seconds, minutes, hours) should be specified");
  }
  if (!Number.isInteger(count) || count <= 0) {
    throw new CronScheduleError("Interval must be an integer greater than 0");
  }
  return count * unitMs;
}

/** The minutes a schedule matches. `openMinute` stands in for a minute that the schedule leaves open. */
function matchingMinutes(schedule: Exclude<CronSchedule, { type: "interval" }>, openMinute: number): Cron {
  if (schedule.type === "cron") return parse(schedule.cron);
  const minute = inRange(schedule, "minuteUTC", schedule.minuteUTC ?? openMinute, 0, 59);
  if (schedule.type === "hourly") return parse(`${minute} * * * *`);
  const hour = inRange(schedule, "hourUTC", schedule.hourUTC, 0, 23);
  switch (schedule.type) {
    case "daily":
      return parse(`${minute} ${hour} * * *`);
    case "weekly": {
      const day = DAYS_OF_WEEK.indexOf(schedule.dayOfWeek);
      if (day === -1) {
        throw new CronScheduleError(`dayOfWeek must be a day name in ${JSON.stringify(schedule)}`);
      }
      return parse(`${minute} ${hour} * * ${day}`);
    }
    case "monthly":
      return parse(`${minute} ${hour} ${inRange(schedule, "day of month", schedule.day, 1, 31)} * *`);
    default:
      throw new CronScheduleError(`Unknown cron schedule ${JSON.stringify(schedule)}`);
  }
}

function inRange(schedule: CronSchedule, name: string, value: number, from: number, to: number): number {
  if (Number.isInteger(value) && value >= from && value <= to) return value;
  throw new CronScheduleError(`${name} must be ${from}-${to} in ${JSON.stringify(schedule)}`);
}

/**
 * Five fields: minute, hour, day of month, month, day of week. What croner takes beyond that (nicknames, `?`, `+`,
 * 7 for Sunday) is refused, because real Convex refuses it at push.
 */
function parse(pattern: string): Cron {
  const fields = pattern.trim().split(/\s+/);
  if (fields.length !== 5) throw invalid(pattern, `it has ${fields.length} fields, not 5`);
  if (!/^[\w*,/#-]+$/.test(fields.join(""))) throw invalid(pattern, "it has a character that is not allowed");
  if (/(?:^|[,-])7/.test(fields[4]!)) throw invalid(pattern, "7 is not a day of the week, Sunday is 0");
  try {
    return new Cron(fields.join(" "), { paused: true, mode: "5-part", utcOffset: 0 });
  } catch (cause) {
    throw invalid(pattern, cause instanceof Error ? cause.message : String(cause));
  }
}

function invalid(pattern: string, reason: string): CronScheduleError {
  return new CronScheduleError(`Invalid cron "${pattern}": ${reason}`);
}

/** A well-mixed 32-bit number from a seed, so that neighbouring seeds get unlike delays. */
function mix(seed: number): number {
  let mixed = Math.imul(Math.trunc(seed) ^ 0x9e3779b9, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
