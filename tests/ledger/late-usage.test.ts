import { describe, expect, test } from "vitest";
import { decideLateUsage, type LateRequest, type LateReview } from "../../lib/ledger/late-usage.ts";
import type { Meter } from "../../lib/ledger/meter.ts";
import { decide } from "../../lib/ledger/reconcile.ts";
import { seededRandom } from "../helpers/random-values.ts";

const CLOSED = Date.parse("2026-11-20T15:29:00Z");
const NOW = CLOSED + 3_600_000;
const meter = (cycle: string): Meter => ({ accountId: "acc", agreementId: "agr", feature: "clicks", cycle });

const review = (
  late: Partial<LateReview["late"]> = {},
  decision: LateReview["decision"] = null,
): LateReview => ({
  reviewId: "r1",
  meter: meter("2026-10"),
  closedAtMs: CLOSED,
  late: { ledgerUnits: 105, sentUnits: 100, lateUnits: 5, maybeSentUnits: null, ...late },
  decision,
});
const now = (ledgerUnits = 105, currentUnits = 20) => ({
  ledgerUnits,
  current: { meter: meter("2026-11"), ledgerUnits: currentUnits },
  nowMs: NOW,
});
const ask = (decision: LateRequest["decision"], billedUnits = 100): LateRequest => ({
  decision,
  billedUnits,
});

describe("B41: late usage", () => {
  test("is carried over: less in its cycle, as much more in the current one, linked", () => {
    expect(decideLateUsage(review(), ask("carry_over"), now())).toEqual({
      kind: "decided",
      lateUnits: 5,
      entries: [
        {
          key: "late:r1:out",
          meter: meter("2026-10"),
          units: -5,
          atMs: CLOSED - 1,
          reviewId: "r1",
          reason: "carry_over",
        },
        {
          key: "late:r1:in",
          meter: meter("2026-11"),
          units: 5,
          atMs: NOW,
          reviewId: "r1",
          reason: "carry_over",
        },
      ],
    });
  });

  test("is written off: less in its cycle and nowhere else", () => {
    const outcome = decideLateUsage(review(), ask("write_off"), now());
    expect(outcome).toMatchObject({ kind: "decided", entries: [{ units: -5, meter: meter("2026-10") }] });
    expect(outcome.kind === "decided" && outcome.entries).toHaveLength(1);
  });

  test("is accepted: nothing is booked", () => {
    expect(decideLateUsage(review(), ask("accept"), now())).toEqual({
      kind: "decided",
      lateUnits: 5,
      entries: [],
    });
  });

  test("corrections that came late are given back in the current cycle", () => {
    const late = review({ ledgerUnits: 97, lateUnits: -3 });
    expect(decideLateUsage(late, ask("carry_over"), now(97))).toMatchObject({
      entries: [
        { units: 3, meter: meter("2026-10") },
        { units: -3, meter: meter("2026-11") },
      ],
    });
  });
});

test("what usage that has left after it was settled took along is given back where it was carried to", () => {
  const owed = review({ ledgerUnits: -4, sentUnits: 0, lateUnits: -4 });
  expect(decideLateUsage(owed, ask("carry_over", 0), now(-4))).toMatchObject({
    entries: [
      { units: 4, meter: meter("2026-10") },
      { units: -4, meter: meter("2026-11") },
    ],
  });
});

test("late usage is carried over to a meter below zero, which it brings nearer to what it is sent", () => {
  const outcome = decideLateUsage(review(), ask("carry_over"), now(105, -20));
  expect(outcome).toMatchObject({ kind: "decided", lateUnits: 5 });
});

describe("what cannot be decided so", () => {
  test.each([
    ["decided the same before", review({}, "write_off"), ask("write_off"), now(), "already_decided"],
    ["decided otherwise before", review({}, "accept"), ask("write_off"), now(), "decided_otherwise"],
    ["the ledger moved since it was shown", review(), ask("carry_over"), now(106), "numbers_changed"],
    ["billed as a number nobody sent", review(), ask("carry_over", 99), now(), "billed_unknown"],
    ["nothing missing after all", review({ maybeSentUnits: 105 }), ask("carry_over", 105), now(), "not_late"],
    [
      "more given back than is there",
      review({ ledgerUnits: 97 }),
      ask("carry_over"),
      now(97, 2),
      "too_much_back",
    ],
    [
      "what was billed too much, forgotten",
      review({ ledgerUnits: 97 }),
      ask("write_off"),
      now(97),
      "too_much_back",
    ],
  ] as const)("%s", (_name, given, request, at, code) => {
    const outcome = decideLateUsage(given, request, at);
    expect(outcome.kind === "refused" ? outcome.code : outcome.kind).toBe(code);
  });

  test("a total that may have arrived is taken as the person says", () => {
    const unsure = review({ maybeSentUnits: 103 });
    expect(decideLateUsage(unsure, ask("carry_over", 103), now())).toMatchObject({ lateUnits: 2 });
    expect(decideLateUsage(unsure, ask("carry_over", 100), now())).toMatchObject({ lateUnits: 5 });
  });

  test("its own meter, or another feature, is a fault", () => {
    const own = { ...now(), current: { meter: meter("2026-10"), ledgerUnits: 105 } };
    expect(() => decideLateUsage(review(), ask("carry_over"), own)).toThrow("carried over to its own meter");
    const other = {
      ...now(),
      current: { meter: { ...meter("2026-11"), feature: "tokens" }, ledgerUnits: 1 },
    };
    expect(() => decideLateUsage(review(), ask("carry_over"), other)).toThrow(
      "carried over to another feature",
    );
  });
});

test("after carrying over or writing off, the closed meter matches what was sent and no unit is made", () => {
  const random = seededRandom(41);
  const below = (limit: number) => Math.floor(random() * limit);
  let decided = 0;
  for (let round = 0; round < 2_000; round++) {
    const [ledgerUnits, sentUnits, currentUnits] = [below(20), below(20), below(20)];
    const given = review({ ledgerUnits, sentUnits, lateUnits: ledgerUnits - sentUnits });
    const decision = (["carry_over", "write_off"] as const)[below(2)]!;
    const outcome = decideLateUsage(given, ask(decision, sentUnits), now(ledgerUnits, currentUnits));
    if (outcome.kind !== "decided") continue;
    decided++;
    const sumIn = (cycle: string) =>
      outcome.entries
        .filter((entry) => entry.meter.cycle === cycle)
        .reduce((sum, { units }) => sum + units, 0);
    const report = {
      confirmed: { totalUnits: sentUnits, atMs: 1 },
      lastTotalUnits: sentUnits,
      lastOutcome: "confirmed",
    } as const;
    const closedUnits = ledgerUnits + sumIn("2026-10");
    const provider = { kind: "read", totalUnits: sentUnits } as const;
    const facts = { ledgerUnits: closedUnits, counterUnits: closedUnits, report, provider, isClosed: true };
    expect(decide(facts).verdict).toBe("match");
    const change = sumIn("2026-10") + sumIn("2026-11");
    expect(change).toBe(decision === "write_off" ? sentUnits - ledgerUnits : 0);
    expect(currentUnits + sumIn("2026-11")).toBeGreaterThanOrEqual(0);
  }
  expect(decided).toBeGreaterThan(800);
});
