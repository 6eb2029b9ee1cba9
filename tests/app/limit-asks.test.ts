import { expect, test } from "vitest";
import { LimitAsks } from "../../app/app/limit-asks.ts";

test("a page asks for the limit of an account once a minute at most, each account for itself", () => {
  const asks = new LimitAsks();
  const answers = (times: readonly number[], accountId = "ada") =>
    times.map((nowMs) => asks.take(accountId, nowMs));
  expect(answers([0, 1, 30_000, 59_999])).toEqual([true, false, false, false]);
  expect(answers([30_000], "bob")).toEqual([true]);
  expect(answers([60_000, 119_999, 120_000])).toEqual([true, false, true]);
});
