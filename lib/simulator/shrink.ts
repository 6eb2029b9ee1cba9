/**
 * Finds few items that still fail, by leaving out ever smaller parts (Zeller's ddmin). Stops when no single item can go
 * or when `mayGoOn` says that it took long enough; what it has by then fails all the same.
 */
export async function shrink<Item>(
  items: readonly Item[],
  fails: (items: readonly Item[]) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<readonly Item[]> {
  let kept = items;
  let parts = 2;
  while (kept.length > 1 && mayGoOn()) {
    const smaller = await withoutOne(kept, parts, fails, mayGoOn);
    if (smaller !== null) {
      kept = smaller;
      parts = Math.max(2, parts - 1);
    } else if (parts >= kept.length) return kept;
    else parts = Math.min(kept.length, 2 * parts);
  }
  return kept;
}

/** Of the lists that lack one of so many parts, the first that fails; null when none does. */
async function withoutOne<Item>(
  items: readonly Item[],
  parts: number,
  fails: (items: readonly Item[]) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<readonly Item[] | null> {
  const size = Math.ceil(items.length / parts);
  // From the end: what came last is the least likely to be needed.
  for (let from = size * (Math.ceil(items.length / size) - 1); from >= 0; from -= size) {
    if (!mayGoOn()) return null;
    const rest = [...items.slice(0, from), ...items.slice(from + size)];
    if (await fails(rest)) return rest;
  }
  return null;
}
