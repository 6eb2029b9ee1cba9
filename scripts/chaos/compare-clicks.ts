// The clicks that the client followed against the rows of the ledger and the totals of their links.
import { type Findings, grouped, sumOf } from "./findings.ts";
import type { ClickNote } from "./journal.ts";
import type { Remains, Row } from "./rows.ts";

interface ClickRow extends Row {
  readonly key: string;
  readonly units: number;
  readonly origin: { readonly kind: string; readonly linkId: string; readonly referrer: string | null };
}

/** An answered click is there once; one without an answer once or not at all. */
export function compareClicks(notes: readonly ClickNote[], remains: Remains, findings: Findings): void {
  const rows = (remains.rows("entries") as ClickRow[]).filter(({ origin }) => origin.kind === "click");
  const stored = grouped(rows, ({ origin }) => origin.referrer ?? "none");
  const noted = new Map(notes.map((note) => [note.referrer, note]));
  for (const { referrer, answered } of notes) {
    const found = stored.get(referrer) ?? [];
    if (answered || found.length > 1) findings.compare("click", referrer, 1, found.length);
    const other = found.find(({ units }) => units !== 1);
    if (other !== undefined) findings.wrong("click", referrer, `counted as ${other.units}`);
  }
  for (const [referrer, found] of stored) {
    if (!noted.has(referrer)) findings.wrong("click", referrer, `${found.length} rows that nobody clicked`);
  }
  compareLinks(rows, remains, findings);
}

function compareLinks(rows: readonly ClickRow[], remains: Remains, findings: Findings): void {
  const clicks = grouped(rows, ({ origin }) => origin.linkId);
  const totals = grouped(remains.rows("linkTotals"), ({ linkId }) => String(linkId));
  const stats = grouped(remains.rows("linkStats"), ({ linkId }) => String(linkId));
  for (const { _id: id } of remains.rows("links")) {
    const units = sumOf(clicks.get(id) ?? [], (row) => row.units);
    const billed = sumOf(totals.get(id) ?? [], ({ billedUnits }) => Number(billedUnits));
    findings.compare("total of a link", id, units, billed);
    const counted = sumOf(stats.get(id) ?? [], ({ count }) => Number(count));
    findings.compare("hours of a link", id, clicks.get(id)?.length ?? 0, counted);
  }
}
