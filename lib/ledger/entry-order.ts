/*
 * The order in which entries are listed: by their instant, then by when they were written, then by feature, then as
 * the index has them. A cursor names the last entry that was listed, so a page after it neither repeats nor skips one,
 * whatever was written in between; an entry that is written later with an earlier instant is behind the cursor.
 */

/** The place of an entry in the order. */
export interface EntryPosition {
  readonly atMs: number;
  /** May have a fraction: the database makes the times of one transaction distinct with it. */
  readonly createdAtMs: number;
  readonly feature: string;
  readonly id: string;
}

/** What a cursor looks like. Its fields are numbers and names that the caller has seen, so it needs no secrecy. */
export const ENTRY_CURSOR = /^(\d{1,16})_(\d{1,16}(?:\.\d{1,12})?)_([a-z]{1,32})_([0-9a-z]{1,64})$/;

export function entryCursorText({ atMs, createdAtMs, feature, id }: EntryPosition): string {
  return `${atMs}_${createdAtMs}_${feature}_${id}`;
}

/** Null for a text that `entryCursorText` does not make. */
export function parseEntryCursor(text: string): EntryPosition | null {
  const [, atMs, createdAtMs, feature = "", id = ""] = ENTRY_CURSOR.exec(text) ?? [];
  return id === "" ? null : { atMs: Number(atMs), createdAtMs: Number(createdAtMs), feature, id };
}

interface Timed {
  readonly atMs: number;
  readonly _creationTime: number;
}

/** Merges listings that are each in order, one a feature and in the order of features. Takes from each only what it gives. */
export async function* inEntryOrder<Row extends Timed>(
  listings: readonly AsyncGenerator<Row>[],
): AsyncGenerator<Row> {
  const heads = await Promise.all(listings.map(async (listing) => ({ listing, next: await listing.next() })));
  for (;;) {
    let first: (typeof heads)[number] | null = null;
    for (const head of heads) {
      if (head.next.done === true) continue;
      if (first === null || isBefore(head.next.value, first.next.value as Row)) first = head;
    }
    if (first === null) return;
    yield first.next.value as Row;
    first.next = await first.listing.next();
  }
}

function isBefore(one: Timed, other: Timed): boolean {
  return one.atMs === other.atMs ? one._creationTime < other._creationTime : one.atMs < other.atMs;
}
