import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchNpmParent } from "../../scripts/support/npm-parent.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How often the end of the parent was told, for a process whose parent changes from `before` to `after`. */
function told(script: string | undefined, before: number, after: number): number {
  let parentPid = before;
  let times = 0;
  watchNpmParent({ script, parentPid: () => parentPid }, () => times++);
  vi.advanceTimersByTime(10_000);
  parentPid = after;
  vi.advanceTimersByTime(10_000);
  return times;
}

test.each([
  { name: "npm start whose shell has ended", script: "start", before: 70, after: 1, times: 1 },
  { name: "npm run dev, adopted by another than init", script: "dev", before: 70, after: 60, times: 1 },
  { name: "a parent that stays", script: "start", before: 70, after: 70, times: 0 },
  { name: "no npm: under nohup, setsid or a service", script: undefined, before: 70, after: 1, times: 0 },
  { name: "no parent from the start", script: "start", before: 1, after: 60, times: 0 },
  { name: "a script that puts it in the background", script: "boot", before: 70, after: 1, times: 0 },
])("$name: told $times times", ({ script, before, after, times }) => {
  expect(told(script, before, after)).toBe(times);
});

test("nobody is told after the looking has ended", () => {
  let parentPid = 70;
  const onGone = vi.fn<() => void>();
  watchNpmParent({ script: "start", parentPid: () => parentPid }, onGone)();
  parentPid = 1;
  vi.advanceTimersByTime(10_000);
  expect(onGone).not.toHaveBeenCalled();
});
