import { expect, test } from "vitest";
import { consequenceOf } from "../../app/ops/reviews/words.ts";
import { decideLateUsage, type LateDecision } from "../../lib/ledger/late-usage.ts";

const closed = { accountId: "account-1", agreementId: "agreement-1", feature: "tokens", cycle: "2026-10" };
const current = { ...closed, cycle: "2026-11" };

test.each(
  (["carry_over", "write_off", "accept"] as const).flatMap((decision) =>
    [5, 10, 25].map((ledgerUnits) => [decision, ledgerUnits, 10] as const),
  ),
)("%s of %i where %i were billed: what cannot be done is said before it is asked for", (...asked) => {
  const [decision, ledgerUnits, billedUnits]: readonly [LateDecision, number, number] = asked;
  const late = {
    ledgerUnits,
    sentUnits: billedUnits,
    maybeSentUnits: null,
    lateUnits: ledgerUnits - billedUnits,
  };
  const outcome = decideLateUsage(
    { reviewId: "review-1", meter: closed, closedAtMs: 1_000, late, decision: null },
    { decision, billedUnits },
    { ledgerUnits, current: { meter: current, ledgerUnits: 100 }, nowMs: 2_000 },
  );
  const text = consequenceOf(decision, ledgerUnits, billedUnits);
  expect(text.startsWith("Cannot be chosen")).toBe(outcome.kind === "refused");
});
