/** The engine clock of `--test-clock`: reads the file that moves it, often enough that a jump is noticed soon. */
import { fileClock as sharedFileClock } from "../shared/clock.ts";
import type { EngineClock } from "./clock.ts";

/** Longest real wait before the file is looked at again. */
const LOOK_EVERY_MS = 50;

export function fileClock(path: string): EngineClock {
  const clock = sharedFileClock(path);
  return {
    nowMs: () => clock.nowMs(),
    realDelayMs: (dueMs) => (dueMs <= clock.nowMs() ? 0 : LOOK_EVERY_MS),
    onJump: () => () => undefined,
  };
}
