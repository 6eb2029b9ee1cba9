import { describe, expect, test } from "vitest";
import { type CronSchedule, CronScheduleError, nextRunMs } from "../../lib/local-convex/cron-schedule.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const at = (iso: string): number => Date.parse(iso);

/** The matching minute of the next run, as text; the delay inside the minute is tested on its own. */
function nextMinute(schedule: CronSchedule, now: string, previous: string | null = null): string {
  const dueMs = nextRunMs(schedule, previous === null ? null : at(previous), at(now), 1);
  return new Date(Math.floor(dueMs / MINUTE_MS) * MINUTE_MS).toISOString().slice(0, 16);
}

describe("interval", () => {
  const every15: CronSchedule = { type: "interval", seconds: 15 };
  const now = at("2026-10-20T15:29:00.500Z");

  test("the first run is now", () => {
    expect(nextRunMs(every15, null, now, 1)).toBe(now);
  });

  test("the next run is one interval after the one before was due, however long it took", () => {
    expect(nextRunMs(every15, now, now + 4000, 1)).toBe(now + 15_000);
    expect(nextRunMs(every15, now, now - 4000, 1)).toBe(now + 15_000);
  });

  test("overdue runs are skipped and the rhythm is kept", () => {
    expect(nextRunMs(every15, now, now + 15_000, 1)).toBe(now + 15_000);
    expect(nextRunMs(every15, now, now + 15_001, 1)).toBe(now + 30_000);
    expect(nextRunMs(every15, now, now + 24 * HOUR_MS + 1, 1)).toBe(now + 24 * HOUR_MS + 15_000);
  });

  test("minutes and hours", () => {
    expect(nextRunMs({ type: "interval", minutes: 5 }, now, now, 1)).toBe(now + 5 * MINUTE_MS);
    expect(nextRunMs({ type: "interval", hours: 2 }, now, now, 1)).toBe(now + 2 * HOUR_MS);
  });
});

describe("matching minutes", () => {
  test.each<[string, CronSchedule, string, string]>([
    ["hourly", { type: "hourly", minuteUTC: 5 }, "2023-03-01T08:35Z", "2023-03-01T09:05"],
    ["daily", { type: "daily", hourUTC: 8, minuteUTC: 30 }, "2023-02-28T08:35Z", "2023-03-01T08:30"],
    [
      "daily later today",
      { type: "daily", hourUTC: 8, minuteUTC: 40 },
      "2023-02-28T08:35Z",
      "2023-02-28T08:40",
    ],
    [
      "weekly",
      { type: "weekly", dayOfWeek: "tuesday", hourUTC: 12, minuteUTC: 30 },
      "2023-02-28T08:35Z",
      "2023-02-28T12:30",
    ],
    [
      "weekly on Sunday",
      { type: "weekly", dayOfWeek: "sunday", hourUTC: 0, minuteUTC: 0 },
      "2023-02-28T08:35Z",
      "2023-03-05T00:00",
    ],
    [
      "monthly",
      { type: "monthly", day: 1, hourUTC: 12, minuteUTC: 30 },
      "2023-03-01T12:35Z",
      "2023-04-01T12:30",
    ],
    [
      "monthly on a day some months lack",
      { type: "monthly", day: 31, hourUTC: 0, minuteUTC: 0 },
      "2026-01-31T01:00Z",
      "2026-03-31T00:00",
    ],
    [
      "cron list of weekdays",
      { type: "cron", cron: "0 12 * * 1,5" },
      "2023-02-28T08:35Z",
      "2023-03-03T12:00",
    ],
    ["cron range", { type: "cron", cron: "0 2-4 * * *" }, "2023-02-28T04:30Z", "2023-03-01T02:00"],
    ["cron steps", { type: "cron", cron: "*/15 * * * *" }, "2023-02-28T08:46Z", "2023-02-28T09:00"],
    [
      "cron range with steps",
      { type: "cron", cron: "10-50/20 * * * *" },
      "2023-02-28T08:31Z",
      "2023-02-28T08:50",
    ],
    ["cron names", { type: "cron", cron: "0 0 * jan,JUL Mon-wed" }, "2026-02-01T00:00Z", "2026-07-01T00:00"],
    [
      "cron with spare spaces",
      { type: "cron", cron: " 0  0 1 * * " },
      "2026-02-01T00:01Z",
      "2026-03-01T00:00",
    ],
    ["cron on 29 February", { type: "cron", cron: "0 0 29 2 *" }, "2026-02-01T00:00Z", "2028-02-29T00:00"],
    [
      "cron day of month or weekday",
      { type: "cron", cron: "0 0 13 * 5" },
      "2026-10-10T00:00Z",
      "2026-10-13T00:00",
    ],
    [
      "cron last day of the month",
      { type: "cron", cron: "0 0 L * *" },
      "2026-02-01T00:00Z",
      "2026-02-28T00:00",
    ],
  ])("%s", (_name, schedule, now, expected) => {
    expect(nextMinute(schedule, now)).toBe(expected);
  });

  test("the run after a run is the next match, also when the clock stands at the run", () => {
    const hourly: CronSchedule = { type: "hourly", minuteUTC: 5 };
    const firstMs = nextRunMs(hourly, null, at("2023-03-01T08:35Z"), 1);
    expect(nextRunMs(hourly, firstMs, firstMs, 1)).toBe(firstMs + HOUR_MS);
    expect(nextRunMs(hourly, firstMs, firstMs + 20_000, 1)).toBe(firstMs + HOUR_MS);
    // A clock set back must not run the same minute twice.
    expect(nextRunMs(hourly, firstMs, firstMs - 3 * HOUR_MS, 1)).toBe(firstMs + HOUR_MS);
  });

  test("overdue runs are skipped", () => {
    const hourly: CronSchedule = { type: "hourly", minuteUTC: 5 };
    expect(nextMinute(hourly, "2023-03-04T10:30Z", "2023-03-01T09:05:10Z")).toBe("2023-03-04T11:05");
  });

  test("a run due in this very minute is not lost", () => {
    for (let seed = 0; seed < 50; seed++) {
      const hourly: CronSchedule = { type: "hourly", minuteUTC: 5 };
      const dueMs = nextRunMs(hourly, null, at("2023-03-01T09:00Z"), seed);
      // Asked again up to the due instant, the answer stays; a millisecond later it is the next hour's.
      expect(nextRunMs(hourly, null, at("2023-03-01T09:05:00Z"), seed)).toBe(dueMs);
      expect(nextRunMs(hourly, null, dueMs, seed)).toBe(dueMs);
      expect(nextRunMs(hourly, null, dueMs + 1, seed)).toBe(dueMs + HOUR_MS);
    }
  });
});

describe("delay", () => {
  const now = at("2026-10-20T12:30Z");

  test("it is stable for a seed, below a minute, and spread over seeds", () => {
    const daily: CronSchedule = { type: "daily", hourUTC: 9, minuteUTC: 0 };
    const delays = new Set<number>();
    for (let seed = 0; seed < 200; seed++) {
      const delayMs = nextRunMs(daily, null, now, seed) - at("2026-10-21T09:00Z");
      expect(delayMs).toBeGreaterThanOrEqual(0);
      expect(delayMs).toBeLessThan(MINUTE_MS);
      expect(nextRunMs(daily, null, at("2027-01-01T10:00Z"), seed) - at("2027-01-02T09:00Z")).toBe(delayMs);
      delays.add(delayMs);
    }
    expect(delays.size).toBeGreaterThan(40);
  });

  test("an open minute is chosen once for all runs", () => {
    const hourly: CronSchedule = { type: "hourly" };
    const minutes = new Set<number>();
    for (let seed = 0; seed < 200; seed++) {
      const firstMs = nextRunMs(hourly, null, now, seed);
      expect(firstMs - now).toBeLessThanOrEqual(HOUR_MS);
      expect(nextRunMs(hourly, firstMs, firstMs, seed)).toBe(firstMs + HOUR_MS);
      minutes.add(new Date(firstMs).getUTCMinutes());
    }
    expect(minutes.size).toBeGreaterThan(40);
  });

  test("any number is a seed", () => {
    for (const seed of [-1, 0.5, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      const dueMs = nextRunMs({ type: "hourly", minuteUTC: 5 }, null, now, seed);
      expect(Math.floor(dueMs / MINUTE_MS) * MINUTE_MS).toBe(at("2026-10-20T13:05Z"));
    }
  });
});

describe("refused schedules", () => {
  test.each<[CronSchedule, string]>([
    [{ type: "interval" }, "Exactly one of (seconds, minutes, hours) should be specified"],
    [
      { type: "interval", seconds: 1, hours: 1 },
      "Exactly one of (seconds, minutes, hours) should be specified",
    ],
    [{ type: "interval", seconds: 0 }, "Interval must be an integer greater than 0"],
    [{ type: "interval", minutes: 1.5 }, "Interval must be an integer greater than 0"],
    [{ type: "hourly", minuteUTC: 60 }, 'minuteUTC must be 0-59 in {"type":"hourly","minuteUTC":60}'],
    [{ type: "daily", hourUTC: 24 }, "hourUTC must be 0-23"],
    [{ type: "weekly", dayOfWeek: "Sun", hourUTC: 1 }, "dayOfWeek must be a day name"],
    [{ type: "monthly", day: 0, hourUTC: 1 }, "day of month must be 1-31"],
    [{ type: "cron", cron: "0 0 * *" }, 'Invalid cron "0 0 * *": it has 4 fields, not 5'],
    [{ type: "cron", cron: "0 0 0 * * *" }, "it has 6 fields, not 5"],
    [{ type: "cron", cron: "@daily" }, "it has 1 fields, not 5"],
    [{ type: "cron", cron: "0 0 ? * *" }, "it has a character that is not allowed"],
    [{ type: "cron", cron: "0 12 * * 7" }, "7 is not a day of the week"],
    [{ type: "cron", cron: "0 12 * * 5-7" }, "7 is not a day of the week"],
    [{ type: "cron", cron: "61 * * * *" }, 'Invalid cron "61 * * * *": '],
    [{ type: "cron", cron: "* * * foo *" }, 'Invalid cron "* * * foo *": '],
    [{ type: "cron", cron: "0 0 30 2 *" }, "never runs"],
  ])("%j", (schedule, message) => {
    const next = () => nextRunMs(schedule, null, at("2026-10-20T12:30Z"), 1);
    expect(next).toThrow(message);
    expect(next).toThrow(CronScheduleError);
  });
});
