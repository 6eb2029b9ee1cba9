import { expect, test } from "vitest";

import { refusalText } from "../../lib/gate/refusal-text.ts";
import type { LimitUnknown, Refusal } from "../../lib/gate/types.ts";

const room = {
  requestedUnits: 40_000,
  usedUnits: 20_000,
  heldUnits: 60_000,
  limitUnits: 100_000,
  freeUnits: 20_000,
  nextCycleStartMs: 5,
};
const text = (refusal: Refusal | LimitUnknown) => refusalText(refusal, (instantMs) => `<${instantMs}>`);

test("a limit that is used up is met with the numbers and the reset", () => {
  const { title, detail, next } = text({ code: "limit_reached", ...room });
  expect(title).toBe("The limit is used up");
  expect(detail).toBe("You asked for 40,000; 20,000 of 100,000 are free (20,000 used, 60,000 held).");
  expect(next).toBe("Ask for less, choose a larger plan, or wait for the reset on <5>.");
});

test("a job that is larger than the whole limit is not told to wait for the reset", () => {
  const { title, next } = text({ code: "limit_reached", ...room, requestedUnits: 100_001 });
  expect(title).toBe("The job is larger than the whole limit");
  expect(next).toBe("Ask for less, or choose a larger plan.");
});

test("room that running jobs hold is not a reason to upgrade", () => {
  const answer = text({ code: "held_by_running_jobs", ...room, earliestLeaseExpiresAtMs: 7 });
  expect(answer.next).toBe("Wait for one to end, or ask for less. The earliest lease ends at <7>.");
  expect(JSON.stringify(answer)).not.toContain("plan");
});

test.each<[Refusal | LimitUnknown, string]>([
  [{ code: "limit_unknown", retryAfterMs: 1 }, "Try again in 1 second."],
  [{ code: "rate_limited", limitPerMinute: 120, retryAfterMs: 30_001 }, "Try again in 31 seconds."],
  [
    { code: "out_of_range", field: "units", minimum: 1, maximum: 9, message: "units is too large" },
    "Give a whole number from 1 to 9.",
  ],
  [
    { code: "payment_overdue", overdueSinceMs: 7, blockedSinceMs: 8 },
    "Pay the invoice; new jobs start again as soon as the payment is known.",
  ],
  [{ code: "key_conflict", message: "another amount" }, "Use a new key for a new job."],
])("%o says what to do next", (refusal, next) => {
  expect(text(refusal).next).toBe(next);
});
