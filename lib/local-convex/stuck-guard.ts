/** Ends transactions whose handler promise can never settle. One timer serves all of them. */
import type { Invocation } from "./invocation.ts";

/** A handler that waits for nothing in the engine and has not settled for this long never will. */
const NEVER_SETTLES_MS = 5_000;

interface Watched {
  invocation: Invocation;
  sinceMs: number;
  reject: (error: Error) => void;
}

export class StuckGuard {
  private readonly watched = new Set<Watched>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly neverSettlesMs = NEVER_SETTLES_MS) {
    this.timer = setInterval(() => this.check(), neverSettlesMs / 5).unref();
  }

  /** Settles like `running`, or rejects when it is stuck. */
  watch<T>(running: Promise<T>, invocation: Invocation): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const entry: Watched = { invocation, sinceMs: performance.now(), reject };
      this.watched.add(entry);
      running.then(
        (value) => {
          this.watched.delete(entry);
          resolve(value);
        },
        (error: unknown) => {
          this.watched.delete(entry);
          reject(error);
        },
      );
    });
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const nowMs = performance.now();
    for (const entry of this.watched) {
      // A nested call or an injected delay is progress of its own.
      if (entry.invocation.tail !== null) entry.sinceMs = nowMs;
      else if (nowMs - entry.sinceMs > this.neverSettlesMs) {
        this.watched.delete(entry);
        entry.reject(new Error("Returned promise will never resolve"));
      }
    }
  }
}
