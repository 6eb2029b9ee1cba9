import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { runAdmission } from "../../lib/gate/admission-loop.ts";
import { CONFLICT_TRIES_MAX, conflictWaitMs } from "../../lib/gate/conflict-retry.ts";
import { formatRefreshLease, parseRefreshLease } from "../../lib/gate/refresh-lease.ts";

const needed = { kind: "refresh_needed", refreshLease: "tokens.1" } as const;
const pending = { kind: "refresh_pending", retryAfterMs: 50 } as const;
const admitted = { kind: "admitted" } as const;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Runs an admission that gets the given answers in turn, the last for ever, and a provider as slow as it is told. */
async function play(answers: readonly { kind: string }[], refreshMs = 0) {
  const startedAtMs = Date.now();
  let attempts = 0;
  const refresh = vi.fn<(lease: string) => Promise<unknown>>(() => after(refreshMs));
  const run = runAdmission({
    attempt: async () => answers[Math.min(attempts++, answers.length - 1)] as typeof admitted,
    refresh,
    sleep: after,
    nowMs: Date.now,
  }).then((answer) => ({ answer, elapsedMs: Date.now() - startedAtMs }));
  await vi.runAllTimersAsync();
  return { ...(await run), refresh, attempts };
}

test("an answer that is a decision is handed on", async () => {
  expect(await play([admitted])).toMatchObject({ answer: admitted, attempts: 1, elapsedMs: 0 });
});

test("the caller with the refresh lease refreshes once and asks again", async () => {
  const { answer, refresh, elapsedMs } = await play([needed, admitted], 700);
  expect(answer).toEqual(admitted);
  expect(refresh.mock.calls).toEqual([["tokens.1"]]);
  expect(elapsedMs).toBe(700);
});

test("the others wait for it", async () => {
  const { answer, refresh, elapsedMs } = await play([pending, pending, admitted]);
  expect(answer).toEqual(admitted);
  expect(elapsedMs).toBe(100);
  expect(refresh).not.toHaveBeenCalled();
});

const unknown = { kind: "refused", refusal: { code: "limit_unknown", retryAfterMs: 1_000 } } as const;

test.each([
  ["that waits for another one's refresh is told that the limit is unknown", [pending], unknown],
  ["that refreshes itself does not wait for a slow provider", [needed, pending], unknown],
  ["that refreshes itself is decided with the last limit", [needed, admitted], admitted],
  ["whose turn to refresh comes late does not wait longer for it", [pending, needed, pending], unknown],
  ["that is asked to refresh again and again is told so", [needed, needed, needed, pending], unknown],
])("A36b: a caller %s, within two seconds", async (_title, answers, decision) => {
  const { answer, elapsedMs } = await play(answers, 14_000);
  expect(answer).toEqual(decision);
  expect(elapsedMs).toBe(1_500);
});

test("A36b: a refresh that fails after its caller was answered harms nobody", async () => {
  let failed = false;
  const answers = [needed, admitted];
  const run = runAdmission({
    attempt: async () => answers.shift() as typeof admitted,
    refresh: () =>
      after(14_000).then(() => {
        failed = true;
        throw new Error("the provider is down");
      }),
    sleep: after,
    nowMs: Date.now,
  });
  await vi.runAllTimersAsync();
  expect(await run).toEqual(admitted);
  expect(failed).toBe(true);
});

test("a refresh that never helps ends", async () => {
  const { answer, refresh } = await play([needed]);
  expect(answer).toEqual(unknown);
  expect(refresh).toHaveBeenCalledTimes(3);
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
