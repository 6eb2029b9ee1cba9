import { describe, expect, test } from "vitest";

import { learnSpans } from "../../lib/ledger/learn-agreements.ts";

const listed = (agreementId: string, untilMs: number | null = null) => ({
  agreementId,
  planKey: "pro",
  untilMs,
});
const known = (agreementId: string, fromMs: number, untilMs: number | null = null) => ({
  agreementId,
  fromMs,
  untilMs,
});
const SENT_MS = 1_000;

describe("what a read of agreements adds", () => {
  test("the first one starts with the account", () => {
    expect(learnSpans([], [listed("a")], SENT_MS)).toMatchObject({
      spans: [{ agreementId: "a", fromMs: 0, untilMs: null }],
      changedFromMs: 0,
    });
  });

  test("several at first start one behind the other, whatever the order of the list", () => {
    const list = [listed("c"), listed("a", 300), listed("b", 700)];
    expect(learnSpans([], list, SENT_MS).spans).toMatchObject([
      { agreementId: "a", fromMs: 0, untilMs: 300 },
      { agreementId: "b", fromMs: 300, untilMs: 700 },
      { agreementId: "c", fromMs: 700, untilMs: null },
    ]);
  });

  test("a new one starts where the one it replaces has ended", () => {
    expect(learnSpans([known("a", 0)], [listed("b"), listed("a", 600)], SENT_MS)).toMatchObject({
      spans: [
        { agreementId: "a", fromMs: 0, untilMs: 600 },
        { agreementId: "b", fromMs: 600 },
      ],
      changedFromMs: 600,
    });
  });

  test("where the old one is not listed any more both are settled by the time of the read", () => {
    expect(learnSpans([known("a", 0)], [listed("b")], SENT_MS)).toMatchObject({
      spans: [
        { agreementId: "a", untilMs: SENT_MS },
        { agreementId: "b", fromMs: SENT_MS },
      ],
      changedFromMs: SENT_MS,
    });
  });

  test("the same list again changes nothing", () => {
    const rows = [known("a", 0, 600), known("b", 600)];
    expect(learnSpans(rows, [listed("b"), listed("a", 600)], SENT_MS)).toEqual({
      spans: [],
      changedFromMs: null,
    });
    expect(learnSpans(rows, [listed("b")], SENT_MS)).toEqual({ spans: [], changedFromMs: null });
  });

  test("an end that is taken back changes what lies behind it", () => {
    expect(learnSpans([known("a", 0, 600)], [listed("a")], SENT_MS)).toMatchObject({
      spans: [{ agreementId: "a", untilMs: null }],
      changedFromMs: 600,
    });
  });
});
