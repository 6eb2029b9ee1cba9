/** The times of events, to the nanosecond and with an offset, as Kinde writes them. Pure. */
import { MINUTE_MS } from "../../shared/durations.ts";
import { timestampText } from "./timestamps.ts";

const NS_PER_MS = 1_000_000;

/** A clock that a test stands still for longer than this, or puts back, is followed rather than kept ahead of. */
const AHEAD_MS_MAX = MINUTE_MS;

export interface EventTime {
  readonly ms: number;
  /** 0 to 999,999, within the millisecond. */
  readonly ns: number;
}

/**
 * The time of an event that happens now: later than that of the one before, also in the same millisecond. `random` gives
 * 0 <= x < 1.
 */
export function nextEventTime(nowMs: number, before: EventTime | null, random: () => number): EventTime {
  const isBehind = before !== null && before.ms >= nowMs && before.ms - nowMs < AHEAD_MS_MAX;
  if (!isBehind) return { ms: nowMs, ns: Math.floor(random() * (NS_PER_MS / 2)) };
  return later(before, { ms: 0, ns: 1_000 + Math.floor(random() * 9_000) });
}

export function later(time: EventTime, by: EventTime): EventTime {
  const ns = time.ns + by.ns;
  return { ms: time.ms + by.ms + Math.floor(ns / NS_PER_MS), ns: ns % NS_PER_MS };
}

/** "2026-10-21T02:29:24.481368869+11:00" */
export function eventTimeText({ ms, ns }: EventTime): string {
  const text = timestampText(ms, { twoDigitOffset: true });
  const at = text.length - "+11".length;
  return `${text.slice(0, at)}${String(ns).padStart(6, "0")}${text.slice(at)}:00`;
}
