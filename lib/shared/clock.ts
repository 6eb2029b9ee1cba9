import { readFileSync } from "node:fs";

/** Where the time comes from. Everything that needs "now" is handed one of these or a plain number. */
export interface Clock {
  /** Milliseconds since the Unix epoch, an integer. */
  nowMs(): number;
}

/**
 * The state of a test clock. Virtual time passed `anchorVirtualMs` at the real instant `anchorRealMs`
 * and has run at `rate` virtual milliseconds a real millisecond since.
 */
export interface ClockState {
  readonly anchorVirtualMs: number;
  readonly anchorRealMs: number;
  readonly rate: number;
}

/** A day of virtual time every 24 real seconds; faster than that and timers no longer keep up. */
export const RATE_MAX = 3600;

/** The file does not hold a test clock. Raised when it is read, never ignored: a silent fall-back to real time would lie. */
export class ClockFileError extends Error {
  readonly code = "clock_file_invalid";
  override readonly name = "ClockFileError";
}

/** A test clock that agrees with the real one until it is moved. */
export function startingState(realMs: number): ClockState {
  return { anchorVirtualMs: realMs, anchorRealMs: realMs, rate: 1 };
}

/** Virtual time at a real instant. A real instant before the anchor (the system clock was set back) stays at the anchor. */
export function virtualNowMs(state: ClockState, realMs: number): number {
  const passedMs = Math.max(0, realMs - state.anchorRealMs);
  return Math.floor(state.anchorVirtualMs + passedMs * state.rate);
}

/**
 * The state after jumping `advanceMs` ahead and going on at `rate` (unchanged when omitted).
 * Throws RangeError for a negative jump or a rate outside 0..RATE_MAX: a test clock never goes backwards.
 */
export function moveClock(
  state: ClockState,
  realMs: number,
  change: { advanceMs?: number; rate?: number },
): ClockState {
  const { advanceMs = 0, rate = state.rate } = change;
  if (!Number.isSafeInteger(advanceMs) || advanceMs < 0) {
    throw new RangeError(`a test clock never goes backwards: cannot advance by ${advanceMs} ms`);
  }
  if (!isRate(rate)) throw new RangeError(`the rate must be from 0 to ${RATE_MAX}`);
  return {
    anchorVirtualMs: virtualNowMs(state, realMs) + advanceMs,
    anchorRealMs: Math.max(realMs, state.anchorRealMs),
    rate,
  };
}

/** Reads the text of a clock file; throws ClockFileError when it is not one. */
export function parseClockState(text: string): ClockState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ClockFileError("the clock file is not JSON", { cause });
  }
  if (!isClockState(value)) {
    throw new ClockFileError("the clock file needs anchorVirtualMs, anchorRealMs and rate");
  }
  return { anchorVirtualMs: value.anchorVirtualMs, anchorRealMs: value.anchorRealMs, rate: value.rate };
}

/** The text of a clock file. */
export function formatClockState(state: ClockState): string {
  return `${JSON.stringify(state)}\n`;
}

/** How long a read of the clock file is believed. Time is asked for thousands of times a second; a file is not. */
const REREAD_AFTER_MS = 20;

/**
 * A clock steered by a file that `npm run clock` replaces. A change is seen within 20 ms, and what it answers
 * never decreases within a process. Throws ClockFileError when the file is missing or is not a clock file.
 */
export function fileClock(path: string, realNowMs: () => number = Date.now): Clock {
  let state: ClockState | null = null;
  let readAtMs = 0;
  let lastMs = 0;
  return {
    nowMs() {
      const realMs = realNowMs();
      if (state === null || Math.abs(realMs - readAtMs) >= REREAD_AFTER_MS) {
        state = readClockFile(path);
        readAtMs = realMs;
      }
      lastMs = Math.max(lastMs, virtualNowMs(state, realMs));
      return lastMs;
    },
  };
}

function readClockFile(path: string): ClockState {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new ClockFileError(`the clock file ${path} cannot be read`, { cause });
  }
  return parseClockState(text);
}

function isClockState(value: unknown): value is ClockState {
  if (typeof value !== "object" || value === null) return false;
  if (!("anchorVirtualMs" in value && "anchorRealMs" in value && "rate" in value)) return false;
  return isInstant(value.anchorVirtualMs) && isInstant(value.anchorRealMs) && isRate(value.rate);
}

function isInstant(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isRate(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= RATE_MAX;
}
