import { describe, expect, test } from "vitest";

import { QUARANTINE_AFTER_MS, quarantineReason } from "../../lib/inbox/event.ts";
import { nsOfMs } from "../../lib/inbox/event-time.ts";
import { isForgettable } from "../../lib/inbox/forget.ts";
import type { EventStatus } from "../../lib/inbox/worker.ts";

const NOW_MS = Date.UTC(2026, 9, 10, 12);
const at = (atMs: number, status: EventStatus = "applied") => ({ status, occurredAtNs: nsOfMs(atMs) });

describe("an event may be forgotten", () => {
  test("only when a copy of it would be quarantined from now on", () => {
    const [young, old] = [NOW_MS - QUARANTINE_AFTER_MS, NOW_MS - QUARANTINE_AFTER_MS - 1];
    expect(quarantineReason(nsOfMs(young), NOW_MS)).toBeNull();
    expect(isForgettable(at(young), NOW_MS)).toBe(false);
    expect(quarantineReason(nsOfMs(old), NOW_MS)).not.toBeNull();
    expect(isForgettable(at(old), NOW_MS)).toBe(true);
  });

  test("not while its time lies ahead: a copy would wait now, and be applied when that time has come", () => {
    const ahead = NOW_MS + 2 * QUARANTINE_AFTER_MS;
    expect(quarantineReason(nsOfMs(ahead), NOW_MS)).not.toBeNull();
    expect(isForgettable(at(ahead), NOW_MS)).toBe(false);
  });

  test.each<[EventStatus, boolean]>([
    ["received", false],
    ["processing", false],
    ["applied", true],
    ["ignored", true],
    ["failed", false],
    ["dead", false],
    ["quarantined", false],
  ])("%s: %s, however old", (status, expected) => {
    expect(isForgettable(at(0, status), NOW_MS)).toBe(expected);
  });

  test("without a time of its own when it was ignored, and in no other case", () => {
    expect(isForgettable({ status: "ignored", occurredAtNs: null }, NOW_MS)).toBe(true);
    expect(isForgettable({ status: "applied", occurredAtNs: null }, NOW_MS)).toBe(false);
    expect(isForgettable({ status: "dead", occurredAtNs: null }, NOW_MS)).toBe(false);
  });
});
