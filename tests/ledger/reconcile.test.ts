import { describe, expect, test } from "vitest";
import {
  CAUSES,
  decide,
  isRepeat,
  judgeReadBack,
  statusOf,
  type Evidence,
  type MeterFacts,
} from "../../lib/ledger/reconcile.ts";
import { seededRandom } from "../helpers/random-values.ts";

type Report = MeterFacts["report"];

const confirmed = (totalUnits: number): Report => ({
  confirmed: { totalUnits, atMs: 1 },
  lastTotalUnits: totalUnits,
  lastOutcome: "confirmed",
});
const attempted = (report: Report, lastTotalUnits: number, lastOutcome: "failed" | "unknown"): Report => ({
  ...report,
  lastTotalUnits,
  lastOutcome,
});
const NEVER: Report = { confirmed: null, lastTotalUnits: null, lastOutcome: "none" };

function facts(
  ledgerUnits: number,
  report: Report,
  providerUnits: number | null,
  isClosed = false,
): MeterFacts {
  const provider =
    providerUnits === null
      ? ({ kind: "unreadable", error: "503" } as const)
      : ({ kind: "read", totalUnits: providerUnits } as const);
  return { ledgerUnits, counterUnits: ledgerUnits, report, provider, isClosed };
}

describe("the verdict", () => {
  const WRITE = (totalUnits: number) => ({ kind: "write", totalUnits });
  test.each([
    ["equal", facts(100, confirmed(100), 100), "match", null, { kind: "none" }],
    ["equal, though never sent", facts(0, NEVER, 0), "match", null, { kind: "none" }],
    [
      "equal, though the last report had no answer",
      facts(9, attempted(NEVER, 9, "unknown"), 9),
      "match",
      null,
      { kind: "none" },
    ],
    ["ledger went on", facts(110, confirmed(100), 100), "under_billed", "ledger_changed", WRITE(110)],
    ["a correction came", facts(99, confirmed(100), 100), "over_billed", "ledger_changed", WRITE(99)],
    ["never sent yet", facts(7, NEVER, 0), "under_billed", "never_sent", WRITE(7)],
    [
      "never sent, and closed",
      facts(7, NEVER, 0, true),
      "closed_cycle_drift",
      "closed_unsent",
      { kind: "review" },
    ],
    [
      "refused until it closed",
      facts(7, attempted(NEVER, 7, "failed"), 0, true),
      "closed_cycle_drift",
      "closed_unsent",
      { kind: "review" },
    ],
    [
      "closed while its only report had no answer",
      facts(7, attempted(NEVER, 7, "unknown"), 0, true),
      "closed_cycle_drift",
      "report_failed",
      { kind: "review" },
    ],
    [
      "never sent, closed and below zero",
      facts(-7, NEVER, 0, true),
      "closed_cycle_drift",
      "ledger_changed",
      { kind: "review" },
    ],
    [
      "the last report failed",
      facts(110, attempted(confirmed(100), 110, "failed"), 100),
      "under_billed",
      "report_failed",
      WRITE(110),
    ],
    [
      "the first report failed",
      facts(5, attempted(NEVER, 5, "failed"), 0),
      "under_billed",
      "report_failed",
      WRITE(5),
    ],
    [
      "its answer was lost, and it too",
      facts(110, attempted(confirmed(100), 110, "unknown"), 100),
      "under_billed",
      "report_failed",
      WRITE(110),
    ],
    [
      "its answer was lost, it arrived, the ledger went on",
      facts(115, attempted(confirmed(100), 110, "unknown"), 110),
      "under_billed",
      "ledger_changed",
      WRITE(115),
    ],
    ["a report counted twice", facts(100, confirmed(100), 200), "over_billed", "meter_moved", WRITE(100)],
    [
      "a second writer took some away",
      facts(100, confirmed(100), 60),
      "under_billed",
      "meter_moved",
      WRITE(100),
    ],
    [
      "an older report landed late",
      facts(110, confirmed(110), 100),
      "under_billed",
      "meter_moved",
      WRITE(110),
    ],
    ["something wrote to a meter never sent", facts(0, NEVER, 4), "over_billed", "meter_moved", WRITE(0)],
    ["closed and equal", facts(100, confirmed(100), 100, true), "match", null, { kind: "none" }],
    [
      "closed and behind",
      facts(101, confirmed(100), 100, true),
      "closed_cycle_drift",
      "ledger_changed",
      { kind: "review" },
    ],
    [
      "closed and ahead",
      facts(100, confirmed(100), 101, true),
      "closed_cycle_drift",
      "meter_moved",
      { kind: "review" },
    ],
    ["not to be read", facts(100, confirmed(90), null), "unreadable", null, { kind: "none" }],
    [
      "closed and not to be read",
      facts(100, confirmed(90), null, true),
      "unreadable",
      null,
      { kind: "none" },
    ],
  ] as const)("%s", (_name, given, verdict, cause, repair) => {
    expect(decide(given)).toMatchObject({ verdict, cause, repair });
  });

  test("causes are worded as published", () => {
    expect(CAUSES).toEqual({
      ledger_changed: "The ledger changed after the last report. A late click or a correction arrived.",
      report_failed: "The last report failed.",
      never_sent: "No total of this meter was sent before: what it counts had not been reported yet.",
      closed_unsent:
        "No total of this meter arrived before its cycle or its agreement ended, and the provider takes none after that.",
      meter_moved:
        "The meter moved without a report from this app. A report was counted twice, or something else wrote to the meter.",
    });
  });

  test("whatever the meter says, what is written is the ledger's total, and only to an open meter that differs", () => {
    const random = seededRandom(5);
    const units = () => (random() < 0.2 ? Number.MAX_SAFE_INTEGER : Math.floor(random() * 4));
    for (let round = 0; round < 5_000; round++) {
      const outcome = (["failed", "unknown"] as const)[Math.floor(random() * 3)];
      const report =
        outcome === undefined
          ? confirmed(units())
          : attempted(random() < 0.5 ? NEVER : confirmed(units()), units(), outcome);
      const given = facts(units(), report, random() < 0.1 ? null : units(), random() < 0.3);
      const decision = decide(given);
      const written = decision.repair.kind === "write" ? decision.repair.totalUnits : null;
      const differs = given.provider.kind === "read" && given.provider.totalUnits !== given.ledgerUnits;
      expect(written).toBe(differs && !given.isClosed ? given.ledgerUnits : null);
      expect(decision.cause !== null).toBe(differs);
    }
  });

  test("a ledger total that is no amount is a fault", () => {
    expect(() => decide(facts(-1, NEVER, 0))).toThrow("ledgerUnits is not an amount of units: -1");
    expect(() => decide(facts(0.5, NEVER, 0))).toThrow("0.5");
  });

  test("a closed meter whose ledger came below zero is drift like any other", () => {
    const closed = { ...facts(-4, NEVER, 0), isClosed: true };
    expect(decide(closed)).toMatchObject({ verdict: "closed_cycle_drift", driftUnits: 4 });
  });
});

/** One run over one meter that can be read: what it decides, writes and keeps. */
function run(
  meter: { ledgerUnits: number; providerUnits: number; report: Report },
  kept: Evidence[],
  write: (totalUnits: number) => number = (totalUnits) => totalUnits,
) {
  const before = { ...meter };
  const decision = decide(facts(meter.ledgerUnits, meter.report, meter.providerUnits));
  let status: Evidence["status"] = "proven";
  let error: string | null = null;
  if (decision.repair.kind === "write") {
    const { totalUnits } = decision.repair;
    meter.providerUnits = write(totalUnits);
    meter.report = confirmed(totalUnits);
    const result = judgeReadBack(totalUnits, { kind: "read", totalUnits: meter.providerUnits });
    status = result.status;
    error = result.status === "error" ? result.error : null;
  }
  const evidence: Evidence = {
    ledgerUnits: before.ledgerUnits,
    counterUnits: before.ledgerUnits,
    sentUnits: before.report.confirmed?.totalUnits ?? null,
    providerUnits: before.providerUnits,
    verdict: decision.verdict,
    status,
    isAtProvider: true,
  };
  if (!isRepeat(kept.at(-1) ?? null, evidence)) kept.push(evidence);
  return { decision, status, error };
}

describe("a run", () => {
  test("S8: 8,031 of 8,457 is under-billed, written as 8,457, read back, and the next run adds no row", () => {
    const meter = { ledgerUnits: 8_457, providerUnits: 8_031, report: confirmed(8_031) };
    const kept: Evidence[] = [];
    const first = run(meter, kept);
    expect(first.decision).toEqual({
      verdict: "under_billed",
      cause: "ledger_changed",
      driftUnits: -426,
      repair: { kind: "write", totalUnits: 8_457 },
    });
    expect([first.status, meter.providerUnits]).toEqual(["repaired_and_confirmed", 8_457]);
    const second = run(meter, kept);
    expect([second.decision.verdict, second.status]).toEqual(["match", "proven"]);
    expect(kept).toHaveLength(1);
  });

  test("B43: another total read back is an error, the evidence says so, and nothing is called repaired", () => {
    const meter = { ledgerUnits: 8_457, providerUnits: 8_031, report: confirmed(8_031) };
    const kept: Evidence[] = [];
    const { status, error } = run(meter, kept, () => 8_400);
    expect([status, error]).toEqual(["error", "8457 was written and 8400 was read back"]);
    expect(kept).toMatchObject([{ verdict: "under_billed", status: "error" }]);
    expect(judgeReadBack(8_457, { kind: "unreadable", error: "timeout" })).toEqual({
      status: "error",
      readBackUnits: null,
      error: "8457 was written and could not be read back: timeout",
    });
    // The next run mends it, which is news.
    expect(run(meter, kept).status).toBe("repaired_and_confirmed");
    expect(kept).toHaveLength(2);
  });

  test("a proof is kept once, and again when there is something else to prove", () => {
    const meter = { ledgerUnits: 10, providerUnits: 10, report: confirmed(10) };
    const kept: Evidence[] = [];
    for (let i = 0; i < 5; i++) run(meter, kept);
    expect(kept).toHaveLength(1);
    Object.assign(meter, { ledgerUnits: 11, providerUnits: 11, report: confirmed(11) });
    for (let i = 0; i < 5; i++) run(meter, kept);
    expect(kept).toHaveLength(2);
  });

  test("each time the meter moves by itself again there is a row for it", () => {
    const meter = { ledgerUnits: 10, providerUnits: 10, report: confirmed(10) };
    const kept: Evidence[] = [];
    for (let i = 0; i < 3; i++) {
      meter.providerUnits = 13;
      expect(run(meter, kept).decision).toMatchObject({ verdict: "over_billed", cause: "meter_moved" });
      run(meter, kept);
    }
    expect(kept.map(({ status }) => status)).toEqual(
      Array.from({ length: 3 }, () => "repaired_and_confirmed"),
    );
  });
});

describe("the same numbers again", () => {
  const evidence = (change: Partial<Evidence> = {}): Evidence => ({
    ledgerUnits: 12,
    counterUnits: 12,
    sentUnits: 10,
    providerUnits: 10,
    verdict: "closed_cycle_drift",
    status: "needs_review",
    isAtProvider: true,
    ...change,
  });

  test("there is no first repeat", () => {
    expect(isRepeat(null, evidence())).toBe(false);
  });

  test("closed drift and an unreadable meter are kept once", () => {
    expect(isRepeat(evidence(), evidence())).toBe(true);
    const unreadable = evidence({ providerUnits: null, verdict: "unreadable", status: "unreadable" });
    expect(isRepeat(unreadable, unreadable)).toBe(true);
    expect(isRepeat(evidence(), unreadable)).toBe(false);
    expect(statusOf("unreadable", true)).toBe("unreadable");
    expect(statusOf("closed_cycle_drift", true)).toBe("needs_review");
    expect(statusOf("match", true)).toBe("proven");
  });

  test("a match with our own copy proves nothing, and is no news after that copy was written", () => {
    expect(statusOf("match", false)).toBe("kept_here");
    const repaired = evidence({
      verdict: "under_billed",
      status: "repaired_and_confirmed",
      isAtProvider: false,
    });
    const agrees = { ...repaired, sentUnits: 12, providerUnits: 12, verdict: "match" } as const;
    expect(isRepeat(repaired, { ...agrees, status: "kept_here" })).toBe(true);
    expect(isRepeat(repaired, { ...agrees, status: "proven" })).toBe(false);
  });

  test("a failed repair that fails alike is kept once, one that works is news", () => {
    const failed = evidence({ verdict: "under_billed", status: "error" });
    expect(isRepeat(failed, failed)).toBe(true);
    expect(isRepeat(failed, { ...failed, status: "repaired_and_confirmed" })).toBe(false);
  });

  test.each([
    { ledgerUnits: 13, counterUnits: 13 },
    { counterUnits: 11 },
    { sentUnits: 11 },
    { sentUnits: null },
    { providerUnits: 11 },
    { providerUnits: null },
  ])("another number is news: %j", (change) => {
    expect(isRepeat(evidence(), evidence(change))).toBe(false);
  });

  test("a counter that was found wrong and rebuilt is right the next time", () => {
    const rebuilt = evidence({
      counterUnits: 11,
      verdict: "match",
      status: "proven",
      sentUnits: 12,
      providerUnits: 12,
    });
    expect(isRepeat(rebuilt, { ...rebuilt, counterUnits: 12 })).toBe(true);
    expect(isRepeat(rebuilt, rebuilt)).toBe(false);
  });
});
