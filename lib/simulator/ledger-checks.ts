import type { ReportState } from "../ledger/report-state.ts";
import { mayGo } from "./kept.ts";
import type { Change, Mirror, Row } from "./mirror.ts";
import { named, Sums, Unique } from "./sums.ts";
import { check } from "./violation.ts";

interface EntryRow extends Row {
  readonly meterId: string;
  readonly shard: number;
  readonly units: number;
  readonly origin: { readonly kind: string; readonly linkId?: string };
}

const shardName = named("meterId", "shard");

/** What the checks may ask the provider. Null for a meter that is not there. */
export interface OutsideMeters {
  /** Whether a read of the meter was ever answered with that total. */
  hasTold(agreementId: string, feature: string, units: number): boolean | null;
  /** Whether it ever stood at that total. */
  hasHad(agreementId: string, feature: string, units: number): boolean | null;
}

/** Rows of these tables are written once. */
const APPEND_ONLY = new Set(["entries", "receipts", "credits", "driftEvidence", "audit"]);

/** What is never true of entries, counters and what is said about the meter outside (design §5, §11). */
export class LedgerChecks {
  private readonly counted = new Sums();
  private readonly clicks = new Sums();
  private readonly shards = new Unique("shards", shardName);
  private readonly totals = new Sums();
  private readonly unique = [
    new Unique("entries", named("key")),
    new Unique("meters", named("accountId", "agreementId", "feature", "cycle")),
    new Unique("marks", named("meterId")),
    new Unique("reports", named("meterId")),
    new Unique("linkTotals", named("linkId", "shard")),
    this.shards,
  ];

  constructor(
    private readonly mirror: Mirror,
    private readonly outside: OutsideMeters,
    private readonly nowMs: () => number,
  ) {}

  apply(changes: readonly Change[], isCommit: boolean): void {
    const shards = new Set<string>();
    const links = new Set<string>();
    // What a person says was billed counts as confirmed, whatever the meter shows.
    const isDecided = changes.some(({ table }) => table === "reviews");
    for (const change of changes) {
      const { table, before, after } = change;
      if (isCommit && before !== null && APPEND_ONLY.has(table)) {
        check(
          after === null && mayGo(table, before, this.nowMs()),
          `a row of ${table} is never changed`,
          () => `${JSON.stringify(before)} -> ${JSON.stringify(after)}`,
        );
      }
      for (const unique of this.unique) unique.apply(change);
      if (table === "entries") this.entry(after as EntryRow, shards, links);
      else if (table === "shards") shards.add(shardName((after ?? before)!));
      else if (table === "linkTotals") this.linkTotal(change, links);
      else if (table === "reports" && isCommit && !isDecided) this.report(change);
      else if (table === "evidence" && after !== null) this.evidence(after);
    }
    for (const name of shards) this.counter(name);
    for (const link of links) {
      check(
        this.totals.of(link) === this.clicks.of(link),
        "a link's total is the sum of its clicks",
        () => `${link}: ${this.totals.of(link)}, its clicks come to ${this.clicks.of(link)}`,
      );
    }
  }

  private entry(entry: EntryRow, shards: Set<string>, links: Set<string>): void {
    const name = shardName(entry);
    this.counted.add(name, entry.units);
    shards.add(name);
    const { kind, linkId } = entry.origin;
    if (kind !== "click" || linkId === undefined) return;
    this.clicks.add(linkId, entry.units);
    links.add(linkId);
  }

  private linkTotal({ before, after }: Change, links: Set<string>): void {
    for (const [row, sign] of [[before, -1] as const, [after, 1] as const]) {
      if (row === null) continue;
      this.totals.add(row["linkId"] as string, sign * (row["billedUnits"] as number));
      links.add(row["linkId"] as string);
    }
  }

  private counter(name: string): void {
    const row = this.mirror.rows("shards").get(this.shards.idOf(name) ?? "");
    const units = (row?.["units"] ?? 0) as number;
    check(
      units === this.counted.of(name),
      "a counter is the sum of its entries",
      () => `${name} says ${units}, its entries come to ${this.counted.of(name)}`,
    );
  }

  private report({ before, after }: Change): void {
    const [was, is] = [before, after].map(
      (row) => (row?.["state"] as ReportState | undefined)?.confirmed ?? null,
    );
    if (is === null || is === undefined || is.totalUnits === was?.totalUnits) return;
    const { agreementId, feature } = this.meterOf(after!);
    const hasHad = this.outside.hasHad(agreementId, feature, is.totalUnits);
    check(
      hasHad !== false,
      "nothing is called sent that the meter never had",
      () => `${feature} of ${agreementId}: ${JSON.stringify(is)}`,
    );
  }

  private meterOf({ meterId }: Row): { readonly agreementId: string; readonly feature: string } {
    const meter = this.mirror.rows("meters").get(meterId as string)!;
    return { agreementId: String(meter["agreementId"]), feature: String(meter["feature"]) };
  }

  private evidence(evidence: Row): void {
    if (evidence["status"] !== "repaired_and_confirmed") return;
    const rule = "nothing is called repaired without a read-back";
    const units = evidence["readBackUnits"] as number;
    check(units === evidence["ledgerUnits"], rule, () => JSON.stringify(evidence));
    const { agreementId, feature } = this.meterOf(evidence);
    check(
      this.outside.hasTold(agreementId, feature, units) !== false,
      rule,
      () => `no read showed what ${JSON.stringify(evidence)} says`,
    );
  }
}
