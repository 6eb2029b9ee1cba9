/**
 * The keys of one index that a transaction added or removed. Small (a transaction writes a few documents),
 * so it sorts on demand. A key removed here hides the stored key of the same name.
 */
export class OverlayIndex {
  private readonly keys = new Map<string, boolean>();
  private sorted: string[] | null = null;

  get size(): number {
    return this.keys.size;
  }

  /** Records that `key` exists or not; what equals storage again needs no record. */
  set(key: string, exists: boolean, existsInStorage: boolean): void {
    if (exists === existsInStorage) this.keys.delete(key);
    else this.keys.set(key, exists);
    this.sorted = null;
  }

  has(key: string): boolean {
    return this.keys.has(key);
  }

  /** Added keys with lo <= key < hi, ascending. */
  present(lo: string, hi: string | null): string[] {
    this.sorted ??= [...this.keys.entries()]
      .filter(([, exists]) => exists)
      .map(([key]) => key)
      .toSorted((a, b) => (a < b ? -1 : 1));
    return this.sorted.filter((key) => key >= lo && (hi === null || key < hi));
  }
}
