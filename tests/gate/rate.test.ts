import { expect, test } from "vitest";

import { decideRate, type RateWindow } from "../../lib/gate/rate.ts";
import { NOW_MS } from "./fixtures.ts";

/** How many of `count` jobs may start at one instant, and the window after them. */
function startMany(window: RateWindow | null, count: number, nowMs: number) {
  let current = window;
  let started = 0;
  for (let i = 0; i < count; i += 1) {
    const decision = decideRate(current, nowMs);
    if (decision.kind === "closed") continue;
    current = decision.after;
    started += 1;
  }
  return { started, window: current };
}

test("A35: of 240 jobs in a minute 120 start, and each refusal says how long to wait", () => {
  const { started, window } = startMany(null, 240, NOW_MS);
  expect(started).toBe(120);
  expect(decideRate(window, NOW_MS + 59_999)).toEqual({
    kind: "closed",
    refusal: { code: "rate_limited", limitPerMinute: 120, retryAfterMs: 1 },
  });
});

test("A35: the window opens with its first job, so 120 at 59.9 s close it for the 120 at 60.1 s", () => {
  const late = startMany(null, 120, NOW_MS + 59_900);
  expect(startMany(late.window, 120, NOW_MS + 60_100).started).toBe(0);
  expect(startMany(late.window, 120, NOW_MS + 119_899).started).toBe(0);
  expect(startMany(late.window, 121, NOW_MS + 119_900).started).toBe(120);
});

test("A35: the end of one window and the start of the next may hold twice the rate together", () => {
  const first = startMany(null, 1, NOW_MS);
  const full = startMany(first.window, 120, NOW_MS + 59_900);
  expect(full.started).toBe(119);
  expect(startMany(full.window, 120, NOW_MS + 60_100).started).toBe(120);
});

test("a rate of zero starts nothing and still names a wait", () => {
  expect(decideRate({ limitPerMinute: 0, windowStartMs: 0, count: 0 }, NOW_MS)).toMatchObject({
    kind: "closed",
    refusal: { retryAfterMs: 60_000 },
  });
});

test("a window from a clock that was set back does not lock the account out", () => {
  const future = { limitPerMinute: 1, windowStartMs: NOW_MS + 3_600_000, count: 1 };
  expect(decideRate(future, NOW_MS)).toMatchObject({
    kind: "open",
    after: { windowStartMs: NOW_MS, count: 1 },
  });
});
