/** The last requests, for tests and screens. Paths only: queries, headers and bodies carry codes, tokens and secrets. */

const ENTRIES_MAX = 1_000;

export interface LogEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly faults: readonly string[];
  /** Null while there is no answer, and for ever when the connection was closed without one. */
  status: number | null;
}

export class RequestLog {
  private entries: LogEntry[] = [];
  private nextSeq = 1;

  add(entry: Omit<LogEntry, "seq" | "status">): LogEntry {
    const logged: LogEntry = { seq: this.nextSeq++, ...entry, status: null };
    this.entries.push(logged);
    if (this.entries.length > ENTRIES_MAX) this.entries.shift();
    return logged;
  }

  /** The entries after a number, oldest first. */
  after(seq: number): readonly LogEntry[] {
    return this.entries.filter((entry) => entry.seq > seq);
  }
}
