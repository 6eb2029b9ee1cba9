/**
 * The keys of one index that a transaction added or removed. A key removed here hides the stored key of the
 * same name; added keys are kept sorted, since a mutation may read the index after every write.
 */
export class OverlayIndex {
  private readonly keys = new Map<string, boolean>();
  private readonly added: string[] = [];

  get size(): number {
    return this.keys.size;
  }

  /** Records that `key` exists or not; what equals storage again needs no record. */
  set(key: string, exists: boolean, existsInStorage: boolean): void {
    if (this.keys.get(key) === true) this.added.splice(this.position(key), 1);
    if (exists === existsInStorage) {
      this.keys.delete(key);
      return;
    }
    this.keys.set(key, exists);
    if (exists) this.added.splice(this.position(key), 0, key);
  }

  has(key: string): boolean {
    return this.keys.has(key);
  }

  /** At most `limit` added keys with lo <= key < hi: the first ones of the given order, in ascending order. */
  present(lo: string, hi: string | null, order: "asc" | "desc", limit: number): string[] {
    const from = this.position(lo);
    const to = hi === null ? this.added.length : this.position(hi);
    if (to - from <= limit) return this.added.slice(from, to);
    return order === "asc" ? this.added.slice(from, from + limit) : this.added.slice(to - limit, to);
  }

  /** Where `key` is, or would go, in the sorted list. */
  private position(key: string): number {
    let low = 0;
    let high = this.added.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.added[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
