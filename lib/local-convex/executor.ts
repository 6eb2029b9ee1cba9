/**
 * Runs transactions: `concurrency` at a time (1 by default, so on one thread nothing ever conflicts), commits
 * them in groups so that many share one disk flush, and answers only after the flush. Queries take a slot too,
 * and their answer waits for the flush of what they may have seen.
 */
import { ConflictError, RequestError, type StorageError } from "./errors.ts";
import { CommitLog } from "./commit-log.ts";
import { nextTurn, sleep, type EngineHost } from "./host.ts";
import type { WrittenKeys } from "./read-set.ts";
import type { Storage } from "./storage.ts";
import type { Transaction } from "./transaction.ts";

/** Commits that share one flush at most; more would only add waiting. */
const BATCH_MAX = 256;
/**
 * After this long the runner lets sockets and timers have their turn. Node accepts one new connection a turn, so a
 * long turn keeps new callers waiting.
 */
const SLICE_MS = 3;
/** A batch stays open over several turns while more work waits to join it, up to this long. */
const BATCH_OPEN_MS = 20;
/** Real Convex re-runs a mutation that a caller waits for four times. */
export const CALL_RETRIES_MAX = 4;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 2_000;

export interface ExecutorOptions {
  concurrency: number;
  host: EngineHost;
  storage: Storage;
  beginTransaction: () => Transaction;
  /** Milliseconds, may be fractional. */
  nowMs: () => number;
  random: () => number;
  onCommit: (written: WrittenKeys) => void;
  /** The database failed: nothing more can be promised. */
  onFatal: (error: StorageError | Error) => void;
  /** Test seam: pretends that a commit conflicted. */
  injectConflict?: () => boolean;
}

export interface Committed<T> {
  value: T;
  /** Commit timestamp in nanoseconds; of the snapshot for reads. */
  ts: bigint;
}

/** Runs one read transaction inside a slot. */
export type Reader = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;

interface Batch {
  durable: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
  size: number;
  openedAtMs: number;
}

/** Counts for the conflict tables and the health page. */
export interface ExecutorCounts {
  mutations: number;
  queries: number;
  conflicts: number;
  flushes: number;
}

export class Executor {
  readonly log = new CommitLog();
  readonly counts: ExecutorCounts = { mutations: 0, queries: 0, conflicts: 0, flushes: 0 };
  private readonly queue: (() => Promise<void>)[] = [];
  private running = 0;
  private kicked = false;
  private batch: Batch | null = null;
  private lastTs: bigint;
  private failed: Error | null = null;
  private isPaused = false;

  constructor(private readonly options: ExecutorOptions) {
    this.lastTs = BigInt(options.storage.getMeta("last_ts") ?? "0");
  }

  /** Newest commit timestamp; it never goes back, not even over restarts. */
  get timestamp(): bigint {
    return this.lastTs;
  }

  /**
   * Runs `work` as a mutation and commits it. Conflicts re-run it: without end, unless a caller waits who can be told,
   * because what the engine writes for itself (due times, states of jobs) nobody would try again.
   * @param retriesMax how often a conflict re-runs it before RequestError(OptimisticConcurrencyControlFailure)
   */
  async mutation<T>(work: (tx: Transaction) => Promise<T>, retriesMax = Infinity): Promise<Committed<T>> {
    let attempts = 0;
    let committed: Awaited<ReturnType<typeof this.attempt<T>>> = null;
    while (committed === null) {
      committed = await this.inSlot(async () => {
        // The slot is given up after as many tries as a call has: what is tried without end keeps nobody out.
        for (let tries = 0; tries <= CALL_RETRIES_MAX; tries++) {
          const outcome = await this.attempt(work);
          if (outcome !== null) return outcome;
          if (attempts >= retriesMax) throw conflictFailure(this.lastConflict);
          await this.backOff(attempts);
          attempts++;
        }
        return null;
      });
    }
    const { value, ts, durable } = committed;
    await durable;
    return { value, ts };
  }

  /** Runs `work` on a snapshot. Its writes, if any, are dropped. */
  query<T>(work: (tx: Transaction) => Promise<T>): Promise<Committed<T>> {
    return this.reads((read) => read(work));
  }

  /**
   * Runs several reads in one slot, each a transaction of its own: with concurrency 1 no commit comes between
   * them. The event loop gets its turns in between.
   */
  async reads<T>(work: (read: Reader) => Promise<T>): Promise<Committed<T>> {
    const { value, ts, durable } = await this.inSlot(async () => {
      const { host } = this.options;
      let sliceStartMs = host.elapsedMs();
      const result = await work(async (each) => {
        if (host.elapsedMs() - sliceStartMs > SLICE_MS) {
          await nextTurn(host);
          sliceStartMs = host.elapsedMs();
        }
        return this.read(each);
      });
      return { value: result, ts: this.lastTs, durable: this.durableNow() };
    });
    await durable;
    return { value, ts };
  }

  /** Resolves when every commit so far is on disk. */
  async flushed(): Promise<void> {
    await this.durableNow();
  }

  /** Runs `work` while no transaction runs and everything committed is on disk; what arrives meanwhile waits. */
  async exclusive<T>(work: () => T | Promise<T>): Promise<T> {
    while (this.isPaused) await nextTurn(this.options.host);
    this.isPaused = true;
    try {
      while (this.running > 0 || this.batch !== null) await nextTurn(this.options.host);
      return await work();
    } finally {
      this.isPaused = false;
      this.kick();
    }
  }

  /** Ends after the transactions that arrived before; later ones are refused. */
  async close(): Promise<void> {
    while (this.queue.length > 0 || this.running > 0 || this.batch !== null)
      await nextTurn(this.options.host);
    this.failed ??= new RequestError(503, "ShuttingDown", "The engine is shutting down.");
  }

  /** A read found the database damaged or unreadable: the same end as a failed write. */
  readFailed(error: Error): void {
    this.fail(error);
  }

  private lastConflict = "";

  private begin(): Transaction {
    if (this.failed !== null) throw this.failed;
    this.openBatch();
    const tx = this.options.beginTransaction();
    this.log.begin(tx);
    return tx;
  }

  /** One read, run again while other commits overtake it. */
  private async read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (;;) {
      const tx = this.begin();
      try {
        const result = await work(tx);
        if (tx.conflict === null) {
          this.counts.queries++;
          return result;
        }
      } catch (error) {
        if (tx.conflict === null) throw error;
      } finally {
        this.log.end(tx);
      }
    }
  }

  /** One run of a mutation; null when it conflicted. */
  private async attempt<T>(
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ value: T; ts: bigint; durable: Promise<void> | undefined } | null> {
    const tx = this.begin();
    try {
      const value = await work(tx);
      tx.validate();
      if (this.options.injectConflict?.() === true) {
        this.counts.conflicts++;
        this.lastConflict = new ConflictError([...tx.writtenTables()][0] ?? "").message;
        return null;
      }
      this.counts.mutations++;
      const durable = tx.hasWrites ? this.commit(tx) : this.durableNow();
      return { value, ts: this.lastTs, durable };
    } catch (error) {
      if (tx.conflict === null) throw error;
      this.counts.conflicts++;
      this.lastConflict = tx.conflict.message;
      return null;
    } finally {
      this.log.end(tx);
    }
  }

  /** When everything that was read is on disk: at once, or with the open batch. */
  private durableNow(): Promise<void> | undefined {
    if (this.failed !== null) throw this.failed;
    return this.batch === null || this.batch.size === 0 ? undefined : this.batch.durable;
  }

  /**
   * All that runs in one turn shares one storage transaction, reads too: a read outside of one would take and
   * give back SQLite's lock by itself, which costs several times the read.
   */
  private openBatch(): Batch {
    if (this.batch !== null) return this.batch;
    try {
      this.options.storage.begin();
    } catch (error) {
      throw this.fail(this.options.storage.explain(error));
    }
    const { host } = this.options;
    this.batch = newBatch(host.elapsedMs());
    host.setImmediate(() => this.flushSoon());
    return this.batch;
  }

  /** Flushes when nothing waits to join the batch, or when it has been open long enough. */
  private flushSoon(): void {
    if (this.batch === null) return;
    const { host, concurrency } = this.options;
    const isJoined = this.queue.length > 0 && !this.isPaused && concurrency === 1;
    if (isJoined && host.elapsedMs() - this.batch.openedAtMs < BATCH_OPEN_MS)
      host.setImmediate(() => this.flushSoon());
    else this.flush();
  }

  /** Takes the writes into the open batch; the answer resolves when they are on disk. */
  private commit(tx: Transaction): Promise<void> {
    const { storage, nowMs } = this.options;
    if (this.failed !== null) throw this.failed;
    try {
      const batch = this.openBatch();
      const written = tx.apply();
      const wallTs = BigInt(Math.floor(nowMs() * 1_000)) * 1_000n;
      this.lastTs = wallTs > this.lastTs ? wallTs : this.lastTs + 1n;
      this.log.append(written);
      this.options.onCommit(written);
      if (++batch.size >= BATCH_MAX) this.flush();
      return batch.durable;
    } catch (error) {
      throw this.fail(storage.explain(error));
    }
  }

  private flush(): void {
    const { batch } = this;
    if (batch === null) return;
    const { storage } = this.options;
    this.batch = null;
    try {
      if (batch.size > 0) {
        storage.setMeta("last_ts", this.lastTs.toString());
        this.counts.flushes++;
      }
      storage.commit();
      batch.resolve();
    } catch (error) {
      batch.reject(this.fail(storage.explain(error)));
    }
  }

  /** The database refused a write: everything unflushed is undone and refused, and so is all that follows. */
  private fail(cause: Error): Error {
    const isFirst = this.failed === null;
    this.failed ??= new RequestError(503, "StorageFailed", `The database failed: ${cause.message}`, {
      cause,
    });
    this.options.storage.rollback();
    this.batch?.reject(this.failed);
    this.batch = null;
    if (isFirst) this.options.onFatal(cause);
    return this.failed;
  }

  private inSlot<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.queue.push(() => work().then(resolve, reject));
      this.kick();
    });
  }

  private kick(): void {
    if (this.queue.length === 0 || this.kicked || this.isPaused || this.running >= this.options.concurrency)
      return;
    this.kicked = true;
    // Waiting for the end of this turn of the event loop lets all requests that arrived together share a flush.
    this.options.host.setImmediate(() => {
      this.kicked = false;
      while (!this.isPaused && this.running < this.options.concurrency && this.queue.length > 0)
        void this.run();
    });
  }

  private async run(): Promise<void> {
    const { host } = this.options;
    this.running++;
    let sliceStartMs = host.elapsedMs();
    for (let job = this.queue.shift(); job !== undefined; job = this.queue.shift()) {
      await job();
      if (this.isPaused) break;
      if (host.elapsedMs() - sliceStartMs < SLICE_MS) continue;
      await nextTurn(host);
      sliceStartMs = host.elapsedMs();
    }
    this.running--;
    this.kick();
  }

  private backOff(attempt: number): Promise<void> {
    const { host, random } = this.options;
    const ceilingMs = Math.min(BACKOFF_FIRST_MS * 2 ** attempt, BACKOFF_MAX_MS);
    return sleep(host, ceilingMs * (0.5 + random() / 2));
  }
}

function newBatch(openedAtMs: number): Batch {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const durable = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // A batch can fail with nobody waiting (all its callers gone); the failure is reported by onFatal.
  durable.catch(() => undefined);
  return { durable, resolve, reject, size: 0, openedAtMs };
}

function conflictFailure(message: string): RequestError {
  return new RequestError(503, "OptimisticConcurrencyControlFailure", message);
}
