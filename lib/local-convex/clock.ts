/** The engine's time. Tests and `--test-clock` replace it; timers go through it so that a jump fires them. */
export interface EngineClock {
  /** Milliseconds since the epoch, maybe with a fraction. */
  nowMs(): number;
  /** Real milliseconds to wait until this clock shows `dueMs` (0 when it already does). */
  realDelayMs(dueMs: number): number;
  /** Calls `listener` whenever the clock was moved by hand; returns how to stop. */
  onJump(listener: () => void): () => void;
}

export const systemClock: EngineClock = {
  nowMs: () => Date.now(),
  realDelayMs: (dueMs) => Math.max(0, dueMs - Date.now()),
  onJump: () => () => undefined,
};

/** A clock that stands still until it is moved: tests use it, so no test waits for time to pass. */
export class ManualClock implements EngineClock {
  private readonly listeners = new Set<() => void>();

  constructor(private currentMs: number) {}

  nowMs(): number {
    return this.currentMs;
  }

  realDelayMs(dueMs: number): number {
    return dueMs <= this.currentMs ? 0 : Number.POSITIVE_INFINITY;
  }

  onJump(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Moves forward (never back) and wakes everything that waits for time. */
  setMs(nowMs: number): void {
    if (nowMs < this.currentMs)
      throw new RangeError(`the clock cannot go back from ${this.currentMs} to ${nowMs}`);
    this.currentMs = nowMs;
    for (const listener of this.listeners) listener();
  }

  advanceMs(deltaMs: number): void {
    this.setMs(this.currentMs + deltaMs);
  }
}
