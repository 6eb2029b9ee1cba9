/** Named alarms on the engine clock: at most one per name, the earlier time wins, clock jumps re-arm them. */
import type { EngineClock } from "./clock.ts";
import type { EngineHost } from "./host.ts";

/** Node's longest timer; longer waits are armed again. */
const TIMER_MAX_MS = 2 ** 31 - 1;

interface Alarm {
  dueMs: number;
  fire: () => void;
  timer: unknown;
}

export class Timers {
  private readonly alarms = new Map<string, Alarm>();
  private readonly stopListening: () => void;

  constructor(
    private readonly clock: EngineClock,
    private readonly host: EngineHost,
  ) {
    this.stopListening = clock.onJump(() => {
      for (const [name, alarm] of this.alarms) this.arm(name, alarm);
    });
  }

  /** Calls `fire` once when the clock reaches `dueMs`; replaces a later alarm of the same name. */
  set(name: string, dueMs: number, fire: () => void): void {
    const existing = this.alarms.get(name);
    if (existing !== undefined) {
      if (existing.dueMs <= dueMs) return;
      this.disarm(existing);
    }
    const alarm: Alarm = { dueMs, fire, timer: null };
    this.alarms.set(name, alarm);
    this.arm(name, alarm);
  }

  clear(name: string): void {
    const alarm = this.alarms.get(name);
    if (alarm !== undefined) this.disarm(alarm);
    this.alarms.delete(name);
  }

  stop(): void {
    this.stopListening();
    for (const name of this.alarms.keys()) this.clear(name);
  }

  private arm(name: string, alarm: Alarm): void {
    this.disarm(alarm);
    const delayMs = this.clock.realDelayMs(alarm.dueMs);
    if (!Number.isFinite(delayMs)) return;
    alarm.timer = this.host.setTimeout(
      () => {
        if (this.clock.realDelayMs(alarm.dueMs) > 0) {
          this.arm(name, alarm);
          return;
        }
        this.alarms.delete(name);
        alarm.fire();
      },
      Math.min(Math.ceil(delayMs), TIMER_MAX_MS),
    );
  }

  private disarm(alarm: Alarm): void {
    if (alarm.timer !== null) this.host.clearTimeout(alarm.timer);
    alarm.timer = null;
  }
}
