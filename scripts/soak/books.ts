// The books of a stack at rest, read off its copies: ledger, counters, what was sent and what the provider has.
import type { Copies } from "./rows.ts";
import type { Answered } from "./load.ts";

export interface MeterBooks {
  readonly name: string;
  readonly ledger: number;
  readonly counters: number;
  readonly sent: number;
  readonly meter: number;
  readonly isReviewed: boolean;
}

export interface Books {
  readonly meters: readonly MeterBooks[];
  readonly jobs: number;
  readonly clicks: number;
  readonly reminders: number;
  readonly held: number;
  readonly running: number;
  readonly marks: number;
  /** What a person was told, in its words. */
  readonly reviews: readonly string[];
}

interface Meter {
  readonly _id: string;
  readonly agreementId: string | null;
  readonly feature: string;
  readonly cycle: string;
  readonly cycleStartMs: number;
}

export function readBooks(copies: Copies): Books {
  const { engine, tables } = copies;
  const rows = <Row>(table: string): Row[] => {
    const tree = tables.get(table);
    if (tree === undefined) return [];
    return (engine.prepare(`SELECT value FROM ${tree}`).pluck().all() as string[]).map(
      (text) => JSON.parse(text) as Row,
    );
  };
  const entries = sumBy(rows<{ meterId: string; units: number }>("entries"));
  const counters = sumBy(rows<{ meterId: string; units: number }>("shards"));
  const sent = new Map(
    rows<{ meterId: string; state: { confirmed: { totalUnits: number } | null } }>("reports").map(
      ({ meterId, state }) => [meterId, state.confirmed?.totalUnits ?? 0],
    ),
  );
  const fixed = new Map(
    rows<{ meterId: string; totalUnits: number }>("fixedTotals").map((row) => [row.meterId, row.totalUnits]),
  );
  const reviews = rows<{ kind: string; subject: string; detail: string }>("reviews");
  const reviewed = new Set(reviews.map(({ subject }) => subject));
  // What is counted under no agreement is the labs', and is sent nowhere.
  const sentOn = rows<Meter>("meters").filter(({ agreementId }) => agreementId !== null);
  const meters = sentOn.map((meter) => ({
    name: `${meter.feature} ${meter.cycle} ${meter.agreementId}`,
    ledger: entries.get(meter._id) ?? 0,
    counters: counters.get(meter._id) ?? 0,
    sent: sent.get(meter._id) ?? 0,
    meter: fixed.get(meter._id) ?? providerTotal(copies, meter),
    isReviewed: reviewed.has(meter._id),
  }));
  const jobs = rows<{ kind: string; status: string }>("jobs");
  return {
    meters,
    jobs: jobs.filter(({ kind }) => kind === "soak").length,
    clicks: rows<{ origin: { kind: string } }>("entries").filter(({ origin }) => origin.kind === "click")
      .length,
    reminders: rows("reminders").length,
    held: rows<{ heldUnits: number }>("budgets").reduce((sum, { heldUnits }) => sum + heldUnits, 0),
    running: jobs.filter(({ status }) => status === "running").length,
    marks: rows("marks").length,
    reviews: reviews.map(({ kind, detail }) => `${kind}: ${detail}`),
  };
}

/** What is not as it has to be; empty for good books. */
export function faultsOf(books: Books, answered: Answered): string[] {
  const faults: string[] = [];
  const equal = (what: string, found: number, wanted: number) => {
    if (found !== wanted) faults.push(`${what}: ${found}, not ${wanted}`);
  };
  equal("jobs that were started", books.jobs, answered.jobs);
  equal("clicks that were redirected", books.clicks, answered.clicks);
  equal("reminders that were written", books.reminders, answered.reminders);
  equal("units held at rest", books.held, 0);
  equal("jobs running at rest", books.running, 0);
  equal("meters marked at rest", books.marks, 0);
  for (const { name, ledger, counters, sent, meter, isReviewed } of books.meters) {
    if (counters !== ledger) faults.push(`${name}: counters ${counters}, ledger ${ledger}`);
    if (!isReviewed && (sent !== ledger || meter !== ledger))
      faults.push(`${name}: ledger ${ledger}, sent ${sent}, meter ${meter}`);
  }
  return faults;
}

/** The newest total that a write left in the cycle. */
function providerTotal({ emulator }: Copies, { agreementId, feature, cycleStartMs }: Meter): number {
  const total = emulator
    .prepare(
      `SELECT total_after FROM meter_records WHERE agreement_id = ? AND feature_key = ? AND cycle_start_ms = ?
         AND total_after IS NOT NULL ORDER BY seq DESC LIMIT 1`,
    )
    .pluck()
    .get(agreementId, feature, cycleStartMs) as number | undefined;
  return total ?? 0;
}

function sumBy(rows: readonly { readonly meterId: string; readonly units: number }[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { meterId, units } of rows) sums.set(meterId, (sums.get(meterId) ?? 0) + units);
  return sums;
}
