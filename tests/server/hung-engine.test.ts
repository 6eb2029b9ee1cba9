import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LIMIT_WAIT_MS_MAX } from "../../lib/gate/admission-loop.ts";
import { handleApi } from "../../lib/server/api/router.ts";
import { BackendError, CALL_TIMEOUT_MS, type ConvexGateway } from "../../lib/server/convex.ts";
import { CALLER_WAIT_MS_MAX } from "../../lib/server/conflict-retry.ts";
import type { ServerDeps } from "../../lib/server/deps.ts";
import { gatherGateCalls } from "../../lib/server/gate-batches.ts";
import { toResponse } from "../../lib/server/http.ts";
import { readSessionToken } from "../../lib/server/session-token.ts";
import { LinksUnavailableError, createLinkCache } from "../../lib/server/redirect/link-cache.ts";
import { after } from "../../lib/server/redirect/timers.ts";
import { API_KEY } from "./helpers/api.ts";
import { JOB_ID } from "./helpers/samples.ts";

/* An engine that takes every call and answers none, as one that was stopped does. Time is the test's. */

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** How a call of this moment ends: with an error at once, or after the timeout. */
let failure: () => Promise<never>;
let sentAtMs: number[];
let deps: ServerDeps;
beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 9, 1) });
  failure = hang;
  sentAtMs = [];
  const call = () => {
    sentAtMs.push(Date.now());
    return failure();
  };
  const silent: ConvexGateway = { query: call, mutation: call, action: call };
  deps = {
    convex: gatherGateCalls(silent, Date.now),
    readSessionToken,
    nowMs: Date.now,
    sleep,
    random: () => 0.999,
    elapsedMs: Date.now,
    newId: () => "error-id",
    log: () => undefined,
    answered: () => undefined,
  };
});
afterEach(() => vi.useRealTimers());

async function hang(): Promise<never> {
  await sleep(CALL_TIMEOUT_MS);
  throw new BackendError("unreachable", "no answer");
}

interface Asked {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: string | null;
  readonly waitedMs: number;
}

async function ask(path: string, body?: object): Promise<Asked> {
  const askedAtMs = Date.now();
  const request = new Request(`http://localhost/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const response = toResponse(await handleApi(request, deps));
  const waitedMs = Date.now() - askedAtMs;
  const { code } = (await response.json()) as { code: string };
  return { status: response.status, code, retryAfter: response.headers.get("retry-after"), waitedMs };
}

async function arriving<T>(count: number, everyMs: number, one: (index: number) => Promise<T>): Promise<T[]> {
  const asked: Promise<T>[] = [];
  for (let index = 0; index < count; index += 1) {
    asked.push(one(index));
    await vi.advanceTimersByTimeAsync(everyMs);
  }
  const all = Promise.all(asked);
  await vi.advanceTimersByTimeAsync(120_000);
  return await all;
}

const admit = (index: number) => ask("/jobs", { key: `k${index}`, units: 1 });

/** What the callers were told, without repeats, and what is wrong with how they were told it. */
function summed(answers: readonly Asked[]) {
  return {
    told: [...new Set(answers.map(({ status, code }) => `${status} ${code}`))],
    withoutRetryAfter: answers.filter(({ retryAfter }) => Number(retryAfter) < 1).length,
    late: answers.filter(({ waitedMs }) => waitedMs > CALLER_WAIT_MS_MAX).map(({ waitedMs }) => waitedMs),
  };
}
const ALL_UNAVAILABLE = { told: ["503 unavailable"], withoutRetryAfter: 0, late: [] };

test("the bound is what the documents say", () => {
  expect(CALLER_WAIT_MS_MAX).toBe(10_000);
});

test("every admission of one key is told in time to ask again, however many wait", async () => {
  expect(summed(await arriving(400, 50, admit))).toEqual(ALL_UNAVAILABLE);
}, 60_000);

test("so are the steps of a worker, and reads", async () => {
  const charge = () => ask(`/jobs/${JOB_ID}/charge`, { step: 1, units: 1, fence: 1 });
  expect(summed(await arriving(100, 97, (index) => (index % 2 === 0 ? charge() : ask("/usage"))))).toEqual(
    ALL_UNAVAILABLE,
  );
}, 60_000);

test("an admission that reads the limit does not wait for a reading that hangs, and then decides", async () => {
  const answers = [
    { kind: "refresh_needed", refreshLease: "lease" },
    { kind: "refresh_pending", retryAfterMs: 50 },
  ];
  const convex: ConvexGateway = {
    query: hang,
    mutation: () => Promise.resolve((answers.length > 1 ? answers.shift() : answers[0]) as never),
    action: () => sleep(30_000).then(() => Promise.reject(new BackendError("unreachable", "no answer"))),
  };
  deps = { ...deps, convex };
  const [answer] = await arriving(1, 0, admit);
  expect(answer).toMatchObject({ status: 503, code: "limit_unknown" });
  expect(answer?.waitedMs).toBeLessThanOrEqual(LIMIT_WAIT_MS_MAX + 100);
});

test("conflicts that take long and then nothing at all: the bound holds", async () => {
  const startedAtMs = Date.now();
  failure = async () => {
    if (Date.now() - startedAtMs > 4_000) return await hang();
    await sleep(900);
    throw new BackendError("conflict", "made by the test");
  };
  const answers = await arriving(200, 50, admit);
  expect(Math.max(...answers.map(({ waitedMs }) => waitedMs))).toBeLessThanOrEqual(CALLER_WAIT_MS_MAX);
}, 60_000);

test("a batch that fails just before the engine hangs: the bound holds for its calls and for those behind them", async () => {
  const startedAtMs = Date.now();
  failure = async () => {
    if (Date.now() - startedAtMs > 6_000) return await hang();
    await sleep(CALL_TIMEOUT_MS - 100);
    throw new BackendError("failed", "made by the test");
  };
  expect(summed(await arriving(200, 50, admit))).toEqual(ALL_UNAVAILABLE);
}, 60_000);

test("a visitor of a link that is not known is answered in time, however many others wait", async () => {
  const links = createLinkCache({
    read: hang,
    nowMs: Date.now,
    elapsedMs: Date.now,
    after,
    log: () => undefined,
  });
  const answers = await arriving(1_000, 10, async (index) => {
    const askedAtMs = Date.now();
    const error = await links.resolve(`code${index}`).catch((thrown: unknown) => thrown);
    return { error, waitedMs: Date.now() - askedAtMs };
  });
  expect(answers.every(({ error }) => error instanceof LinksUnavailableError)).toBe(true);
  expect(Math.max(...answers.map(({ waitedMs }) => waitedMs))).toBeLessThanOrEqual(CALLER_WAIT_MS_MAX);
}, 60_000);
