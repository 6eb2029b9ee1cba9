/** Real Convex's per-transaction limits (facts §3.5), so that what passes here does not fail there. */

export const LIMITS = {
  documentsRead: 32_000,
  bytesRead: 16 * 1024 * 1024,
  ranges: 4_096,
  documentsWritten: 16_000,
  bytesWritten: 16 * 1024 * 1024,
  scheduled: 1_000,
  scheduledBytes: 16 * 1024 * 1024,
  userCodeMs: 1_000,
  argumentBytes: 16 * 1024 * 1024,
  nestedCalls: 8,
} as const;

const HINT =
  "Consider using smaller limits in your queries, paginating your queries, or using indexed queries with a " +
  "selective index range expressions.";

/** Counts of one transaction. Bytes are counted on the stored text, which is close to Convex's own measure. */
export class Limits {
  documentsRead = 0;
  bytesRead = 0;
  ranges = 0;
  documentsWritten = 0;
  bytesWritten = 0;
  scheduled = 0;
  scheduledBytes = 0;

  /** Runs the engine's own reads and writes inside a function's transaction: the function did not cause them. */
  uncounted<T>(work: () => T): T {
    const counts = Object.assign(new Limits(), this);
    Object.assign(this, new Limits());
    try {
      return work();
    } finally {
      Object.assign(this, counts);
    }
  }

  countRange(): void {
    if (++this.ranges > LIMITS.ranges) {
      throw new Error(`Too many reads in a single function execution (limit: ${LIMITS.ranges}). ${HINT}`);
    }
  }

  countRead(bytes: number): void {
    this.bytesRead += bytes;
    if (++this.documentsRead > LIMITS.documentsRead) {
      throw new Error(
        `Too many documents read in a single function execution (limit: ${LIMITS.documentsRead}). ${HINT}`,
      );
    }
    if (this.bytesRead > LIMITS.bytesRead) {
      throw new Error(
        `Too many bytes read in a single function execution (limit: ${LIMITS.bytesRead} bytes). ${HINT}`,
      );
    }
  }

  countWrite(bytes: number): void {
    this.bytesWritten += bytes;
    if (++this.documentsWritten > LIMITS.documentsWritten) {
      throw new Error(`Too many writes in a single function execution (limit: ${LIMITS.documentsWritten})`);
    }
    if (this.bytesWritten > LIMITS.bytesWritten) {
      throw new Error(
        `Too many bytes written in a single function execution (limit: ${LIMITS.bytesWritten} bytes)`,
      );
    }
  }

  countScheduled(argumentBytes: number): void {
    this.scheduledBytes += argumentBytes;
    if (++this.scheduled > LIMITS.scheduled) {
      throw new Error(`Too many functions scheduled by this mutation (limit: ${LIMITS.scheduled})`);
    }
    if (this.scheduledBytes > LIMITS.scheduledBytes) {
      throw new Error(`Too large total size of the arguments of scheduled functions (limit: 16 MiB)`);
    }
  }

  /** The answer of getTransactionMetrics. */
  metrics(): Record<string, { used: number; remaining: number }> {
    const metric = (used: number, limit: number) => ({ used, remaining: Math.max(0, limit - used) });
    return {
      bytesRead: metric(this.bytesRead, LIMITS.bytesRead),
      bytesWritten: metric(this.bytesWritten, LIMITS.bytesWritten),
      databaseQueries: metric(this.ranges, LIMITS.ranges),
      documentsRead: metric(this.documentsRead, LIMITS.documentsRead),
      documentsWritten: metric(this.documentsWritten, LIMITS.documentsWritten),
      functionsScheduled: metric(this.scheduled, LIMITS.scheduled),
      scheduledFunctionArgsBytes: metric(this.scheduledBytes, LIMITS.scheduledBytes),
    };
  }
}
