"use client";

import { ChevronLeft, ChevronRight, Pause, Play, RotateCcw, SkipBack, SkipForward } from "lucide-react";
import { useEffect, useRef } from "react";
import { Button, IconButton } from "./button.tsx";
import { SelectField } from "./field.tsx";
import { type Player, type Speed, SPEEDS } from "./use-player.ts";

/** Play, pause, one step, a jump, and the speed. The arrow keys step anywhere on the page but in a field. */
export function PlayerBar(props: {
  player: Player;
  /** What a step is called: "Delivery". */
  step: string;
  speed: Speed;
  onSpeed: (speed: Speed) => void;
  /** The reader has just asked for what is played: it comes into sight. */
  isAsked: boolean;
}) {
  const { player, step, speed, onSpeed, isAsked } = props;
  const { at, count, isPlaying, canPlay, play, pause, go } = player;
  useArrowKeys(player);
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isAsked) bar.current?.scrollIntoView({ block: "start" });
  }, [isAsked]);
  const name = step.toLowerCase();
  return (
    <div
      ref={bar}
      role="group"
      aria-label="Playback"
      className="sticky top-0 z-10 flex scroll-mt-4 flex-wrap items-center gap-x-3 gap-y-2 rounded-xl border border-line bg-card px-3 py-2 shadow-sm sm:px-4"
    >
      <div className="flex items-center">
        <IconButton label="To the start" disabled={at === 0} onClick={() => go(0)}>
          <SkipBack aria-hidden className="size-4" />
        </IconButton>
        <IconButton label={`One ${name} back`} disabled={at === 0} onClick={() => go(at - 1)}>
          <ChevronLeft aria-hidden className="size-4" />
        </IconButton>
        {canPlay && <PlayButton {...{ at, count, isPlaying, play, pause }} />}
        <IconButton label={`One ${name} forward`} disabled={at === count} onClick={() => go(at + 1)}>
          <ChevronRight aria-hidden className="size-4" />
        </IconButton>
        <IconButton label="To the end" disabled={at === count} onClick={() => go(count)}>
          <SkipForward aria-hidden className="size-4" />
        </IconButton>
      </div>
      <input
        type="range"
        aria-label={step}
        min={0}
        max={count}
        value={at}
        onChange={(event) => go(Number(event.target.value))}
        className="order-last min-w-32 flex-1 basis-full accent-accent sm:order-none sm:basis-0"
      />
      <p className="text-sm whitespace-nowrap text-muted tabular-nums">
        {step} {at} of {count}
      </p>
      {canPlay && (
        <SelectField
          label="Speed"
          hideLabel
          className="ml-auto w-28"
          value={speed}
          onChange={(event) => onSpeed(event.target.value as Speed)}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </SelectField>
      )}
    </div>
  );
}

function PlayButton(props: Pick<Player, "at" | "count" | "isPlaying" | "play" | "pause">) {
  const { at, count, isPlaying, play, pause } = props;
  const [Icon, text] = isPlaying
    ? ([Pause, "Pause"] as const)
    : at === count
      ? ([RotateCcw, "Replay"] as const)
      : ([Play, "Play"] as const);
  return (
    <Button size="sm" look="primary" onClick={isPlaying ? pause : play} className="mx-1 w-24">
      <Icon aria-hidden className="size-4" />
      {text}
    </Button>
  );
}

const FIELDS = "input, select, textarea, [role=dialog], [role=alertdialog]";

function useArrowKeys({ at, go }: Player): void {
  const turn = useRef((_by: number) => {});
  useEffect(() => {
    turn.current = (by) => go(at + by);
  });
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const hasModifier = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      if (by === 0 || hasModifier || (event.target as Element | null)?.closest?.(FIELDS)) return;
      event.preventDefault();
      turn.current(by);
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
