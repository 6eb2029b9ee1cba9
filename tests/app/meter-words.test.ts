import { expect, test } from "vitest";
import { agreementMark } from "../../app/ops/reconciliation/words.ts";

const meter = (agreementId: string | null, cycle = "2026-12", feature = "clicks") => ({
  feature,
  cycle,
  agreementId,
});

test("the only meter of its feature and cycle needs no mark", () => {
  const own = meter("agreement_0001abcdef");
  const others = [meter("agreement_0002", "2026-11"), meter("agreement_0003", "2026-12", "tokens")];
  expect(agreementMark(own, [own, ...others])).toBeNull();
});

test("after a change of the plan the two are told apart by their agreements", () => {
  const both = [meter("agreement_0001abcdef"), meter("agreement_0002fedcba"), meter(null)];
  expect(both.map((one) => agreementMark(one, both))).toEqual([
    "agreement …abcdef",
    "agreement …fedcba",
    "no agreement",
  ]);
});
