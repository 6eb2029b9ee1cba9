/** Ends transactions whose handler promise can never settle. One timer serves all of them. */
import type { EngineHost } from "./host.ts";
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
  private readonly timer: unknown;

  constructor(
    private readonly host: EngineHost,
    private readonly neverSettlesMs = NEVER_SETTLES_MS,
  ) {
    this.timer = host.setInterval(() => this.check(), neverSettlesMs / 5);
  }

  /** Settles like `running`, or rejects when it is stuck. */
  watch<T>(running: Promise<T>, invocation: Invocation): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const entry: Watched = { invocation, sinceMs: this.host.elapsedMs(), reject };
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
    this.host.clearInterval(this.timer);
  }

  private check(): void {
    const nowMs = this.host.elapsedMs();
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
