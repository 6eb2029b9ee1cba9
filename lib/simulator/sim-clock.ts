import type { EngineClock } from "../local-convex/clock.ts";
import type { Turns } from "./turns.ts";

/** The time of day in a simulated world: it goes with the turns, and somebody may set it. */
export class SimClock implements EngineClock {
  private offsetMs = 0;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly turns: Turns,
    private readonly startMs: number,
  ) {}

  nowMs(): number {
    return this.startMs + this.turns.elapsedMs + this.offsetMs;
  }

  realDelayMs(dueMs: number): number {
    return Math.max(0, dueMs - this.nowMs());
  }

  onJump(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Sets it forward, or back with a negative step. */
  step(ms: number): void {
    this.offsetMs += ms;
    for (const listener of this.listeners) listener();
  }
}
