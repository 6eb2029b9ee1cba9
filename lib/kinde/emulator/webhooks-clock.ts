/**
 * The clock that deliveries wait by. It runs `1 / scale` times as fast as the wall clock, so a scale of 0.001 makes
 * 36 hours of retries last 130 s. It is kept over restarts, and time in which the emulator did not run counts.
 */
import type { Storage } from "./storage.ts";

/** So fast that 36 hours take 130 ms. Faster, and its milliseconds would run out of exact numbers in days. */
export const SCALE_MIN = 0.000_001;
export const SCALE_MAX = 1;

interface Anchor {
  readonly wallMs: number;
  readonly clockMs: number;
  readonly scale: number;
}

export class DeliveryClock {
  private constructor(
    private readonly storage: Storage,
    private readonly wallNowMs: () => number,
    private anchor: Anchor,
  ) {}

  static open(storage: Storage, wallNowMs: () => number, scale: number): DeliveryClock {
    const wallMs = wallNowMs();
    const saved = storage.get<Anchor>(
      "SELECT wall_ms AS wallMs, clock_ms AS clockMs, scale FROM webhook_clock",
    );
    const clock = new DeliveryClock(storage, wallNowMs, saved ?? { wallMs, clockMs: wallMs, scale });
    clock.setScale(scale);
    return clock;
  }

  get scale(): number {
    return this.anchor.scale;
  }

  nowMs(): number {
    const { wallMs, clockMs, scale } = this.anchor;
    return Math.floor(clockMs + (this.wallNowMs() - wallMs) / scale);
  }

  /** What has been waited for up to now stays waited for; the rest passes at the new pace. */
  setScale(scale: number): void {
    this.anchor = { wallMs: this.wallNowMs(), clockMs: this.nowMs(), scale };
    this.storage.run(
      "INSERT OR REPLACE INTO webhook_clock (id, wall_ms, clock_ms, scale) VALUES (1, ?, ?, ?)",
      this.anchor.wallMs,
      this.anchor.clockMs,
      scale,
    );
  }

  /** How long to wait, in real milliseconds, until an instant of this clock; below 0 when it has passed. */
  realMsUntil(clockMs: number): number {
    return (clockMs - this.nowMs()) * this.anchor.scale;
  }
}
