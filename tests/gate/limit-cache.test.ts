import { describe, expect, test } from "vitest";

import { applyFailedRead, applyRead, grantRefresh, judgeLimit } from "../../lib/gate/limit-cache.ts";
import { makeLimitRow, NOW_MS } from "./fixtures.ts";

const MINUTE_MS = 60_000;
const neverRead = { limitUnits: null, readAtMs: null };
const leased = { refreshFence: 1, refreshLeaseExpiresAtMs: NOW_MS + 5_000 };
const failed = { refreshFailedAtMs: NOW_MS - 1_000 };

describe("judgeLimit", () => {
  test.each([
    ["read now", {}, "use", false],
    ["read 59.999 s ago", { readAtMs: NOW_MS - 59_999 }, "use", false],
    ["read a minute ago", { readAtMs: NOW_MS - MINUTE_MS }, "refresh", null],
    ["read a minute ago, refreshing", { readAtMs: NOW_MS - MINUTE_MS, ...leased }, "use", true],
    ["A10: read 9 min 59 s ago, refresh failed", { readAtMs: NOW_MS - 599_000, ...failed }, "use", true],
    ["A10: read 10 min 01 s ago, refresh failed", { readAtMs: NOW_MS - 601_000, ...failed }, "unknown", null],
    ["read 10 min ago to the millisecond", { readAtMs: NOW_MS - 600_000, ...failed }, "unknown", null],
    ["never read", neverRead, "refresh", null],
    ["never read, refreshing", { ...neverRead, ...leased }, "pending", null],
    [
      "never read, the refresher died",
      { ...neverRead, ...leased, refreshLeaseExpiresAtMs: NOW_MS },
      "refresh",
      null,
    ],
    ["never read, refresh failed a second ago", { ...neverRead, ...failed }, "unknown", null],
    [
      "never read, refresh failed 5 s ago",
      { ...neverRead, refreshFailedAtMs: NOW_MS - 5_000 },
      "refresh",
      null,
    ],
    [
      "fresh, but the plan changed since",
      { readAtMs: NOW_MS - 10, refreshRequiredAtMs: NOW_MS - 5 },
      "refresh",
      null,
    ],
    ["read at the plan change", { readAtMs: NOW_MS - 5, refreshRequiredAtMs: NOW_MS - 5 }, "use", false],
  ] as const)("%s", (_name, fields, kind, stale) => {
    const judged = judgeLimit(makeLimitRow(fields), NOW_MS);
    expect([judged.kind, judged.kind === "use" ? judged.limit.stale : null]).toEqual([kind, stale]);
  });

  test("a row that does not exist is to be read", () => {
    expect(judgeLimit(null, NOW_MS)).toEqual({ kind: "refresh", usable: null });
  });

  test("a failed refresh is tried again after 5 s, and the refusal says when", () => {
    expect(judgeLimit(makeLimitRow({ ...neverRead, ...failed }), NOW_MS)).toEqual({
      kind: "unknown",
      refusal: { code: "limit_unknown", retryAfterMs: 4_000 },
    });
  });

  test("the refresh lease goes to one caller", () => {
    const row = grantRefresh(makeLimitRow(neverRead), NOW_MS);
    expect(row.refreshFence).toBe(1);
    expect(judgeLimit(row, NOW_MS).kind).toBe("pending");
  });
});

describe("applyRead", () => {
  const read = { fence: 1, sentAtMs: NOW_MS, limitUnits: 500, planKey: "pro" };

  test("stores the limit with the instant at which it was asked for, and gives the lease back", () => {
    expect(applyRead(makeLimitRow({ ...neverRead, ...leased, ...failed }), read)).toEqual({
      limitUnits: 500,
      planKey: "pro",
      readAtMs: NOW_MS,
      refreshLeaseExpiresAtMs: null,
      refreshFailedAtMs: null,
      refreshFailure: null,
      refreshRequiredAtMs: null,
    });
  });

  test("a read sent before a plan change does not answer it", () => {
    const row = makeLimitRow({ ...leased, readAtMs: NOW_MS - 10, refreshRequiredAtMs: NOW_MS + 1 });
    expect(applyRead(row, read)).toMatchObject({ readAtMs: NOW_MS, refreshRequiredAtMs: NOW_MS + 1 });
  });

  test("a read sent before the stored one changes no limit", () => {
    expect(applyRead(makeLimitRow({ ...leased, readAtMs: NOW_MS + 1 }), read)).toEqual({
      refreshLeaseExpiresAtMs: null,
    });
  });

  test("a caller that lost its lease cannot end the lease of the next", () => {
    const row = makeLimitRow({ ...neverRead, ...leased, refreshFence: 2 });
    expect(applyRead(row, read)).not.toHaveProperty("refreshLeaseExpiresAtMs");
    expect(applyFailedRead(row, { fence: 1, atMs: NOW_MS, reason: "down" })).toEqual({});
  });
});
