"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { FlaskConicalOff } from "lucide-react";
import { useMemo } from "react";
import { api } from "../../../convex/_generated/api";
import { framesOf, type LabStep, stateAfter } from "../../../lib/lab/replay.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";
import { PlayerBar } from "../../components/player-bar.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { type Player, type Speed, usePlayer } from "../../components/use-player.ts";
import { useReducedMotion } from "../../components/use-reduced-motion.ts";
import { LabSidePanel } from "./lab-side.tsx";
import { frameWords, heldVerdict, type LabAsked, plainVerdict } from "./lab-words.ts";

type Run = NonNullable<FunctionReturnType<typeof api.lab.get>>;

interface SpeedProps {
  readonly speed: Speed;
  readonly onSpeed: (speed: Speed) => void;
}

/** A run: while it goes on how far it is, and then its record, played. */
export function LabRun(props: { labRunId: string; isFresh: boolean; isAsked: boolean } & SpeedProps) {
  const { labRunId, isFresh, isAsked, ...speed } = props;
  const run = useQuery(api.lab.get, { labRunId });
  // The record of a run that goes on would come anew with each of its steps.
  const isOver = run?.status === "finished";
  const record = useQuery(api.lab.record, isOver ? { labRunId } : "skip");
  if (run === undefined) return <Loading what="the run" rows={8} />;
  if (run === null) {
    return <Empty icon={FlaskConicalOff} title="There is no such run" />;
  }
  if (!isOver) return <Running run={run} />;
  if (record === undefined) return <Loading what="the record of the run" rows={8} />;
  if (record.length === 0) {
    return (
      <Notice tone="info" title="This run has no record of its steps" next="Run it again to see them.">
        It was made by an older version: plain check {run.plain.spentUnits} spent, hold {run.held.spentUnits}{" "}
        spent.
      </Notice>
    );
  }
  return <Replay run={run} record={record} isFresh={isFresh} isAsked={isAsked} {...speed} />;
}

function Running({ run }: { run: Run }) {
  const ended = run.lanes.filter(({ status }) => status === "finished" || status === "refused").length;
  return (
    <Panel
      id="running"
      title="The jobs are running"
      about="For real, through the database. What happens is recorded, and played as soon as they have ended."
    >
      <progress
        aria-label="Jobs that have ended"
        className="h-2 w-full accent-accent"
        value={ended}
        max={run.lanes.length}
      />
      <p role="status" className="text-sm text-muted tabular-nums">
        {ended} of {run.lanes.length} have ended
      </p>
    </Panel>
  );
}

function Replay({
  run,
  record,
  isFresh,
  isAsked,
  speed,
  onSpeed,
}: { run: Run; record: readonly LabStep[]; isFresh: boolean; isAsked: boolean } & SpeedProps) {
  const frames = useMemo(() => framesOf(record), [record]);
  const delay = useMemo(() => delaysOf(frames), [frames]);
  const player = usePlayer({ count: frames.length, isFresh, speed, delayMs: (at) => delay[at] ?? 0 });
  const { at, count, isPlaying } = player;
  const { plain, held } = useMemo(() => stateAfter(run.jobs, frames, at), [run.jobs, frames, at]);
  const frame = frames[at - 1] ?? [];
  const words = at === 0 ? beginWords(run, record) : frameWords(frame, run);
  return (
    <>
      <PlayerBar player={player} step="Step" speed={speed} onSpeed={onSpeed} isAsked={isAsked} />
      {/* Read out step by step, but not while it plays: nobody could listen that fast. */}
      <p
        aria-live={isPlaying ? "off" : "polite"}
        className="-mt-2 min-h-10 px-1 text-sm text-pretty sm:min-h-5"
      >
        {words}
      </p>
      <div className="grid gap-6 lg:grid-cols-2">
        <LabSidePanel side="plain" state={plain} asked={run} frame={frame} />
        <LabSidePanel side="held" state={held} asked={run} frame={frame} />
      </div>
      {at === count && <Verdict run={run} plain={plain} held={held} />}
      <StepList frames={frames} asked={run} player={player} />
    </>
  );
}

function Verdict({
  run,
  plain,
  held,
}: { run: Run } & Record<"plain" | "held", ReturnType<typeof stateAfter>["plain"]>) {
  return (
    <Panel id="verdict" title="What happened, and why">
      <div className="grid gap-x-6 gap-y-4 text-sm text-pretty lg:grid-cols-2">
        <div className="flex flex-col gap-1">
          <h3 className="font-semibold">
            Why the plain check {plain.spentUnits > run.limitUnits ? "overspends" : "is not enough"}
          </h3>
          <p>{plainVerdict(plain, run)}</p>
        </div>
        <div className="flex flex-col gap-1">
          <h3 className="font-semibold">What the hold did differently</h3>
          <p>{heldVerdict(held, run)}</p>
        </div>
      </div>
    </Panel>
  );
}

function StepList({
  frames,
  asked,
  player,
}: {
  frames: readonly (readonly LabStep[])[];
  asked: LabAsked;
  player: Player;
}) {
  const isStill = useReducedMotion();
  return (
    <details open={isStill} className="rounded-xl border border-line bg-card p-4 text-sm sm:px-6">
      <summary className="cursor-pointer font-medium">All {frames.length} steps in words</summary>
      <ol className="mt-3 flex max-h-96 flex-col overflow-y-auto">
        {frames.map((frame, index) => (
          // A frame is its number.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index}>
            <button
              type="button"
              aria-current={player.at === index + 1 ? "step" : undefined}
              onClick={() => player.go(index + 1)}
              className="flex w-full cursor-pointer gap-3 rounded px-2 py-1 text-left text-muted hover:bg-sunken hover:text-ink aria-[current=step]:bg-accent-soft aria-[current=step]:text-ink"
            >
              <span className="w-8 shrink-0 text-right tabular-nums">{index + 1}</span>
              <span className="min-w-0">{frameWords(frame, asked)}</span>
            </button>
          </li>
        ))}
      </ol>
    </details>
  );
}

function beginWords({ jobs, startedAtMs }: Run, record: readonly LabStep[]): string {
  const tookMs = (record.at(-1)?.atMs ?? startedAtMs) - startedAtMs;
  return `All ${jobs} jobs ask at the same moment, on both sides. In truth it took ${(tookMs / 1000).toFixed(1)} s; it is played more slowly.`;
}

/** How long the state before each frame is shown. A long record is played faster, so that nobody waits for minutes. */
const DELAYS_MS: Readonly<Record<LabStep["kind"], number>> = {
  started: 800,
  refused: 800,
  charged: 180,
  ended: 450,
  stopped: 800,
};
const WHOLE_MS_MAX = 25_000;

function delaysOf(frames: readonly (readonly LabStep[])[]): readonly number[] {
  const delays = frames.map(([first]) => (first === undefined ? 0 : DELAYS_MS[first.kind]));
  const wholeMs = delays.reduce((sum, ms) => sum + ms, 0);
  const factor = Math.min(1, WHOLE_MS_MAX / wholeMs);
  return delays.map((ms) => ms * factor);
}
