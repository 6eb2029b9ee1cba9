"use client";

import { useSyncExternalStore } from "react";

/** One clock for the whole page, once a second, while anybody looks at it. */
let nowMs: number | null = null;
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function tick(): void {
  nowMs = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1000);
  // A clock that stood still tells the time of its last tick.
  nowMs = Date.now();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** The reader's clock for ages and countdowns. Null before hydration. */
export function useNow(): number | null {
  return useSyncExternalStore(
    subscribe,
    () => nowMs,
    () => null,
  );
}

/** What the clock comes to. It renders again when that has changed, and not with each tick. Null before hydration. */
export function useNowAs<Value extends string | number | boolean | null>(
  derive: (nowMs: number) => Value,
): Value | null {
  return useSyncExternalStore(
    subscribe,
    () => (nowMs === null ? null : derive(nowMs)),
    () => null,
  );
}
