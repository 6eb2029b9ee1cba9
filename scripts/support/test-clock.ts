import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatClockState, startingState, type ClockState } from "../../lib/shared/clock.ts";
import { PRIVATE_FILE_MODE } from "../../lib/shared/private-files.ts";
import { CliError } from "./cli.mjs";

export function clockFile(dataDir: string): string {
  return join(dataDir, "clock.json");
}

/**
 * Makes the clock file of a stack started with --test-clock, or finds the one it had. A data directory that has
 * lived on a test clock stays on it: its rows may lie ahead of the real time. Throws CliError when that is missed.
 */
export function prepareClock(dataDir: string, testClock: boolean, realMs: number): string | null {
  const path = clockFile(dataDir);
  const exists = existsSync(path);
  if (!testClock && exists) {
    throw new CliError(
      `${dataDir} was used with --test-clock and its time may be ahead; start with --test-clock, or choose another --data-dir`,
    );
  }
  if (!testClock) return null;
  if (!exists) replaceClock(path, startingState(realMs));
  return path;
}

/** Replaces the clock file as a whole: a reader sees the old clock or the new one. */
export function replaceClock(path: string, state: ClockState): void {
  const aside = `${path}.${process.pid}.new`;
  writeFileSync(aside, formatClockState(state), { flush: true, mode: PRIVATE_FILE_MODE });
  renameSync(aside, path);
}
