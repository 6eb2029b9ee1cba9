// Ledger, counters, what was sent and the provider's meter: in the end one number.
import { type Findings, grouped, sumOf } from "./findings.ts";
import type { Remains, Row } from "./rows.ts";

interface MeterRow extends Row {
  readonly agreementId: string | null;
  readonly feature: string;
}

interface ReportRow extends Row {
  readonly meterId: string;
  readonly state: { readonly confirmed: { readonly totalUnits: number } | null };
}

export function compareLedger(remains: Remains, findings: Findings): void {
  for (const [key, rows] of grouped(remains.rows("entries"), ({ key }) => String(key))) {
    if (rows.length > 1) findings.doubled("entry", key, `${rows.length} rows have this key`);
  }
  const entries = grouped(remains.rows("entries"), ({ meterId }) => String(meterId));
  const shards = grouped(remains.rows("shards"), ({ meterId }) => String(meterId));
  const reports = grouped(remains.rows("reports") as ReportRow[], ({ meterId }) => meterId);
  /** Of accounts that an operator opened: their meters are here. */
  const fixed = new Map(
    remains.rows("fixedTotals").map(({ meterId, totalUnits }) => [String(meterId), Number(totalUnits)]),
  );
  const ledger = new Map<string, number>();
  for (const meter of remains.rows("meters") as MeterRow[]) {
    const { _id: id, agreementId, feature } = meter;
    const units = sumOf(entries.get(id) ?? [], (row) => Number(row["units"]));
    findings.compare(
      "counters",
      id,
      units,
      sumOf(shards.get(id) ?? [], (row) => Number(row["units"])),
    );
    if (agreementId === null) {
      if (units !== 0) findings.wrong("meter", id, `${units} units under no agreement`);
      continue;
    }
    const sent = sumOf(reports.get(id) ?? [], ({ state }) => state.confirmed?.totalUnits ?? 0);
    findings.compare("sent", id, units, sent);
    const total = fixed.get(id);
    if (total !== undefined) {
      findings.compare("meter", id, units, total);
      continue;
    }
    const name = `${agreementId} ${feature}`;
    ledger.set(name, (ledger.get(name) ?? 0) + units);
  }
  compareMeters(ledger, remains, findings);
  for (const { _id: id, verdict, ledgerUnits, providerUnits } of remains.rows("evidence")) {
    if (verdict !== "over_billed") continue;
    findings.doubled("meter", id, `the reconciler saw ${String(providerUnits)} for ${String(ledgerUnits)}`);
  }
  for (const { _id: id, action, details } of remains.rows("audit")) {
    if (action === "budget_repaired") findings.wrong("audit", id, JSON.stringify(details));
  }
}

function compareMeters(ledger: ReadonlyMap<string, number>, { provider }: Remains, findings: Findings): void {
  const meters = grouped(provider.meters, ({ agreementId, feature }) => `${agreementId} ${feature}`);
  for (const name of new Set([...ledger.keys(), ...meters.keys()])) {
    const shown = sumOf(meters.get(name) ?? [], ({ totalUnits }) => totalUnits);
    findings.compare("meter", name, ledger.get(name) ?? 0, shown);
  }
}
