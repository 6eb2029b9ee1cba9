/** Reads all pages of all parts of an export, one page after the other, so that nobody's export is a burst of load. */

export interface ExportPage {
  readonly rows: readonly unknown[];
  readonly cursor: string | null;
}

export interface ExportPart {
  /** The name of the part in the file. */
  readonly name: string;
  readonly read: (cursor: string | null) => Promise<ExportPage>;
}

export interface ExportProgress {
  readonly part: string;
  readonly partsDone: number;
  readonly parts: number;
  readonly rows: number;
}

export interface GatheredPart {
  readonly name: string;
  readonly rows: readonly unknown[];
  /** Whether there are older rows that the file does not have. */
  readonly isCut: boolean;
}

/** Throws what a page throws, and `signal.reason` once it is given up. */
export async function gatherExport(
  parts: readonly ExportPart[],
  options: { rowsMax: number; signal: AbortSignal; onProgress: (progress: ExportProgress) => void },
): Promise<GatheredPart[]> {
  const gathered: GatheredPart[] = [];
  let rowsDone = 0;
  for (const part of parts) {
    const rows: unknown[] = [];
    let cursor: string | null = null;
    do {
      options.signal.throwIfAborted();
      const { length: partsDone } = gathered;
      options.onProgress({ part: part.name, partsDone, parts: parts.length, rows: rowsDone + rows.length });
      // oxlint-disable-next-line no-await-in-loop -- the next page begins where this one ends
      const page = await part.read(cursor);
      rows.push(...page.rows);
      ({ cursor } = page);
    } while (cursor !== null && rows.length < options.rowsMax);
    const isCut = cursor !== null || rows.length > options.rowsMax;
    gathered.push({ name: part.name, rows: rows.slice(0, options.rowsMax), isCut });
    rowsDone += Math.min(rows.length, options.rowsMax);
  }
  options.signal.throwIfAborted();
  return gathered;
}

/**
 * The text of the file in pieces, since one string of everything may be longer than a string can be. The first key
 * tells what the file has and whether that is all.
 */
export function exportText(
  parts: readonly GatheredPart[],
  about: { readonly account: unknown; readonly startedAt: string; readonly finishedAt: string },
): string[] {
  const counts = Object.fromEntries(parts.map(({ name, rows }) => [name, rows.length]));
  const cut = parts.filter(({ isCut }) => isCut).map(({ name }) => name);
  const head = {
    product: "Holdfast",
    startedAt: about.startedAt,
    finishedAt: about.finishedAt,
    isComplete: cut.length === 0,
    /** Of these the newest rows only. */
    cutParts: cut,
    counts,
  };
  const pieces = [`{"export":${JSON.stringify(head, null, 1)},\n"account":${JSON.stringify(about.account)}`];
  for (const { name, rows } of parts) {
    pieces.push(`,\n${JSON.stringify(name)}:[`);
    for (const [index, row] of rows.entries()) {
      pieces.push(`${index === 0 ? "" : ","}\n${JSON.stringify(row)}`);
    }
    pieces.push("]");
  }
  pieces.push("}\n");
  return pieces;
}
