import { describe, expect, test } from "vitest";
import type { Outcome } from "../../lib/inbox/handlers.ts";
import {
  ATTEMPTS_MAX,
  claim,
  fail,
  finish,
  holdsLease,
  LEASE_MS,
  newProgress,
  renew,
  replay,
  RETRY_WAITS_MS,
  withCopy,
  type EventProgress,
  type EventStatus,
} from "../../lib/inbox/worker.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";

const T0 = Date.parse("2026-10-20T12:00:00Z");
const APPLIED: Outcome = { kind: "applied", note: null };
const NEW = newProgress("received", null, T0);

function claimed(event: EventProgress, nowMs: number): EventProgress {
  const result = claim(event, nowMs);
  expect(result.kind).toBe("claimed");
  return result.kind === "claimed" ? result.progress : event;
}

/** The event in each of its states, and for a claimed one also after its lease. */
const IN_STATE: Readonly<Record<EventStatus | "abandoned", EventProgress>> = {
  received: NEW,
  processing: claimed(NEW, T0),
  abandoned: claimed(newProgress("received", null, T0 - LEASE_MS), T0 - LEASE_MS),
  applied: finish(claimed(NEW, T0), 1, APPLIED, T0)!,
  ignored: finish(claimed(NEW, T0), 1, { kind: "ignored", reason: "r" }, T0)!,
  failed: fail(claimed(NEW, T0), 1, "e", T0)!,
  dead: finish(claimed(NEW, T0), 1, { kind: "permanent", path: "p", message: "p: is missing" }, T0)!,
  quarantined: newProgress("quarantined", "old", T0),
};

describe("the life of an event", () => {
  test("the waits are 5 s, 30 s, 2 min, 10 min and 1 h; the sixth failure is the end", () => {
    expect(RETRY_WAITS_MS).toEqual([5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS]);
    let event = NEW;
    let nowMs = T0;
    for (const waitMs of RETRY_WAITS_MS) {
      event = fail(claimed(event, nowMs), event.fence + 1, "boom", nowMs)!;
      expect(event).toMatchObject({ status: "failed", nextAttemptAtMs: nowMs + waitMs, error: "boom" });
      expect(claim(event, nowMs + waitMs - 1).kind).toBe("not_due");
      nowMs += waitMs;
    }
    event = fail(claimed(event, nowMs), event.fence + 1, "boom", nowMs)!;
    expect(event).toMatchObject({
      status: "dead",
      attempts: ATTEMPTS_MAX,
      nextAttemptAtMs: null,
      error: "boom",
    });
  });

  test("an event that kills its worker each time is dead after six, and the others go on", () => {
    let event = NEW;
    let nowMs = T0;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      event = claimed(event, nowMs);
      expect(event.attempts).toBe(attempt);
      nowMs += LEASE_MS;
    }
    expect(claim(event, nowMs)).toMatchObject({
      kind: "dead",
      progress: { status: "dead", nextAttemptAtMs: null },
    });
  });

  test("C35: a permanent error is dead at once, with the path", () => {
    expect(IN_STATE.dead).toMatchObject({ status: "dead", attempts: 1, error: "p: is missing" });
  });

  test.each([
    ["received", "claimed", "queued"],
    ["processing", "not_due", "running"],
    ["abandoned", "claimed", "queued"],
    ["applied", "not_due", "queued"],
    ["ignored", "not_due", "queued"],
    ["failed", "not_due", "queued"],
    ["dead", "not_due", "queued"],
    ["quarantined", "not_due", "queued"],
  ] as const)("in state %s a claim is %s and a replay %s", (state, claimKind, replayKind) => {
    const event = IN_STATE[state];
    expect(claim(event, T0).kind).toBe(claimKind);
    const replayed = replay(event, "operator", T0);
    expect(replayed.kind).toBe(replayKind);
    const queued = replayed.kind === "queued" ? replayed.progress : null;
    expect(queued === null ? "claimed" : claim(queued, T0).kind).toBe("claimed");
    // Whoever claimed before a replay has lost the lease.
    expect(queued === null ? false : holdsLease(queued, 1, T0)).toBe(false);
  });

  test("a customer cannot release a quarantined event", () => {
    expect(replay(IN_STATE.quarantined, "customer", T0)).toEqual({ kind: "forbidden" });
    expect(replay(IN_STATE.dead, "customer", T0).kind).toBe("queued");
  });
});

describe("leases", () => {
  test("C30: an apply that outlives its lease is lost, whether or not another worker has it", () => {
    const first = claimed(NEW, T0);
    expect(finish(first, 1, APPLIED, T0 + LEASE_MS - 1)?.status).toBe("applied");
    expect(finish(first, 1, APPLIED, T0 + LEASE_MS)).toBeNull();
    const second = claimed(first, T0 + LEASE_MS);
    expect(finish(second, 1, APPLIED, T0 + LEASE_MS + 1)).toBeNull();
    expect(fail(second, 1, "late", T0 + LEASE_MS + 1)).toBeNull();
    expect(finish(second, 2, APPLIED, T0 + LEASE_MS + 1)?.status).toBe("applied");
  });

  test("C31: a renewed lease is not stolen; one that ended cannot be renewed", () => {
    const first = claimed(NEW, T0);
    const renewed = renew(first, 1, T0 + LEASE_MS - 1)!;
    expect(claim(renewed, T0 + LEASE_MS).kind).toBe("not_due");
    expect(finish(renewed, 1, APPLIED, T0 + LEASE_MS)?.status).toBe("applied");
    expect(renew(first, 1, T0 + LEASE_MS)).toBeNull();
    expect(renew(claimed(first, T0 + LEASE_MS), 1, T0 + LEASE_MS)).toBeNull();
  });

  test("C12: replay pressed while the retry timer fires: one attempt holds the lease, in both orders", () => {
    const dueAtMs = T0 + RETRY_WAITS_MS[0];
    const timerFirst = claimed(IN_STATE.failed, dueAtMs);
    expect(replay(timerFirst, "operator", dueAtMs).kind).toBe("running");
    const pressed = replay(IN_STATE.failed, "operator", dueAtMs);
    expect(pressed.kind).toBe("queued");
    const held = claimed(pressed.kind === "queued" ? pressed.progress : NEW, dueAtMs);
    expect(claim(held, dueAtMs).kind).toBe("not_due");
    expect(held.fence).toBe(2);
  });
});

describe("copies and replays", () => {
  test("C13: a copy is counted in every state and changes nothing else, but for one that waits", () => {
    for (const [state, event] of Object.entries(IN_STATE)) {
      const copied = withCopy(event, T0 + 1);
      const dueAtMs = state === "failed" ? T0 + 1 : event.nextAttemptAtMs;
      expect(copied).toEqual({ ...event, seenCount: 2, nextAttemptAtMs: dueAtMs });
    }
  });

  test("a burst of copies cannot use up the attempts", () => {
    let event = NEW;
    for (let copy = 0; copy < 20; copy += 1) {
      const result = claim(event, T0);
      if (result.kind === "claimed") event = fail(result.progress, result.fence, "boom", T0)!;
      event = withCopy(event, T0);
    }
    expect(event).toMatchObject({ status: "failed", attempts: 3, nextAttemptAtMs: T0 + 2 * MINUTE_MS });
  });

  test("S12: the replay of an applied event leaves it applied, with the outcome it had", () => {
    const replayed = replay(IN_STATE.applied, "customer", T0 + HOUR_MS);
    expect(replayed.kind).toBe("queued");
    const again = claimed(replayed.kind === "queued" ? replayed.progress : NEW, T0 + HOUR_MS);
    const done = finish(again, again.fence, { kind: "ignored", reason: "newer" }, T0 + HOUR_MS);
    expect(done).toEqual({ ...IN_STATE.applied, fence: 2 });
  });

  test("a replay gives six fresh attempts and a claim number that nobody had", () => {
    const replayed = replay(IN_STATE.dead, "operator", T0 + 1);
    expect(replayed).toMatchObject({ progress: { status: "received", attempts: 0, fence: 1, error: null } });
  });
});
