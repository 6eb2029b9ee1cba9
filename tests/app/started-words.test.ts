import { expect, test } from "vitest";
import { startedTitle, startedWords } from "../../app/app/jobs/started-words.ts";
import { viewJob } from "../../lib/gate/job-view.ts";
import { makeJob } from "../gate/fixtures.ts";

const running = viewJob("r", makeJob({ heldUnits: 3_000, usedUnits: 200 }));
const ended = viewJob(
  "e",
  makeJob({ heldUnits: 3_000, usedUnits: 1_000, status: "completed", endedAtMs: 1 }),
);

test.each([
  [[running], "3,000 tokens are held for it."],
  [[running, running], "6,000 tokens are held for them."],
  [[running, ended], "1 of 2 still runs: 3,000 tokens are held for it."],
  [[running, ended, running], "2 of 3 still run: 6,000 tokens are held for them."],
  [[ended], "It has ended: 1,000 tokens used, 2,000 came back, nothing is held any more."],
  [[ended, ended], "All of them have ended: 2,000 tokens used, 4,000 came back, nothing is held any more."],
])("what is held is said of the jobs as they are now (%#)", (jobs, words) => {
  expect(startedWords(jobs)).toBe(words);
});

test.each([
  [[running], 1, "Started"],
  [[ended], 1, "Ended"],
  [[running, ended], 5, "2 of 5 started"],
  [[ended, ended], 5, "2 of 5 started, all have ended"],
])("the title says whether they still run (%#)", (jobs, asked, title) => {
  expect(startedTitle(jobs, asked)).toBe(title);
});
