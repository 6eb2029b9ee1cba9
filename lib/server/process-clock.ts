import { fileClock, type Clock } from "../shared/clock.ts";
import { processValue } from "./process-value.ts";

const kept = processValue<{ readonly clockFile: string; readonly clock: Clock }>("clock");

/**
 * The time of day of this process: that of the stack's other processes, also when `--test-clock` moves it
 * (`HOLDFAST_TEST_CLOCK` names its file). For what is told or stored; how long something took is a stopwatch's to say.
 */
export function processClock(env: NodeJS.ProcessEnv = process.env): Clock {
  const { HOLDFAST_TEST_CLOCK: clockFile = "" } = env;
  const known = kept.get();
  if (known?.clockFile === clockFile) return known.clock;
  return kept.set({ clockFile, clock: clockFile === "" ? { nowMs: Date.now } : fileClock(clockFile) }).clock;
}
