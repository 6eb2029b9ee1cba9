/** Keys written by recent commits, kept as long as a running transaction may still need to compare with them. */
import type { WrittenKeys } from "./read-set.ts";

export class CommitLog {
  private readonly entries: WrittenKeys[] = [];
  private firstCount = 0;
  private readonly active = new Map<object, number>();

  /** Commits so far in this process. */
  get count(): number {
    return this.firstCount + this.entries.length;
  }

  /** Commits numbered above `sinceCount`, oldest first. */
  since(sinceCount: number): WrittenKeys[] {
    const from = sinceCount - this.firstCount;
    return from <= 0 ? this.entries : this.entries.slice(from);
  }

  begin(transaction: object): void {
    this.active.set(transaction, this.count);
  }

  end(transaction: object): void {
    this.active.delete(transaction);
    if (this.active.size === 0) {
      this.firstCount = this.count;
      this.entries.length = 0;
      return;
    }
    const oldest = Math.min(...this.active.values());
    const drop = oldest - this.firstCount;
    if (drop > 0) {
      this.entries.splice(0, drop);
      this.firstCount = oldest;
    }
  }

  append(written: WrittenKeys): void {
    this.entries.push(written);
  }
}
