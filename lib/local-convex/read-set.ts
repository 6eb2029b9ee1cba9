/**
 * What a transaction read, as key intervals, and what commits wrote, as key points. A commit invalidates a
 * reader when the old or the new version of a written document has a key inside an interval the reader
 * actually consumed. The same test serves conflicts and subscriptions.
 *
 * A "space" names a key order: a positive index id, or minus the table number for documents by id.
 */

/** Half-open: lo <= key < hi; `hi` null means unbounded. Streams widen their interval as they consume. */
export interface ReadInterval {
  readonly space: number;
  lo: string;
  hi: string | null;
}

/** Keys written by one commit, per space. */
export type WrittenKeys = Map<number, string[]>;

export class ReadSet {
  readonly intervals: ReadInterval[] = [];

  /** Adds an interval and returns it, so that a stream can widen it later. */
  add(space: number, lo: string, hi: string | null): ReadInterval {
    const interval = { space, lo, hi };
    this.intervals.push(interval);
    return interval;
  }

  /** True when one of the written keys lies in a recorded interval; `space` of the first such is returned. */
  touchedBy(written: WrittenKeys): number | null {
    for (const interval of this.intervals) {
      const keys = written.get(interval.space);
      if (keys === undefined) continue;
      if (keys.some((key) => contains(interval, key))) return interval.space;
    }
    return null;
  }
}

export function contains(interval: ReadInterval, key: string): boolean {
  return key >= interval.lo && (interval.hi === null || key < interval.hi);
}

/** The smallest key greater than `key` itself. */
export function after(key: string): string {
  return `${key}\0`;
}
