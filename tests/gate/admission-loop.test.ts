import { expect, test, vi } from "vitest";

import { runAdmission } from "../../lib/gate/admission-loop.ts";
import { CONFLICT_TRIES_MAX, conflictWaitMs } from "../../lib/gate/conflict-retry.ts";
import { formatRefreshLease, parseRefreshLease } from "../../lib/gate/refresh-lease.ts";

const needed = { kind: "refresh_needed", refreshLease: "tokens.1" } as const;
const pending = { kind: "refresh_pending", retryAfterMs: 50 } as const;
const admitted = { kind: "admitted" } as const;

/** Answers the given ones in turn, the last for ever, on a clock that only sleeping moves. */
function play(answers: readonly { kind: string }[]) {
  let nowMs = 0;
  let next = 0;
  const refresh = vi.fn<(lease: string) => Promise<unknown>>(async () => null);
  const ports = {
    attempt: async () => answers[Math.min(next++, answers.length - 1)] as typeof admitted,
    refresh,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
    nowMs: () => nowMs,
  };
  return { run: () => runAdmission(ports), refresh, elapsedMs: () => nowMs, attempts: () => next };
}

test("an answer that is a decision is handed on", async () => {
  const scene = play([admitted]);
  expect(await scene.run()).toEqual(admitted);
  expect(scene.attempts()).toBe(1);
});

test("the caller with the refresh lease refreshes once and asks again", async () => {
  const scene = play([needed, admitted]);
  expect(await scene.run()).toEqual(admitted);
  expect(scene.refresh.mock.calls).toEqual([["tokens.1"]]);
});

test("the others wait for it", async () => {
  const scene = play([pending, pending, admitted]);
  expect(await scene.run()).toEqual(admitted);
  expect(scene.elapsedMs()).toBe(100);
  expect(scene.refresh).not.toHaveBeenCalled();
});

test("A36b: nobody waits longer than two seconds", async () => {
  const scene = play([pending]);
  expect(await scene.run()).toMatchObject({ kind: "refused", refusal: { code: "limit_unknown" } });
  expect(scene.elapsedMs()).toBe(2_000);
});

test("a refresh that never helps ends", async () => {
  const scene = play([needed]);
  expect(await scene.run()).toMatchObject({ kind: "refused", refusal: { code: "limit_unknown" } });
  expect(scene.refresh).toHaveBeenCalledTimes(3);
});

test("a refresh lease travels as text, and other text is none", () => {
  expect(parseRefreshLease(formatRefreshLease("tokens", 12))).toEqual({ feature: "tokens", fence: 12 });
  for (const text of ["", "tokens", "tokens.", "tokens.-1", "tokens.1.2", "tokens.9999999999999999"]) {
    expect(parseRefreshLease(text)).toBeNull();
  }
});

test("A21: conflict waits grow with jitter up to a second, and after eight tries there is none", () => {
  const least = [1, 2, 3, 4, 5, 6, 7].map((tries) => conflictWaitMs(tries, 0));
  const most = [1, 2, 3, 4, 5, 6, 7].map((tries) => conflictWaitMs(tries, 0.999_999));
  expect(least).toEqual([13, 25, 50, 100, 200, 400, 500]);
  expect(most).toEqual([25, 50, 100, 200, 400, 800, 1_000]);
  expect(conflictWaitMs(CONFLICT_TRIES_MAX, 0)).toBeNull();
});
