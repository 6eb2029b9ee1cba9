"use client";

import { useEffect, useState } from "react";
import { useReducedMotion } from "./use-reduced-motion.ts";

export const SPEEDS = ["slow", "normal", "instant"] as const;
export type Speed = (typeof SPEEDS)[number];

const SLOWER = 3;

export interface Player {
  /** How many steps are shown, from 0 to `count`. */
  readonly at: number;
  readonly count: number;
  readonly isPlaying: boolean;
  /** False for a reader who asked for no motion: there is nothing to play, only steps to take. */
  readonly canPlay: boolean;
  readonly play: () => void;
  readonly pause: () => void;
  /** Goes to a step and stays there. */
  readonly go: (at: number) => void;
}

/**
 * Plays something that has steps. It plays by itself from the start with `isFresh`, else it stands at the end.
 * `delayMs` tells how long a step is shown at the normal speed. A record that grows must not be given to it.
 */
export function usePlayer(props: {
  count: number;
  isFresh: boolean;
  speed: Speed;
  delayMs: (at: number) => number;
}): Player {
  const { count, isFresh, speed, delayMs } = props;
  const canPlay = !useReducedMotion();
  const [place, setPlace] = useState({ at: isFresh ? 0 : count, isPlaying: isFresh });
  // At once is at once: a slower speed, chosen afterwards, does not take it back.
  if (place.isPlaying && (!canPlay || speed === "instant" || place.at === count)) {
    setPlace({ at: count, isPlaying: false });
  }
  const { at, isPlaying } = place;
  const waitMs = isPlaying && at < count ? delayMs(at) * (speed === "slow" ? SLOWER : 1) : null;

  useEffect(() => {
    if (waitMs === null) return undefined;
    const timer = setTimeout(() => setPlace({ at: at + 1, isPlaying: true }), waitMs);
    return () => clearTimeout(timer);
  }, [waitMs, at]);

  return {
    at,
    count,
    isPlaying,
    canPlay,
    play: () => setPlace({ at: at === count ? 0 : at, isPlaying: true }),
    pause: () => setPlace({ at, isPlaying: false }),
    go: (to) => setPlace({ at: Math.max(0, Math.min(to, count)), isPlaying: false }),
  };
}
