import { expect, test } from "vitest";
import { countOf, formatInstant, formatInstantSeconds } from "../../app/components/format.ts";

test("one is not many", () => {
  expect(countOf(1, "meter")).toBe("1 meter");
  expect(countOf(0, "meter")).toBe("0 meters");
  expect(countOf(1_200, "batch", "batches")).toBe("1,200 batches");
});

test("two instants of one minute are told apart by their seconds", () => {
  const [first, second] = [Date.UTC(2026, 11, 3, 12, 0, 5), Date.UTC(2026, 11, 3, 12, 0, 48)];
  expect(formatInstant(first)).toBe(formatInstant(second));
  expect(formatInstantSeconds(first)).toContain(":05");
  expect(formatInstantSeconds(second)).toContain(":48");
});
