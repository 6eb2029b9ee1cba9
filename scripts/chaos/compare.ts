// The whole comparison: what was answered against what is there. Pure, so that tests can plant a loss and a doubling.
import { compareClicks } from "./compare-clicks.ts";
import { compareEvents } from "./compare-events.ts";
import { compareJobs } from "./compare-jobs.ts";
import { compareLedger } from "./compare-ledger.ts";
import { type Finding, Findings } from "./findings.ts";
import type { Journal } from "./journal.ts";
import type { Remains } from "./rows.ts";
import type { LastWords } from "./settle.ts";

/** Finds what is lost, doubled or otherwise wrong. Nothing found is what a run is to end with. */
export function compare(journal: Journal, remains: Remains, lastWords: LastWords): readonly Finding[] {
  const findings = new Findings();
  for (const text of journal.strange) findings.wrong("answer", text.split(":")[0] ?? "", text);
  compareJobs(journal.jobs, remains, findings);
  compareClicks(journal.clicks, remains, findings);
  compareEvents(journal.events, journal.plans, remains, findings);
  compareLedger(remains, findings);
  if (lastWords.waiting !== null) findings.wrong("rest", "in the end", `${lastWords.waiting} still wait`);
  for (const meter of lastWords.unproven) findings.wrong("reconciliation", "in the end", meter);
  if (lastWords.budgetsRepaired > 0) {
    findings.wrong("audit", "in the end", `${lastWords.budgetsRepaired} budgets were repaired`);
  }
  for (const name of remains.spoolFiles) {
    // A write that a kill cut short is set aside; its click was not answered.
    if (!name.endsWith(".damaged")) findings.wrong("spool", name, "a file of clicks is left");
  }
  for (const { _id: id, kind, detail, status } of remains.rows("reviews")) {
    if (status === "open") findings.wrong("review", id, `${String(kind)}: ${String(detail)}`);
  }
  return findings.all;
}
