import { describe, expect, test } from "vitest";
import { ClientLimits } from "../../lib/server/client-limits.ts";

const RULE = { burst: 3, everyMs: 1_000 };

const fail = (limits: ClientLimits, times: number, nowMs: number, client = "a") => {
  for (let time = 0; time < times; time += 1) limits.count(client, nowMs);
};

describe("a client", () => {
  test("may fail as often as the burst says, then waits for the next try", () => {
    const limits = new ClientLimits(RULE);
    fail(limits, 2, 0);
    expect(limits.waitMs("a", 0)).toBe(0);
    fail(limits, 1, 0);
    expect(limits.waitMs("a", 0)).toBe(1_000);
    expect(limits.waitMs("a", 400)).toBe(600);
    expect(limits.waitMs("a", 999.5)).toBe(1);
    expect(limits.waitMs("a", 1_000)).toBe(0);
  });

  test("that waits as it was told is let in, and each failure costs one more wait", () => {
    const limits = new ClientLimits(RULE);
    fail(limits, 3, 0);
    let nowMs = 0;
    for (let round = 0; round < 10; round += 1) {
      const waitMs = limits.waitMs("a", nowMs);
      expect(waitMs).toBe(1_000);
      nowMs += waitMs;
      expect(limits.waitMs("a", nowMs)).toBe(0);
      limits.count("a", nowMs);
    }
  });

  test("is held back for nobody else's failures", () => {
    const limits = new ClientLimits(RULE);
    fail(limits, 3, 0, "b");
    expect([limits.waitMs("a", 0), limits.waitMs("b", 0)]).toEqual([0, 1_000]);
  });

  test("owes nothing beyond its burst", () => {
    const limits = new ClientLimits(RULE);
    fail(limits, 1_000, 0);
    expect([limits.waitMs("a", 0), limits.triesLeft("a", 0)]).toEqual([1_000, 0]);
    expect([limits.waitMs("a", 1_500), limits.triesLeft("a", 1_500)]).toEqual([0, 1]);
    expect([limits.triesLeft("a", 60_000), limits.triesLeft("never seen", 0)]).toEqual([3, 3]);
  });

  test("gets no try back from a clock that goes back", () => {
    const limits = new ClientLimits(RULE);
    fail(limits, 3, 5_000);
    expect(limits.waitMs("a", 0)).toBe(1_000);
  });
});

describe("the memory", () => {
  test("holds nothing of a client that fails no more", () => {
    const limits = new ClientLimits(RULE);
    fail(limits, 3, 0);
    expect(limits.size).toBe(1);
    expect(limits.waitMs("a", 3_000)).toBe(0);
    expect(limits.size).toBe(0);
    expect(limits.waitMs("never seen", 0)).toBe(0);
    expect(limits.size).toBe(0);
  });

  test("is bounded, and forgets who failed longest ago first", () => {
    const limits = new ClientLimits(RULE, 2);
    for (const client of ["a", "b", "c"]) fail(limits, 3, 0, client);
    expect(limits.size).toBe(2);
    expect(["a", "b", "c"].map((client) => limits.waitMs(client, 0))).toEqual([0, 1_000, 1_000]);
  });
});

test("a rule that would let nobody in is refused", () => {
  expect(() => new ClientLimits({ burst: 0, everyMs: 1 })).toThrow(/lets nobody in/);
});
