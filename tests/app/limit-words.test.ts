import { describe, expect, test } from "vitest";

import { limitWords, newLimitWords, spentWords } from "../../app/app/limit-words.ts";
import { viewJob } from "../../lib/gate/job-view.ts";
import { makeJob } from "../gate/fixtures.ts";

const CYCLE = { name: "2026-10", startMs: 0, endMs: 1 };

interface Case {
  readonly used: number;
  readonly held: number;
  readonly limit?: number | null;
  readonly jobs?: number;
  readonly cycle?: string;
}

function words({ used, held, limit = 100_000, jobs = held > 0 ? 1 : 0, cycle = CYCLE.name }: Case) {
  const usage = {
    cycle: CYCLE,
    usedUnits: used,
    heldUnits: held,
    limit: { limitUnits: limit, provider: "kinde" as const, readAtMs: 0, stale: false },
    running: Array.from({ length: jobs }, (_none, index) => viewJob(String(index), makeJob({ cycle }))),
  };
  return limitWords(usage, () => "RESET");
}

const NEARLY_FULL = "90% of the limit is used, and the rest is held (100%)";
const FULL_OF_HOLDS = "All of the limit is used or held (100%)";
const USED_UP = "The limit is used up (100%)";

describe("the words at the limit", () => {
  test.each<[string, Case, string | null, boolean]>([
    ["below 80% say nothing", { used: 79_999, held: 0 }, null, false],
    ["with holds and room left, too", { used: 10_000, held: 89_999 }, null, false],
    ["at 80%", { used: 80_000, held: 0 }, "80% of the limit is used", true],
    ["just below the end round down", { used: 99_999, held: 0 }, "99% of the limit is used", true],
    ["at 80% with a hold and room left", { used: 80_000, held: 19_999 }, "80% of the limit is used", true],
    ["full of holds alone", { used: 0, held: 100_000 }, FULL_OF_HOLDS, false],
    ["mostly holds", { used: 79_999, held: 20_001 }, FULL_OF_HOLDS, false],
    ["nearly used up, the rest in small holds", { used: 90_000, held: 10_000 }, NEARLY_FULL, true],
    ["used up", { used: 100_000, held: 0 }, USED_UP, true],
    ["used up and still held, after a smaller plan", { used: 100_000, held: 500 }, USED_UP, true],
    ["over a limit that was lowered", { used: 450_000, held: 0 }, "The limit is used up (450%)", true],
    ["holds over a limit that was lowered", { used: 10_000, held: 150_000 }, FULL_OF_HOLDS, false],
    ["a plan without any", { used: 0, held: 0, limit: 0 }, "The plan has no tokens", true],
    ["without a limit say nothing", { used: 1_000_000, held: 5, limit: null }, null, false],
  ])("%s", (_name, given, title, offersPlans) => {
    const said = words(given);
    expect(said?.title ?? null).toBe(title);
    expect(said?.offersPlans ?? false).toBe(offersPlans);
  });

  test("tell how much can come back at most", () => {
    expect(words({ used: 90_000, held: 10_000 })?.next).toBe(
      "At most 10,000 come back from what is held. For more, wait for the reset on RESET or choose a larger plan.",
    );
    expect(words({ used: 10_000, held: 150_000 })?.next).toContain("at most 90,000 in all");
  });

  test("count the jobs that hold in this cycle, and no more than were counted", () => {
    const full = { used: 0, held: 100_000 };
    expect(words({ ...full, jobs: 1 })?.detail).toContain("1 running job of yours holds the rest.");
    expect(words({ ...full, jobs: 99 })?.detail).toContain("99 running jobs of yours hold");
    expect(words({ ...full, jobs: 100 })?.detail).toContain("100 or more running jobs of yours hold");
    expect(words({ ...full, jobs: 3, cycle: "2026-09" })?.detail).toContain(" Running jobs of yours hold");
  });
});

describe("what running jobs have spent of what they hold", () => {
  const jobOf = (usedUnits: number, cycle = CYCLE.name) => viewJob("j", makeJob({ usedUnits, cycle }));

  test("is the sum over the jobs of this cycle", () => {
    const running = [jobOf(300), jobOf(1_200), jobOf(50, "2026-09")];
    expect(spentWords({ running, cycle: CYCLE })).toBe("of which 1,500 spent so far");
    expect(spentWords({ running: [], cycle: CYCLE })).toBe("of which 0 spent so far");
  });

  test("is at least so much where not every job is named", () => {
    const running = Array.from({ length: 100 }, () => jobOf(10));
    expect(spentWords({ running, cycle: CYCLE })).toBe("of which at least 1,000 spent so far");
  });
});

test.each([
  ["a number", 100_000, "Your limit is 100,000 tokens a cycle, at once."],
  ["none", null, "It has no limit of tokens."],
])("a new plan says its limit: %s", (_name, limitUnits, words) => {
  expect(newLimitWords({ limitUnits, provider: "kinde", readAtMs: 0, stale: false })).toContain(words);
  expect(newLimitWords({ limitUnits, provider: "fixed", readAtMs: 0, stale: false })).toContain(
    "stays as it was",
  );
  expect(newLimitWords(null)).toContain("not known yet");
});
