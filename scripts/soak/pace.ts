// The time of a soak: it stands at its own pace while work is done and jumps ahead between two rounds of it, so that a
// job or a send lives at the speed it has on any day, and a month passes in minutes.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { moveClock, parseClockState, virtualNowMs } from "../../lib/shared/clock.ts";
import { MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";
import { clockFile, replaceClock } from "../support/test-clock.ts";

/** The last minutes of a cycle, in which its meters are sent every five seconds, pass at this many seconds a second. */
const END_RATE = 20;
const BEFORE_END_MS = 2.5 * MINUTE_MS;
const AFTER_END_MS = 30 * SECOND_MS;
/** Everybody who asks for the time has seen a jump by then, and crons that it made due have begun. */
const NOTICED_MS = 150;

export class Pace {
  private readonly file: string;

  constructor(dataDir: string) {
    this.file = clockFile(dataDir);
  }

  nowMs(): number {
    return virtualNowMs(this.state(), Date.now());
  }

  async jump(advanceMs: number): Promise<void> {
    this.move({ advanceMs: Math.floor(advanceMs) });
    await sleep(NOTICED_MS);
  }

  /** From wherever it is to shortly after `lastEndMs`, slowly enough that the reporter sends what is left. */
  async passEnds(firstEndMs: number, lastEndMs: number): Promise<void> {
    await this.jump(Math.max(0, firstEndMs - BEFORE_END_MS - this.nowMs()));
    this.move({ rate: END_RATE });
    while (this.nowMs() < lastEndMs + AFTER_END_MS) await sleep(NOTICED_MS);
    this.move({ rate: 1 });
    await sleep(NOTICED_MS);
  }

  private state() {
    return parseClockState(readFileSync(this.file, "utf8"));
  }

  private move(change: { advanceMs?: number; rate?: number }): void {
    replaceClock(this.file, moveClock(this.state(), Date.now(), change));
  }
}
