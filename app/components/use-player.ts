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
  const isPlaying = place.isPlaying && canPlay && place.at < count;
  const at = place.isPlaying && (!canPlay || speed === "instant") ? count : place.at;
  const waitMs = isPlaying && at < count ? delayMs(at) * (speed === "slow" ? SLOWER : 1) : null;

  useEffect(() => {
    if (waitMs === null) return undefined;
    const timer = setTimeout(() => setPlace((now) => ({ ...now, at: Math.min(at + 1, count) })), waitMs);
    return () => clearTimeout(timer);
  }, [waitMs, at, count]);

  return {
    at,
    count,
    isPlaying: isPlaying && at < count,
    canPlay,
    play: () => setPlace({ at: at === count ? 0 : at, isPlaying: true }),
    pause: () => setPlace({ at, isPlaying: false }),
    go: (to) => setPlace({ at: Math.max(0, Math.min(to, count)), isPlaying: false }),
  };
}
