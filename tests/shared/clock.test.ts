import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  ClockFileError,
  fileClock,
  formatClockState,
  moveClock,
  parseClockState,
  startingState,
  virtualNowMs,
} from "../../lib/shared/clock.ts";

const REAL_MS = 1_790_000_000_000;

describe("a test clock", () => {
  test("agrees with the real clock until it is moved", () => {
    const state = startingState(REAL_MS);
    expect(virtualNowMs(state, REAL_MS)).toBe(REAL_MS);
    expect(virtualNowMs(state, REAL_MS + 1234)).toBe(REAL_MS + 1234);
  });

  test.each([
    { change: { advanceMs: 600_000 }, laterMs: 0, expected: 600_000 },
    { change: { advanceMs: 600_000 }, laterMs: 500, expected: 600_500 },
    { change: { rate: 60 }, laterMs: 1000, expected: 60_000 },
    { change: { rate: 0.5 }, laterMs: 1001, expected: 500 },
    { change: { rate: 0 }, laterMs: 1000, expected: 0 },
    { change: { advanceMs: 5, rate: 2 }, laterMs: 10, expected: 25 },
  ])("moved by $change shows +$expected ms after $laterMs real ms", ({ change, laterMs, expected }) => {
    const state = moveClock(startingState(REAL_MS), REAL_MS, change);
    expect(virtualNowMs(state, REAL_MS + laterMs) - REAL_MS).toBe(expected);
  });

  test("keeps its rate and its place when it is only advanced", () => {
    const fast = moveClock(startingState(REAL_MS), REAL_MS, { rate: 60 });
    const moved = moveClock(fast, REAL_MS + 1000, { advanceMs: 7 });
    expect(virtualNowMs(moved, REAL_MS + 2000) - REAL_MS).toBe(120_007);
  });

  test("slowing down does not take back the time that has passed", () => {
    const fast = moveClock(startingState(REAL_MS), REAL_MS, { rate: 3600 });
    const slow = moveClock(fast, REAL_MS + 1000, { rate: 1 });
    expect(virtualNowMs(slow, REAL_MS + 1000)).toBe(virtualNowMs(fast, REAL_MS + 1000));
  });

  test("does not go back when the system clock is set back", () => {
    const state = moveClock(startingState(REAL_MS), REAL_MS, { advanceMs: 10 });
    expect(virtualNowMs(state, REAL_MS - 5000)).toBe(REAL_MS + 10);
  });

  test.each([{ advanceMs: -1 }, { advanceMs: 1.5 }, { rate: -1 }, { rate: 3601 }, { rate: Number.NaN }])(
    "refuses %o",
    (change) => {
      expect(() => moveClock(startingState(REAL_MS), REAL_MS, change)).toThrow(RangeError);
    },
  );
});

describe("a clock file", () => {
  test("comes back as it was written", () => {
    const state = moveClock(startingState(REAL_MS), REAL_MS, { advanceMs: 3, rate: 2.5 });
    expect(parseClockState(formatClockState(state))).toEqual(state);
  });

  test.each(["", "null", "{}", '{"anchorVirtualMs":1,"anchorRealMs":1,"rate":"1"}', '{"rate":1}'])(
    "%j is not one",
    (text) => {
      expect(() => parseClockState(text)).toThrow(ClockFileError);
    },
  );
});

describe("a clock steered by a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-clock-"));
  const path = join(folder, "clock.json");
  afterEach(() => rmSync(path, { force: true }));

  test("follows the file and never answers less than before", () => {
    let realMs = REAL_MS;
    const clock = fileClock(path, () => realMs);
    expect(() => clock.nowMs()).toThrow(ClockFileError);

    writeFileSync(path, formatClockState(startingState(REAL_MS)));
    expect(clock.nowMs()).toBe(REAL_MS);

    writeFileSync(path, formatClockState(moveClock(startingState(REAL_MS), REAL_MS, { advanceMs: 60_000 })));
    expect(clock.nowMs()).toBe(REAL_MS);
    realMs += 20;
    expect(clock.nowMs()).toBe(REAL_MS + 60_020);

    writeFileSync(path, formatClockState(startingState(REAL_MS)));
    realMs += 20;
    expect(clock.nowMs()).toBe(REAL_MS + 60_020);
  });
});
