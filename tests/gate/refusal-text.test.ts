import { expect, test } from "vitest";

import { refusalText } from "../../lib/gate/refusal-text.ts";
import { decideRoom, freeUnitsOf } from "../../lib/gate/room.ts";
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

interface Room {
  readonly asked: number;
  readonly limit: number;
  readonly used: number;
  readonly held: number;
}

const COUNTABLE = "9,007,199,254,740,991";
test("A23: an account without a limit is told what cannot be counted, and of no larger plan", () => {
  const unlimited = { ...room, limitUnits: 2 ** 53 - 1, requestedUnits: 1, freeUnits: 0 };
  expect(
    text({
      code: "held_by_running_jobs",
      ...unlimited,
      usedUnits: 0,
      heldUnits: 2 ** 53 - 1,
      earliestLeaseExpiresAtMs: 9,
    }),
  ).toEqual({
    title: "Your own running jobs hold the room",
    detail: `You asked for 1; 0 of ${COUNTABLE} are free and ${COUNTABLE} are held by running jobs.`,
    next: "Wait for one to end.",
  });
  expect(text({ code: "limit_reached", ...unlimited, usedUnits: 2 ** 53 - 1, heldUnits: 0 })).toEqual({
    title: "No more can be counted in this cycle",
    detail: `You asked for 1; 0 of ${COUNTABLE} are free (${COUNTABLE} used, 0 held).`,
    next: "Wait for the reset on <5>.",
  });
  expect(
    text({
      code: "limit_reached",
      ...unlimited,
      requestedUnits: 9,
      usedUnits: 2 ** 53 - 6,
      freeUnits: 5,
      heldUnits: 0,
    }).next,
  ).toBe("Ask for at most 5, or wait for the reset on <5>.");
});

const DETAIL = "You asked for 40,000; 20,000 of 100,000 are free (20,000 used, 60,000 held).";
test("a refusal tells the numbers it was made from", () => {
  expect(text({ code: "limit_reached", ...room }).detail).toBe(DETAIL);
});

test.each<[name: string, numbers: Room, title: string, next: string]>([
  [
    "all of it used",
    { asked: 1, limit: 100, used: 100, held: 0 },
    "The limit is used up",
    "Choose a larger plan, or wait for the reset on <5>.",
  ],
  [
    "more used than a smaller plan has, and a job still running",
    { asked: 1, limit: 100, used: 130, held: 20 },
    "The limit is used up",
    "Choose a larger plan, or wait for the reset on <5>.",
  ],
  [
    "room left, but less than was asked for",
    { asked: 1_500, limit: 10_000, used: 9_000, held: 0 },
    "Not enough is left of the limit",
    "Ask for at most 1,000, choose a larger plan, or wait for the reset on <5>.",
  ],
  [
    "room left beside a hold, and too little even without it",
    { asked: 90, limit: 100, used: 20, held: 30 },
    "Not enough is left of the limit",
    "Ask for at most 50, choose a larger plan, or wait for the reset on <5>.",
  ],
  [
    "the rest held, and too little even without the hold",
    { asked: 90, limit: 100, used: 20, held: 80 },
    "Not enough is left of the limit",
    "Ask for at most 80 once your running jobs have ended, choose a larger plan, or wait for the reset on <5>.",
  ],
  [
    "a job larger than the whole limit, with room for a smaller one",
    { asked: 101, limit: 100, used: 20, held: 30 },
    "The job is larger than the whole limit",
    "Ask for at most 50, or choose a larger plan.",
  ],
  [
    "a job larger than the whole limit, which is held",
    { asked: 101, limit: 100, used: 0, held: 100 },
    "The job is larger than the whole limit",
    "Ask for at most 100 once your running jobs have ended, or choose a larger plan.",
  ],
  [
    "a job larger than the whole limit, which is used up",
    { asked: 101, limit: 100, used: 100, held: 0 },
    "The job is larger than the whole limit",
    "Ask for at most 100 after the reset on <5>, or choose a larger plan.",
  ],
  [
    "a plan without tokens",
    { asked: 1, limit: 0, used: 0, held: 0 },
    "The plan has no tokens",
    "A larger plan has some.",
  ],
])("limit reached: %s", (_name, numbers, title, next) => {
  expect(text({ code: "limit_reached", ...roomOf(numbers) })).toMatchObject({ title, next });
  const [, offered] = /^Ask for at most ([\d,]+)(?:,| or)/.exec(next) ?? [];
  // A suggestion that the gate would refuse at the same moment is none.
  expect(offered === undefined ? "room" : gateOn(numbers, Number(offered.replace(",", "")))).toBe("room");
});

test.each<[name: string, numbers: Room, next: string]>([
  [
    "some of it free",
    { asked: 40, limit: 100, used: 20, held: 60 },
    "Wait for one to end, or ask for at most 20.",
  ],
  ["nothing free", { asked: 40, limit: 100, used: 20, held: 80 }, "Wait for one to end."],
])("room that running jobs hold is not a reason to upgrade: %s", (_name, numbers, next) => {
  const held = { code: "held_by_running_jobs", earliestLeaseExpiresAtMs: 7 } as const;
  const answer = text({ ...held, ...roomOf(numbers) });
  expect(answer).toMatchObject({ title: "Your own running jobs hold the room", next });
  expect(JSON.stringify(answer)).not.toContain("plan");
});

/** What the gate says to a request for `units` at the same moment. */
function gateOn({ limit, used, held }: Room, units: number) {
  const budget = { usedUnits: used, heldUnits: held };
  return decideRoom({ limitUnits: limit, budget, requestedUnits: units, acceptUnits: null }).kind;
}

function roomOf({ asked, limit, used, held }: Room) {
  const budget = { usedUnits: used, heldUnits: held };
  const freeUnits = freeUnitsOf(limit, budget) ?? 0;
  return { requestedUnits: asked, limitUnits: limit, freeUnits, nextCycleStartMs: 5, ...budget };
}

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
  [
    { code: "key_conflict", message: "another amount" },
    "Use a new key for a new job, or send the same values for the same one.",
  ],
])("%o says what to do next", (refusal, next) => {
  expect(text(refusal).next).toBe(next);
});
