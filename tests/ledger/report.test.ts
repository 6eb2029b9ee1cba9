import { describe, expect, test } from "vitest";
import {
  afterReadBack,
  afterSend,
  outcomeOf,
  type SendOutcome,
  type Settled,
} from "../../lib/ledger/report-outcome.ts";
import {
  BOUNDARY_GUARD_MS,
  FLUSH_EVERY_MS,
  LATE_WRITE_MS,
  NEVER_REPORTED,
  nextFlushMs,
  REQUEST_TIMEOUT_MS,
  REVIEW_AFTER_ATTEMPTS,
  SEND_LEASE_MS,
  waitAfter,
  withResend,
  withStraddler,
  type ReportState,
} from "../../lib/ledger/report-state.ts";
import { closesAtMs, nextStep, type Step } from "../../lib/ledger/report.ts";

const T0 = Date.parse("2026-10-10T12:00:00Z");
const CLOSES = Date.parse("2026-11-01T00:00:00Z");
const METER = { agreementId: "agreement_1", closesAtMs: CLOSES };
const UNKNOWN: SendOutcome = { kind: "unknown", retryAfterMs: null, error: "timeout" };
const FAILED: SendOutcome = { kind: "failed", retryAfterMs: null, error: "500" };
const CONFIRMED: SendOutcome = { kind: "confirmed" };

const as = <K extends Step["kind"]>(step: Step, kind: K): Extract<Step, { kind: K }> => {
  expect(step.kind).toBe(kind);
  return step as Extract<Step, { kind: K }>;
};
const settledOf = (settled: Settled): Extract<Settled, { kind: "settled" }> => {
  expect(settled.kind).toBe("settled");
  return settled as Extract<Settled, { kind: "settled" }>;
};
const claim = (state: ReportState, ledgerUnits: number, nowMs: number) =>
  as(nextStep(state, METER, ledgerUnits, nowMs), "send");
/** Claims, sends, and books the outcome a second later. */
const sent = (state: ReportState, ledgerUnits: number, nowMs: number, outcome: SendOutcome) => {
  const step = claim(state, ledgerUnits, nowMs);
  return settledOf(afterSend(step.state, step.version, outcome, METER, nowMs + 1_000));
};
const read = (totalUnits: number, sentAtMs: number) => ({
  sentAtMs,
  reading: { kind: "read", totalUnits } as const,
});

describe("an answer that is known", () => {
  test("a total is claimed with a lease, confirmed, and then nothing is left to do", () => {
    const step = claim(NEVER_REPORTED, 100, T0);
    expect(step).toMatchObject({
      totalUnits: 100,
      version: 1,
      startBeforeMs: T0 + SEND_LEASE_MS - REQUEST_TIMEOUT_MS,
      state: { pending: { totalUnits: 100, version: 1, leaseExpiresAtMs: T0 + SEND_LEASE_MS } },
    });
    const { state, markNotBeforeMs } = settledOf(afterSend(step.state, 1, CONFIRMED, METER, T0 + 200));
    expect(state).toMatchObject({ pending: null, confirmed: { totalUnits: 100, atMs: T0 + 200 } });
    expect(markNotBeforeMs).toBeNull();
    expect(nextStep(state, METER, 100, T0 + 300)).toEqual({ kind: "done", straddled: false });
    expect(claim(state, 101, T0 + 300).totalUnits).toBe(101);
    expect(claim(state, 0, T0 + 300).totalUnits).toBe(0);
  });

  test("a meter that counted nothing is not sent", () => {
    expect(nextStep(NEVER_REPORTED, METER, 0, T0).kind).toBe("done");
  });

  test("without an agreement there is no meter to send to", () => {
    expect(nextStep(NEVER_REPORTED, { ...METER, agreementId: null }, 5, T0).kind).toBe("unmetered");
  });

  test("B22, B25: of two meters the failed one alone is marked, and the run after sends it", () => {
    const first = sent(NEVER_REPORTED, 10, T0, CONFIRMED);
    const second = sent(NEVER_REPORTED, 20, T0, FAILED);
    expect([first.markNotBeforeMs, second.markNotBeforeMs]).toEqual([null, T0 + 1_000 + waitAfter(1)]);
    expect(nextStep(first.state, METER, 10, T0 + 60_000).kind).toBe("done");
    expect(claim(second.state, 20, T0 + 60_000).totalUnits).toBe(20);
  });

  test("B23: what the provider says it has already counts as delivered", () => {
    expect(outcomeOf({ kind: "already_there" })).toEqual(CONFIRMED);
    expect(outcomeOf({ kind: "written" })).toEqual(CONFIRMED);
    const failed = { kind: "failed", retryAfterMs: 7, message: "m" } as const;
    expect(outcomeOf({ ...failed, committed: "no" })).toEqual({
      kind: "failed",
      retryAfterMs: 7,
      error: "m",
    });
    expect(outcomeOf({ ...failed, committed: "unknown" })).toMatchObject({ kind: "unknown" });
  });

  test("a 429 waits as long as it says, and longer each time it says nothing", () => {
    const told = sent(NEVER_REPORTED, 1, T0, { kind: "failed", retryAfterMs: 40_000, error: "429" });
    expect(told.markNotBeforeMs).toBe(T0 + 41_000);
    expect(nextStep(told.state, METER, 2, T0 + 40_999)).toEqual({ kind: "wait", untilMs: T0 + 41_000 });
    expect(claim(told.state, 2, T0 + 41_000).totalUnits).toBe(2);
    expect([1, 2, 3, 8, 9, 2_000].map(waitAfter)).toEqual([5_000, 10_000, 20_000, 640_000, 900_000, 900_000]);
  });

  test("ten failures in a row call for a person", () => {
    let state = NEVER_REPORTED;
    const reviews: boolean[] = [];
    for (let i = 0; i < REVIEW_AFTER_ATTEMPTS + 1; i++) {
      const result = sent(state, 1, T0 + i * 3_600_000, FAILED);
      reviews.push(result.review);
      state = result.state;
    }
    expect(reviews.indexOf(true)).toBe(REVIEW_AFTER_ATTEMPTS - 1);
    expect(sent(state, 1, T0 + 86_400_000, CONFIRMED)).toMatchObject({
      review: false,
      state: { attempts: 0 },
    });
  });
});

describe("one sender at a time", () => {
  test("while a lease runs nobody else may claim, whatever the ledger says", () => {
    const { state } = claim(NEVER_REPORTED, 100, T0);
    const wait = nextStep(state, METER, 105, T0 + SEND_LEASE_MS - 1);
    expect(wait).toEqual({ kind: "wait", untilMs: T0 + SEND_LEASE_MS });
  });

  test.each(["B24", "B46"])("%s: killed before our commit, the next run sends the total again", () => {
    const dead = claim(NEVER_REPORTED, 100, T0);
    const again = claim(dead.state, 100, T0 + SEND_LEASE_MS);
    expect(again).toMatchObject({ totalUnits: 100, version: 2 });
    // What the dead sender wrote is not known, so the meter is read as well.
    const { state } = settledOf(afterSend(again.state, 2, CONFIRMED, METER, T0 + SEND_LEASE_MS + 100));
    expect(nextStep(state, METER, 100, T0 + SEND_LEASE_MS + LATE_WRITE_MS).kind).toBe("read_back");
  });

  test("an answer that comes after another claim changes nothing", () => {
    const slow = claim(NEVER_REPORTED, 100, T0);
    const next = claim(slow.state, 110, T0 + SEND_LEASE_MS);
    expect(afterSend(next.state, slow.version, CONFIRMED, METER, T0 + SEND_LEASE_MS + 1)).toEqual({
      kind: "stale",
    });
    const late = settledOf(afterSend(slow.state, slow.version, CONFIRMED, METER, T0 + SEND_LEASE_MS + 1));
    expect(late.state.confirmed?.totalUnits).toBe(100);
  });

  test("a sender that finds it too late to start leaves the meter marked and loses nothing", () => {
    const step = claim(NEVER_REPORTED, 100, T0);
    const { state, markNotBeforeMs } = settledOf(
      afterSend(step.state, step.version, { kind: "not_started" }, METER, T0 + 26_000),
    );
    expect(markNotBeforeMs).toBe(T0 + 26_000);
    expect(state).toMatchObject({ unsure: null, attempts: 0 });
    expect(claim(state, 100, T0 + 26_000).totalUnits).toBe(100);
  });
});

describe("an answer that is not known", () => {
  test("the meter stays marked and is read back one timeout later at the earliest", () => {
    const { state, markNotBeforeMs } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const endedMs = T0 + 1_000;
    expect(markNotBeforeMs).toBe(endedMs + REQUEST_TIMEOUT_MS);
    expect(nextStep(state, METER, 100, endedMs + 1)).toEqual({
      kind: "wait",
      untilMs: endedMs + REQUEST_TIMEOUT_MS,
    });
    expect(nextStep(state, METER, 100, endedMs + REQUEST_TIMEOUT_MS).kind).toBe("read_back");
  });

  test("a right reading ends it only when the write can no longer land", () => {
    const { state } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const landedByMs = T0 + 1_000 + LATE_WRITE_MS;
    const early = settledOf(afterReadBack(state, 1, read(100, T0 + 7_000), T0 + 7_100));
    expect(early).toMatchObject({ markNotBeforeMs: landedByMs, state: { confirmed: { totalUnits: 100 } } });
    expect(nextStep(early.state, METER, 100, T0 + 7_200)).toEqual({ kind: "wait", untilMs: landedByMs });
    const seen = settledOf(afterReadBack(early.state, 1, read(100, landedByMs), landedByMs + 100));
    const provenByMs = landedByMs + LATE_WRITE_MS;
    expect(seen).toMatchObject({ markNotBeforeMs: provenByMs, state: { unsure: { seenAtMs: landedByMs } } });
    const last = settledOf(afterReadBack(seen.state, 1, read(100, provenByMs), provenByMs + 100));
    expect(last).toMatchObject({ markNotBeforeMs: null, state: { unsure: null, attempts: 0, error: null } });
    expect(nextStep(last.state, METER, 100, provenByMs + 200).kind).toBe("done");
  });

  test("is read back by one sender at a time, until its answer or the end of its lease; a new total does not wait", () => {
    const { state } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const readMs = T0 + 1_000 + REQUEST_TIMEOUT_MS;
    const reading = as(nextStep(state, METER, 100, readMs), "read_back");
    const endsMs = readMs + SEND_LEASE_MS;
    expect(reading.untilMs).toBe(endsMs);
    expect(nextStep(reading.state, METER, 100, readMs + 1)).toEqual({ kind: "wait", untilMs: endsMs });
    expect(nextStep(reading.state, METER, 100, endsMs).kind).toBe("read_back");
    expect(nextStep(reading.state, METER, 110, readMs + 1).kind).toBe("send");
    const right = settledOf(afterReadBack(reading.state, 1, read(100, readMs), readMs + 100));
    expect(right.state.unsure).not.toHaveProperty("readerUntilMs");
  });

  test("our clock is set forward by an hour: the write that lands after that is found all the same", () => {
    const timedOut = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const jumpedMs = T0 + 3_600_000;
    const newer = sent(timedOut.state, 110, jumpedMs, CONFIRMED);
    const seen = settledOf(afterReadBack(newer.state, 2, read(110, jumpedMs + 2_000), jumpedMs + 2_100));
    expect(seen.markNotBeforeMs).toBe(jumpedMs + 2_000 + LATE_WRITE_MS);
    // The old total lands here.
    const readMs = jumpedMs + 60_000;
    expect(nextStep(seen.state, METER, 110, readMs).kind).toBe("read_back");
    const found = settledOf(afterReadBack(seen.state, 2, read(100, readMs), readMs + 100));
    expect(found.state).toMatchObject({ resend: true, unsure: { sinceMs: T0 + 1_000 } });
    expect(found.state.unsure).not.toHaveProperty("seenAtMs");
    expect(claim(found.state, 110, readMs + 200).totalUnits).toBe(110);
  });

  test("a lost write is found by the first reading and sent again at once", () => {
    const { state } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const found = settledOf(afterReadBack(state, 1, read(0, T0 + 7_000), T0 + 7_100));
    expect(found).toMatchObject({ markNotBeforeMs: T0 + 7_100, state: { resend: true } });
    expect(claim(found.state, 100, T0 + 7_100)).toMatchObject({ totalUnits: 100, version: 2 });
  });

  test("B45: a report that lands 30 s after a newer total is found by read-back and written over", () => {
    const timedOut = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const newer = sent(timedOut.state, 110, T0 + 10_000, CONFIRMED);
    expect(newer.state.confirmed?.totalUnits).toBe(110);
    // The old total lands here. The next run, a minute later, reads it.
    expect(nextStep(newer.state, METER, 110, T0 + 60_000).kind).toBe("read_back");
    const found = settledOf(afterReadBack(newer.state, 2, read(100, T0 + 60_000), T0 + 60_100));
    const fixed = sent(found.state, 110, T0 + 60_200, CONFIRMED);
    expect(nextStep(fixed.state, METER, 110, T0 + 62_000).kind).toBe("read_back");
    const seen = settledOf(afterReadBack(fixed.state, 3, read(110, T0 + 62_000), T0 + 62_100));
    const last = settledOf(afterReadBack(seen.state, 3, read(110, T0 + 120_000), T0 + 120_100));
    expect(nextStep(last.state, METER, 110, T0 + 121_000)).toEqual({ kind: "done", straddled: false });
  });

  test("new usage is sent before the reading, so an open question holds nothing up", () => {
    const { state } = sent(NEVER_REPORTED, 100, T0, { ...UNKNOWN, retryAfterMs: null });
    expect(claim(state, 105, T0 + 1_000 + waitAfter(1)).totalUnits).toBe(105);
  });

  test("a reading for an older claim, or while a write is under way, says nothing", () => {
    const { state } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    const claimed = claim(withResend(state), 105, T0 + 10_000);
    expect(afterReadBack(claimed.state, 1, read(100, T0 + 9_000), T0 + 10_100)).toEqual({ kind: "stale" });
    expect(afterReadBack(claimed.state, 2, read(100, T0 + 9_000), T0 + 10_100)).toEqual({ kind: "stale" });
    expect(afterReadBack(NEVER_REPORTED, 0, read(100, T0), T0)).toEqual({ kind: "stale" });
  });

  test("a meter that cannot be read is written again, ever less often, and stays marked", () => {
    let { state } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    let nowMs = T0 + 60_000;
    const waits: number[] = [];
    for (let i = 0; i < 10; i++) {
      const reading = { kind: "unreadable", error: "no such path" } as const;
      const result = settledOf(afterReadBack(state, state.version, { sentAtMs: nowMs, reading }, nowMs));
      waits.push(result.markNotBeforeMs! - nowMs);
      expect(nextStep(result.state, METER, 100, result.markNotBeforeMs! - 1).kind).toBe("wait");
      state = sent(result.state, 100, result.markNotBeforeMs!, CONFIRMED).state;
      nowMs = result.markNotBeforeMs! + 60_000;
      expect(nextStep(state, METER, 100, nowMs).kind).toBe("read_back");
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits.at(-1)).toBe(900_000);
  });

  test("something else that keeps writing is not raced", () => {
    let { state } = sent(NEVER_REPORTED, 100, T0, UNKNOWN);
    let nowMs = T0 + 60_000;
    for (let i = 0; i < 9; i++) {
      const result = settledOf(afterReadBack(state, state.version, read(777, nowMs), nowMs));
      state = sent(result.state, 100, result.markNotBeforeMs!, CONFIRMED).state;
      nowMs = result.markNotBeforeMs! + 60_000;
    }
    expect(settledOf(afterReadBack(state, state.version, read(777, nowMs), nowMs))).toMatchObject({
      review: true,
      markNotBeforeMs: nowMs + 900_000,
    });
  });
});

describe("the end of a cycle", () => {
  test("B41: from two minutes before it the meter is sent every five seconds, the last time two seconds before", () => {
    const flushes: number[] = [];
    for (let at = nextFlushMs(CLOSES, T0); at !== null; at = nextFlushMs(CLOSES, at))
      flushes.push(at - CLOSES);
    expect(flushes.slice(0, 3)).toEqual([-120_000, -115_000, -110_000]);
    expect(flushes.slice(-2)).toEqual([-5_000, -2_000]);
    for (const offset of flushes) expect(claim(NEVER_REPORTED, 1, CLOSES + offset).totalUnits).toBe(1);
  });

  test("a failure then is not waited out longer than five seconds, unless the provider says so", () => {
    const tired = { ...NEVER_REPORTED, attempts: 8 };
    const nearMs = CLOSES - 60_000;
    expect(sent(tired, 1, nearMs, FAILED).markNotBeforeMs).toBe(nearMs + 1_000 + FLUSH_EVERY_MS);
    const told = sent(tired, 1, nearMs, { kind: "failed", retryAfterMs: 30_000, error: "429" });
    expect(told.markNotBeforeMs).toBe(nearMs + 31_000);
  });

  test("no write starts in the last second, nor is told that it may", () => {
    const step = claim(NEVER_REPORTED, 1, CLOSES - 10_000);
    expect(step.startBeforeMs).toBe(CLOSES - BOUNDARY_GUARD_MS);
    expect(nextStep(NEVER_REPORTED, METER, 1, CLOSES - BOUNDARY_GUARD_MS)).toEqual({
      kind: "wait",
      untilMs: CLOSES,
    });
  });

  test("B41: a click one second before the end, seen after it, is late usage with its numbers", () => {
    const { state } = sent(NEVER_REPORTED, 8_031, CLOSES - 30_000, CONFIRMED);
    expect(nextStep(state, METER, 8_031, CLOSES)).toEqual({ kind: "done", straddled: false });
    expect(nextStep(state, METER, 8_032, CLOSES)).toEqual({
      kind: "review",
      late: { ledgerUnits: 8_032, sentUnits: 8_031, lateUnits: 1, maybeSentUnits: null },
      straddled: false,
    });
    expect(nextStep(state, METER, 8_030, CLOSES)).toMatchObject({ kind: "review", late: { lateUnits: -1 } });
  });

  test("a total below zero is late usage once the meter has closed, and sent nowhere before that", () => {
    const { state } = sent(NEVER_REPORTED, 8, CLOSES - 30_000, CONFIRMED);
    expect(() => nextStep(state, METER, -3, CLOSES - 10_000)).toThrow("the counters add up to -3");
    expect(nextStep(state, METER, -3, CLOSES)).toMatchObject({
      kind: "review",
      late: { ledgerUnits: -3, sentUnits: 8, lateUnits: -11 },
    });
  });

  test("an ended agreement takes no more writes, like an ended cycle", () => {
    const endedMs = T0 + 5_000;
    const meter = { ...METER, closesAtMs: closesAtMs(CLOSES, endedMs) };
    expect(nextStep(NEVER_REPORTED, meter, 100, endedMs)).toMatchObject({
      kind: "review",
      late: { ledgerUnits: 100, sentUnits: 0, lateUnits: 100 },
    });
    expect(closesAtMs(CLOSES, null)).toBe(CLOSES);
    expect(closesAtMs(CLOSES, CLOSES + 1)).toBe(CLOSES);
  });

  test("a live sender is waited for even past the end, so that no review is opened too early", () => {
    const { state } = claim(NEVER_REPORTED, 100, CLOSES - 2_000);
    const wait = as(nextStep(state, METER, 100, CLOSES), "wait");
    expect(wait.untilMs).toBe(CLOSES - 2_000 + SEND_LEASE_MS);
  });

  test.each([
    ["an answer after the end", 2_000, CONFIRMED, 3_000],
    ["no answer shortly before it", 20_000, UNKNOWN, 5_000],
  ] as const)("%s: the next cycle's meter is written over and read", (_name, beforeMs, outcome, tookMs) => {
    const step = claim(NEVER_REPORTED, 100, CLOSES - beforeMs);
    const { state } = settledOf(
      afterSend(step.state, step.version, outcome, METER, CLOSES - beforeMs + tookMs),
    );
    const review = as(nextStep(state, METER, 100, CLOSES + 2_000), "review");
    expect(review).toMatchObject({
      straddled: true,
      late: { ledgerUnits: 100, sentUnits: 0, lateUnits: 100, maybeSentUnits: 100 },
    });

    const nextMeter = { agreementId: "agreement_1", closesAtMs: CLOSES + 30 * 86_400_000 };
    const suspect = withStraddler(NEVER_REPORTED, CLOSES + 2_000);
    const write = as(nextStep(suspect, nextMeter, 0, CLOSES + 2_100), "send");
    expect(write.totalUnits).toBe(0);
    const written = settledOf(afterSend(write.state, write.version, CONFIRMED, nextMeter, CLOSES + 2_200));
    const readMs = CLOSES + 2_000 + LATE_WRITE_MS;
    expect(nextStep(written.state, nextMeter, 0, readMs).kind).toBe("read_back");
    const seen = settledOf(afterReadBack(written.state, 1, read(0, readMs), readMs));
    const provenMs = readMs + LATE_WRITE_MS;
    const clear = settledOf(afterReadBack(seen.state, 1, read(0, provenMs), provenMs));
    expect(nextStep(clear.state, nextMeter, 0, provenMs)).toEqual({ kind: "done", straddled: false });
  });

  test("a sender that died near the end may have written past it as well", () => {
    const dead = claim(NEVER_REPORTED, 100, CLOSES - 10_000);
    expect(nextStep(dead.state, METER, 100, CLOSES - 10_000 + SEND_LEASE_MS)).toMatchObject({
      kind: "review",
      straddled: true,
    });
  });
});
