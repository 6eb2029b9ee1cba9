import { describe, expect, test } from "vitest";
import { type Cycle, cycleAt, cycleByName, nextCycle, parseAnchor } from "../../lib/ledger/cycle.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number): string => new Date(ms).toISOString();

/** Cycle starts as text, one after the other, from the cycle of an instant on. */
function starts(anchorMs: number | null, fromMs: number, count: number): string[] {
  const found: string[] = [];
  let cycle = cycleAt(anchorMs, fromMs);
  for (; found.length < count; cycle = nextCycle(anchorMs, cycle)) found.push(iso(cycle.startMs));
  return found;
}

describe("cycles of an anchor", () => {
  test("S9: anchor 20 October 15:29 UTC, clicks on 19 and 21 November, and the border itself", () => {
    const anchorMs = at("2026-10-20T15:29:00Z");
    expect(cycleAt(anchorMs, at("2026-11-19T12:00:00Z")).name).toBe("2026-10");
    expect(cycleAt(anchorMs, at("2026-11-21T12:00:00Z")).name).toBe("2026-11");
    const borderMs = at("2026-11-20T15:29:00Z");
    expect(cycleAt(anchorMs, borderMs - 1).name).toBe("2026-10");
    expect(cycleAt(anchorMs, borderMs)).toEqual({
      name: "2026-11",
      startMs: borderMs,
      endMs: at("2026-12-20T15:29:00Z"),
    });
  });

  test("B32: anchor 31 January 2026 takes the last day of a short month and returns to its day", () => {
    const anchorMs = at("2026-01-31T00:00:00Z");
    expect(starts(anchorMs, anchorMs, 13).map((start) => start.slice(0, 10))).toEqual([
      "2026-01-31",
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
      "2026-06-30",
      "2026-07-31",
      "2026-08-31",
      "2026-09-30",
      "2026-10-31",
      "2026-11-30",
      "2026-12-31",
      "2027-01-31",
    ]);
  });

  test("B33: anchor 30 January 2024 starts a cycle on 29 February 2024", () => {
    const anchorMs = at("2024-01-30T08:00:00Z");
    expect(starts(anchorMs, anchorMs, 3)).toEqual([
      "2024-01-30T08:00:00.000Z",
      "2024-02-29T08:00:00.000Z",
      "2024-03-30T08:00:00.000Z",
    ]);
    expect(starts(anchorMs, at("2025-02-28T08:00:00Z"), 1)).toEqual(["2025-02-28T08:00:00.000Z"]);
  });

  test("A06: signed up 3 February, the reset after 12 cycles is on 3 February", () => {
    const anchorMs = at("2026-02-03T09:15:00Z");
    expect(starts(anchorMs, anchorMs, 13).at(-1)).toBe("2027-02-03T09:15:00.000Z");
  });

  test("without an anchor cycles are calendar months", () => {
    expect(cycleAt(null, at("2024-02-29T23:59:59.999Z"))).toEqual({
      name: "2024-02",
      startMs: at("2024-02-01T00:00:00Z"),
      endMs: at("2024-03-01T00:00:00Z"),
    });
    expect(cycleAt(null, at("2024-12-31T23:59:59.999Z")).endMs).toBe(at("2025-01-01T00:00:00Z"));
  });

  test("an instant before the anchor belongs to the cycle that would have held it", () => {
    const anchorMs = at("2026-03-31T12:00:00Z");
    expect(cycleAt(anchorMs, at("2026-02-28T11:59:59.999Z")).name).toBe("2026-01");
    expect(cycleAt(anchorMs, at("2026-02-28T12:00:00Z")).name).toBe("2026-02");
    expect(cycleAt(anchorMs, at("1969-12-31T11:00:00Z")).name).toBe("1969-11");
  });

  test("the last moment of a month's last day stays in that month", () => {
    const anchorMs = at("2026-01-31T23:59:59.999Z");
    expect(cycleAt(anchorMs, at("2026-02-28T23:59:59.999Z")).name).toBe("2026-02");
    expect(cycleAt(anchorMs, at("2026-03-01T00:00:00Z")).name).toBe("2026-02");
  });
});

/** The borders from the written rule and the calendar alone: the day, or the month's last; every month once. */
function expectedCycles(day: number, timeMs: number): Cycle[] {
  const borders: { name: string; startMs: number }[] = [];
  for (let year = 2023; year <= 2032; year++) {
    for (let month = 1; month <= 12; month++) {
      const leap = year % 4 === 0;
      const last = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
      const name = `${year}-${String(month).padStart(2, "0")}`;
      const date = String(Math.min(day, last)).padStart(2, "0");
      borders.push({ name, startMs: at(`${name}-${date}T00:00:00Z`) + timeMs });
    }
  }
  return borders.slice(0, -1).map((border, i) => ({ ...border, endMs: borders[i + 1]!.startMs }));
}

describe("B34: every anchor day for 8 years", () => {
  const days = Array.from({ length: 31 }, (_, i) => i + 1);

  test.each(days)("anchor day %d: cycles tile, at every border ± 1 ms and at every hour", (day) => {
    // Midnight, the last millisecond of the day, and times in between.
    const timeMs = day === 31 ? DAY_MS - 1 : Math.floor(((day - 1) * DAY_MS) / 30);
    const anchorMs = at(`2024-01-${String(day).padStart(2, "0")}T00:00:00Z`) + timeMs;
    const fromMs = at("2024-01-01T00:00:00Z");
    const untilMs = at("2032-01-01T00:00:00Z");
    const wrong: unknown[] = [];
    const check = (atMs: number, expected: Cycle): void => {
      const found = cycleAt(anchorMs, atMs);
      const same =
        found.name === expected.name && found.startMs === expected.startMs && found.endMs === expected.endMs;
      if (!same) wrong.push({ at: iso(atMs), found, expected });
    };
    const cycles = expectedCycles(day, timeMs);
    let hourMs = fromMs;
    for (const [i, cycle] of cycles.entries()) {
      if (cycle.endMs <= fromMs || cycle.startMs >= untilMs) continue;
      check(cycle.startMs, cycle);
      check(cycle.startMs + 1, cycle);
      check(cycle.endMs - 1, cycle);
      check(cycle.endMs, cycles[i + 1]!);
      for (; hourMs < cycle.endMs; hourMs += HOUR_MS) check(hourMs, cycle);
    }
    expect(hourMs).toBeGreaterThanOrEqual(untilMs);
    expect(wrong).toEqual([]);
  });

  test("the anchor's own month and year do not matter, only its day and time", () => {
    const early = at("2024-01-31T10:00:00Z");
    const late = at("2031-12-31T10:00:00Z");
    for (let atMs = at("2027-01-01T00:00:00Z"); atMs < at("2029-01-01T00:00:00Z"); atMs += 7 * HOUR_MS) {
      expect(cycleAt(early, atMs)).toEqual(cycleAt(late, atMs));
    }
  });

  test("names are unique and each finds its cycle again", () => {
    for (const day of days) {
      const anchorMs = at(`2024-01-${String(day).padStart(2, "0")}T23:59:59.999Z`);
      const names = new Set<string>();
      let cycle = cycleAt(anchorMs, anchorMs);
      for (let i = 0; i < 96; i++) {
        names.add(cycle.name);
        expect(cycleByName(anchorMs, cycle.name)).toEqual(cycle);
        expect(cycle.name).toBe(iso(cycle.startMs).slice(0, 7));
        cycle = nextCycle(anchorMs, cycle);
      }
      expect(names.size).toBe(96);
    }
  });
});

describe("all dates", () => {
  const END_MS = 8.64e15;

  test.each([
    ["0000-02-29T12:00:00Z", "0000-02"],
    ["0050-06-15T12:00:00Z", "0050-05"],
    ["0099-12-31T12:00:00Z", "0099-12"],
    ["1900-02-28T12:00:00Z", "1900-02"],
    ["-000001-03-31T12:00:00Z", "-0001-03"],
    ["+012026-10-31T12:00:00Z", "12026-10"],
  ])("%s is in %s", (instant, name) => {
    const anchorMs = at("2026-01-31T12:00:00Z");
    const atMs = at(instant);
    const cycle = cycleAt(anchorMs, atMs);
    expect(cycle.name).toBe(name);
    expect(cycle.startMs <= atMs && atMs < cycle.endMs).toBe(true);
    expect(cycleByName(anchorMs, name)).toEqual(cycle);
  });

  test("cycles tile over the 400 years of the calendar", () => {
    const anchorMs = at("2026-01-31T12:00:00Z");
    let cycle = cycleAt(anchorMs, at("1899-01-31T12:00:00Z"));
    for (let i = 0; i < 4900; i++) {
      const next = nextCycle(anchorMs, cycle);
      expect(next.startMs).toBe(cycle.endMs);
      cycle = next;
    }
    expect(cycle.name).toBe("2307-05");
  });

  test("the first and the last date have a cycle, and nothing beyond them has", () => {
    for (const atMs of [-END_MS, END_MS]) {
      for (const anchorMs of [null, at("2026-01-31T12:00:00Z")]) {
        const cycle = cycleAt(anchorMs, atMs);
        expect(cycle.startMs <= atMs && atMs < cycle.endMs).toBe(true);
      }
    }
    for (const atMs of [END_MS + 1, -END_MS - 1, Number.NaN, Infinity]) {
      expect(() => cycleAt(null, atMs)).toThrow(RangeError);
      expect(() => cycleAt(atMs, 0)).toThrow(RangeError);
    }
  });

  test.each([
    "",
    "2026",
    "2026-13",
    "2026-00",
    "2026-1",
    "02026-01",
    "-0000-01",
    "2026-10-20",
    "999999-01",
    "x2026-01",
  ])("%j is not a cycle", (name) => {
    expect(cycleByName(null, name)).toBeNull();
  });
});

describe("parseAnchor", () => {
  test("B36: an anchor with an offset is stored as the instant given", () => {
    expect(parseAnchor("2026-01-31T23:30+11:00")).toEqual({ ok: true, anchorMs: at("2026-01-31T12:30:00Z") });
  });

  test("B36: a day may change with the offset", () => {
    expect(parseAnchor("2026-02-01T05:00:00+11:00")).toEqual({
      ok: true,
      anchorMs: at("2026-01-31T18:00:00Z"),
    });
    expect(parseAnchor("2026-01-31T22:00:00-03:30")).toEqual({
      ok: true,
      anchorMs: at("2026-02-01T01:30:00Z"),
    });
  });

  test.each([
    ["2026-10-20", "2026-10-20T00:00:00Z"],
    ["2026-10-20T15:29Z", "2026-10-20T15:29:00Z"],
    ["2026-10-21T02:29:24.481368869+11:00", "2026-10-20T15:29:24.481Z"],
    ["2024-02-29T23:59:59.9Z", "2024-02-29T23:59:59.900Z"],
    ["0050-06-15", "0050-06-15T00:00:00Z"],
  ])("%s is %s", (text, instant) => {
    expect(parseAnchor(text)).toEqual({ ok: true, anchorMs: at(instant) });
  });

  test.each([
    ["", "must be an ISO 8601 date"],
    ["20 October 2026", "must be an ISO 8601 date"],
    ["2026-10-20T15:29", "with an offset"],
    ["2026-10-20T15:29:00+11", "with an offset"],
    ["2026-10-20 15:29Z", "must be an ISO 8601 date"],
    ["1769815800000", "must be an ISO 8601 date"],
    ["2026-02-30", "2026-02-30 is not a day of the calendar"],
    ["2026-02-29T00:00Z", "2026-02-29 is not a day of the calendar"],
    ["2026-13-01", "2026-13-01 is not a day of the calendar"],
    ["2026-00-01", "2026-00-01 is not a day of the calendar"],
    ["2026-01-00", "2026-01-00 is not a day of the calendar"],
    ["2026-01-01T24:00Z", "has a time or an offset that does not exist"],
    ["2026-01-01T23:59:60Z", "has a time or an offset that does not exist"],
    ["2026-01-01T00:00+24:00", "has a time or an offset that does not exist"],
  ])("%j is refused", (text, message) => {
    const parsed = parseAnchor(text);
    expect(parsed).toEqual({ ok: false, message: expect.stringContaining(message) });
  });
});
