import { expect, test } from "vitest";

import { whyNotDone } from "../../app/app/jobs/act-words.ts";
import { viewJob } from "../../lib/gate/job-view.ts";
import { makeJob } from "../gate/fixtures.ts";

const job = (fields: Parameters<typeof makeJob>[0]) => viewJob("j", makeJob(fields));

test.each([
  ["a job that is gone", { kind: "not_found" } as const, "The job is not there any more."],
  [
    "a lease that ended",
    { kind: "lease_lost", job: job({ status: "expired" }) } as const,
    "Its lease had ended without a sign of life; the hold has come back.",
  ],
  [
    "a job that another worker has",
    { kind: "lease_lost", job: job({ fence: 3 }) } as const,
    "Another worker has taken the job over (fence 3).",
  ],
  [
    "a job that ended otherwise",
    { kind: "not_running", job: job({ status: "capped" }) } as const,
    "The job had ended: capped.",
  ],
  [
    "a job without a worker here",
    { kind: "not_running", job: job({}) } as const,
    "No worker here runs this job.",
  ],
])("%s is told as what it is", (_name, answer, words) => {
  expect(whyNotDone(answer)).toBe(words);
});
