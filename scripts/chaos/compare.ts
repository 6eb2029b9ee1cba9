// The whole comparison: what was answered against what is there. Pure, so that tests can plant a loss and a doubling.
import { compareJobs } from "./compare-jobs.ts";
import { type Finding, Findings } from "./findings.ts";
import type { Journal } from "./journal.ts";
import type { Remains } from "./rows.ts";

/** Finds what is lost, doubled or otherwise wrong. Nothing found is what a run is to end with. */
export function compare(journal: Journal, remains: Remains): readonly Finding[] {
  const findings = new Findings();
  for (const text of journal.strange) findings.wrong("answer", text.split(":")[0] ?? "", text);
  compareJobs(journal.jobs, remains, findings);
  return findings.all;
}
