import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { systemHost } from "../../../lib/local-convex/host.ts";
import { Transitions, type TransitionHost } from "../../../lib/local-convex/sync/transitions.ts";

/** What one run of the client's queries takes. */
const RUN_MS = 100;

let runs: number;
let transitions: Transitions;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  runs = 0;
  const host = {
    runtime: { host: systemHost, executor: { timestamp: 1n, flushed: () => Promise.resolve() } },
    live: {
      capture: (_queries: unknown, capture: () => unknown) => {
        runs += 1;
        vi.advanceTimersByTime(RUN_MS);
        return Promise.resolve(capture());
      },
    },
    queries: { isCurrent: false, queries: () => [], takeChanges: () => [] },
    outbox: { ready: () => Promise.resolve(), sendTransition: () => undefined },
    mayRun: () => true,
    onFailure: (error: unknown) => {
      throw error;
    },
  };
  transitions = new Transitions(host as unknown as TransitionHost);
});

afterEach(() => vi.useRealTimers());

/** Lets all that is due happen, but no time pass. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));

test("under a stream of commits the queries of a connection run a quarter of the time", async () => {
  for (let ms = 0; ms < 4_000; ms += 10) {
    transitions.update(false);
    await settle();
    vi.advanceTimersByTime(10);
  }
  // Each run takes 100 ms of the clock and 300 ms of rest.
  expect(performance.now()).toBeGreaterThan(4_000);
  expect(runs).toBeGreaterThanOrEqual(10);
  expect(runs).toBeLessThanOrEqual(Math.ceil(performance.now() / (4 * RUN_MS)) + 1);
});

test("the last of many commits is shown without another one", async () => {
  transitions.update(false);
  await settle();
  transitions.update(false);
  await settle();
  expect(runs).toBe(1);
  vi.advanceTimersByTime(3 * RUN_MS);
  await settle();
  expect(runs).toBe(2);
});

test("what the client has asked for ends the rest", async () => {
  transitions.update(false);
  await settle();
  transitions.update(false);
  await settle();
  expect(runs).toBe(1);
  transitions.update(true);
  await settle();
  expect(runs).toBe(2);
});

test("a connection that ends leaves no timer behind", async () => {
  transitions.update(false);
  await settle();
  transitions.update(false);
  await settle();
  transitions.stop();
  await settle();
  expect(vi.getTimerCount()).toBe(0);
  expect(runs).toBe(1);
});
