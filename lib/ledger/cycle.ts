/** One billing period: its start belongs to it, its end does not. `name` is the month it starts in, "2026-10". */
export interface Cycle {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** The calendar month (UTC) of an instant. A placeholder until the anchor arithmetic lands. */
export function cycleAt(_anchorMs: number | null, atMs: number): Cycle {
  const at = new Date(atMs);
  const startMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1);
  const endMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
  return { name: new Date(startMs).toISOString().slice(0, 7), startMs, endMs };
}
