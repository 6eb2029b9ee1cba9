import { expect, test } from "vitest";
import {
  decideRefusalRow,
  type NewestRefusal,
  REFUSALS_PER_MINUTE_MAX,
} from "../../lib/gate/refusal-rows.ts";

const MINUTE_MS = 60_000;
const AT_MS = 1_000 * MINUTE_MS;
const own = (ordinal: number, atMs = AT_MS): NewestRefusal => ({ atMs, ordinal, times: 1 });

test.each<[name: string, newest: NewestRefusal | null, nowMs: number, expected: object]>([
  ["the first of an account", null, AT_MS, { kind: "own", ordinal: 1 }],
  ["the second of a minute", own(1), AT_MS + MINUTE_MS - 1, { kind: "own", ordinal: 2 }],
  ["the first of the next minute", own(5), AT_MS + MINUTE_MS, { kind: "own", ordinal: 1 }],
  [
    "the first past the rows of a minute",
    own(REFUSALS_PER_MINUTE_MAX),
    AT_MS,
    { kind: "own", ordinal: REFUSALS_PER_MINUTE_MAX + 1 },
  ],
  ["the second past them", own(REFUSALS_PER_MINUTE_MAX + 1), AT_MS, { kind: "gathered", times: 2 }],
  ["a clock that was set back", own(REFUSALS_PER_MINUTE_MAX + 1), AT_MS - 1, { kind: "own", ordinal: 1 }],
])("%s", (_name, newest, nowMs, expected) => {
  expect(decideRefusalRow(newest, nowMs)).toEqual(expected);
});

test("however many come in a minute, the rows are bounded and stand for all of them", () => {
  const rows: NewestRefusal[] = [];
  for (let index = 0; index < 1_234; index += 1) {
    const nowMs = AT_MS + index;
    const row = decideRefusalRow(rows.at(-1) ?? null, nowMs);
    if (row.kind === "own") rows.push({ atMs: nowMs, ordinal: row.ordinal, times: 1 });
    else rows[rows.length - 1] = { ...rows.at(-1)!, atMs: nowMs, times: row.times };
  }
  expect(rows).toHaveLength(REFUSALS_PER_MINUTE_MAX + 1);
  expect(rows.reduce((sum, { times }) => sum + times, 0)).toBe(1_234);
});
