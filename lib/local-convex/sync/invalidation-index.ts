/**
 * Finds the readers that a commit concerns. Readers are grouped by key order (space); reads of one key, which is
 * what `db.get` makes, are found by that key, and only ranges of the same space are looked at one by one.
 */
import { after, contains, type ReadInterval, type WrittenKeys } from "../read-set.ts";

interface Space<Reader> {
  points: Map<string, Set<Reader>>;
  ranges: Map<Reader, ReadInterval[]>;
}

export class InvalidationIndex<Reader> {
  private readonly spaces = new Map<number, Space<Reader>>();
  private readonly intervals = new Map<Reader, readonly ReadInterval[]>();

  /** Replaces what the reader depends on. */
  set(reader: Reader, intervals: readonly ReadInterval[]): void {
    this.delete(reader);
    this.intervals.set(reader, intervals);
    for (const interval of intervals) {
      if (interval.lo === interval.hi) continue;
      const space = this.space(interval.space);
      if (interval.hi === after(interval.lo)) addTo(space.points, interval.lo, reader);
      else {
        const ranges = space.ranges.get(reader);
        if (ranges === undefined) space.ranges.set(reader, [interval]);
        else ranges.push(interval);
      }
    }
  }

  delete(reader: Reader): void {
    const intervals = this.intervals.get(reader);
    if (intervals === undefined) return;
    this.intervals.delete(reader);
    for (const { space: id, lo } of intervals) {
      const space = this.spaces.get(id);
      if (space === undefined) continue;
      const readers = space.points.get(lo);
      readers?.delete(reader);
      if (readers?.size === 0) space.points.delete(lo);
      space.ranges.delete(reader);
      if (space.points.size === 0 && space.ranges.size === 0) this.spaces.delete(id);
    }
  }

  /** The readers with a written key inside one of their intervals. */
  touchedBy(written: WrittenKeys): Set<Reader> {
    const touched = new Set<Reader>();
    for (const [id, keys] of written) {
      const space = this.spaces.get(id);
      if (space === undefined) continue;
      for (const key of keys) for (const reader of space.points.get(key) ?? []) touched.add(reader);
      if (space.ranges.size === 0) continue;
      const sorted = keys.toSorted(byCodeUnits);
      for (const [reader, ranges] of space.ranges)
        if (!touched.has(reader) && ranges.some((range) => isTouched(range, sorted))) touched.add(reader);
    }
    return touched;
  }

  private space(id: number): Space<Reader> {
    let space = this.spaces.get(id);
    if (space === undefined) this.spaces.set(id, (space = { points: new Map(), ranges: new Map() }));
    return space;
  }
}

/** Whether one of the keys, in rising order, lies in the interval. */
function isTouched(interval: ReadInterval, keys: readonly string[]): boolean {
  let [from, to] = [0, keys.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (keys[middle]! < interval.lo) from = middle + 1;
    else to = middle;
  }
  return from < keys.length && contains(interval, keys[from]!);
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function addTo<Reader>(points: Map<string, Set<Reader>>, key: string, reader: Reader): void {
  const readers = points.get(key);
  if (readers === undefined) points.set(key, new Set([reader]));
  else readers.add(reader);
}
