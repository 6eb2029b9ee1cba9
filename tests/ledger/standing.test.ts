import { describe, expect, test } from "vitest";
import { isTrouble, type LastReading, type MeterFactsNow, standingOf } from "../../lib/ledger/standing.ts";

const proven: LastReading = {
  meterUnits: 10,
  ledgerUnits: 10,
  status: "proven",
  atMs: 1_000,
  isSeenAgain: false,
};
const facts: MeterFactsNow = {
  isMetered: true,
  isAtProvider: true,
  ledgerUnits: 10,
  sent: { totalUnits: 10, atMs: 900 },
  sendError: null,
  reading: proven,
  isAccepted: false,
};
const later = { totalUnits: 10, atMs: 2_000 };

describe("what can be said of a meter", () => {
  test.each<[what: string, change: Partial<MeterFactsNow>, standing: string]>([
    ["read and equal", {}, "proven"],
    ["repaired a moment ago", { reading: { ...proven, status: "repaired_and_confirmed" } }, "repaired"],
    [
      "repaired, and found right by a later run",
      { reading: { ...proven, status: "repaired_and_confirmed", isSeenAgain: true } },
      "proven",
    ],
    ["the ledger went on, reported", { ledgerUnits: 12, sent: { totalUnits: 12, atMs: 2_000 } }, "confirmed"],
    ["the ledger went on, not reported", { ledgerUnits: 12 }, "on_its_way"],
    ["the report failed", { ledgerUnits: 12, sendError: "503" }, "failing"],
    ["never read, confirmed", { reading: null }, "confirmed"],
    ["never read, never sent", { reading: null, sent: null }, "on_its_way"],
    ["nothing counted", { reading: null, sent: null, ledgerUnits: 0 }, "empty"],
    ["could not be read", { reading: { ...proven, meterUnits: null, status: "unreadable" } }, "unreadable"],
    [
      "could not be read, confirmed since",
      { reading: { ...proven, meterUnits: null, status: "unreadable" }, sent: later },
      "confirmed",
    ],
    ["not repaired", { reading: { ...proven, meterUnits: 17, status: "error" } }, "error"],
    ["not repaired, confirmed since", { reading: { ...proven, status: "error" }, sent: later }, "proven"],
    [
      "closed and different",
      { reading: { ...proven, meterUnits: 9, status: "needs_review" } },
      "needs_review",
    ],
    [
      "closed, different and signed",
      { reading: { ...proven, meterUnits: 9, status: "needs_review" }, isAccepted: true },
      "accepted",
    ],
    ["no agreement", { isMetered: false }, "unmetered"],
    ["our own copy agrees", { isAtProvider: false }, "kept_here"],
    [
      "our own copy was written anew",
      { isAtProvider: false, reading: { ...proven, status: "repaired_and_confirmed" } },
      "kept_here",
    ],
    ["our own copy, written", { isAtProvider: false, reading: null }, "kept_here"],
    ["our own copy is behind", { isAtProvider: false, ledgerUnits: 12 }, "kept_here"],
    [
      "our own copy was not written",
      { isAtProvider: false, reading: { ...proven, meterUnits: 9, status: "error" } },
      "error",
    ],
    ["no agreement at no provider", { isMetered: false, isAtProvider: false }, "unmetered"],
  ])("%s: %o is %s", (_what, change, standing) => {
    expect(standingOf({ ...facts, ...change })).toBe(standing);
  });

  test("a proof of the total before is no proof of the one now", () => {
    expect(standingOf({ ...facts, ledgerUnits: 11 })).not.toBe("proven");
    // The meter happens to show what the ledger has come to since.
    expect(standingOf({ ...facts, ledgerUnits: 17, reading: { ...proven, meterUnits: 17 } })).toBe(
      "on_its_way",
    );
  });

  test("what somebody has to look at", () => {
    expect(isTrouble("error")).toBe(true);
    expect(isTrouble("on_its_way")).toBe(false);
  });
});
