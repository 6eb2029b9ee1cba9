import { expect, test } from "vitest";

import { lookAgainAtMs } from "../../app/components/look-again.ts";

const END_MS = 1_000_000;

test.each([
  [-1, null],
  [0, 0],
  [999, 0],
  [1_000, 1_000],
  [2_999, 1_000],
  [3_000, 3_000],
  [7_000, 7_000],
  [14_999, 7_000],
])("%i ms after the end of a cycle it was to be asked again at %s", (elapsedMs, afterMs) => {
  expect(lookAgainAtMs(END_MS, END_MS + elapsedMs)).toBe(afterMs === null ? null : END_MS + afterMs);
});

test("with a clock that is a day ahead of the server's it is asked few times", () => {
  const asked = new Set<number | null>();
  for (let second = 0; second < 86_400; second += 1)
    asked.add(lookAgainAtMs(END_MS, END_MS + second * 1_000));
  expect(asked.size).toBe(17);
});
