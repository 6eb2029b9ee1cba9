"use client";

import type { LabSide, LabStep, LaneState, SideState } from "../../../lib/lab/replay.ts";
import { Badge, type Tone } from "../../components/badge.tsx";
import { formatUnits } from "../../components/format.ts";
import { MeterBar, MeterMark } from "../../components/meter-bar.tsx";
import { Figure, Panel } from "../../components/panel.tsx";
import { LimitBar } from "./limit-bar.tsx";
import { type LabAsked, laneWords, SIDE_NAMES } from "./lab-words.ts";

export const SIDE_ABOUT: Readonly<Record<LabSide, string>> = {
  plain: "Reads the total, runs, counts at the end. Jobs that still run are in nobody's count.",
  held: "Checks and sets the units aside in one step, before the job starts. Then it runs from what it holds.",
};

/** One side of the lab at one moment of the record. */
export function LabSidePanel(props: {
  side: LabSide;
  state: SideState;
  asked: LabAsked;
  /** The steps of the frame that is shown. */
  frame: readonly LabStep[];
}) {
  const { side, state, asked, frame } = props;
  const { limitUnits, jobs, units } = asked;
  const { spentUnits, countedUnits, heldUnits } = state;
  const overUnits = Math.max(0, spentUnits - limitUnits);
  const isPlain = side === "plain";
  const aside = isPlain ? 0 : Math.max(0, countedUnits + heldUnits - spentUnits);
  // Spent by jobs that still run: on the plain side in nobody's count, on the other part of what is held.
  const runningUnits = Math.max(0, spentUnits - countedUnits);
  const freeUnits = Math.max(0, limitUnits - countedUnits - heldUnits);
  const label = isPlain
    ? `${formatUnits(spentUnits)} spent against a limit of ${formatUnits(limitUnits)}`
    : `${formatUnits(spentUnits)} spent and ${formatUnits(aside)} held against a limit of ${formatUnits(limitUnits)}`;
  return (
    <Panel id={side} title={SIDE_NAMES[side]} about={SIDE_ABOUT[side]}>
      <p
        className={`text-2xl font-semibold tracking-tight tabular-nums ${overUnits > 0 ? "text-bad" : "text-good"}`}
      >
        {overUnits > 0 ? `${formatUnits(overUnits)} over the limit` : "Within the limit"}
      </p>
      <LimitBar
        label={label}
        limitUnits={limitUnits}
        scaleUnits={Math.max(limitUnits, jobs * units)}
        spentUnits={spentUnits}
        heldUnits={aside}
      />
      <p className="rounded-md bg-sunken px-3 py-2 text-sm text-muted">
        {isPlain ? "What the check sees" : "What the gate sees"}:{" "}
        <span className="font-medium text-ink tabular-nums">
          {formatUnits(countedUnits)} used{!isPlain && `, ${formatUnits(heldUnits)} held`},{" "}
          {formatUnits(freeUnits)} free
        </span>
        <span className="block tabular-nums">
          {isPlain
            ? `Not seen: ${formatUnits(runningUnits)} that running jobs have spent so far`
            : `Of what is held: ${formatUnits(runningUnits)} spent so far, ${formatUnits(aside)} not spent yet`}
        </span>
      </p>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-[repeat(3,auto)]">
        <Figure name="Started">
          {formatUnits(state.started)} of {formatUnits(jobs)}
        </Figure>
        <Figure name="Refused">{formatUnits(state.refused)}</Figure>
        <Figure name="Held, not spent yet" mark={<MeterMark look="held" />}>
          {formatUnits(aside)}
        </Figure>
        <Figure name="Spent so far" mark={<MeterMark look="used" />}>
          {formatUnits(spentUnits)}
        </Figure>
        <Figure name="Over the limit" mark={<MeterMark look="over" />}>
          <span className={overUnits > 0 ? "text-bad" : ""}>{formatUnits(overUnits)}</span>
        </Figure>
      </dl>
      <ol
        aria-label={`Jobs of the ${SIDE_NAMES[side].toLowerCase()}`}
        className="-mx-2 flex max-h-104 flex-col overflow-y-auto px-2"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- so that the keyboard can scroll it
        tabIndex={0}
      >
        {state.lanes.map((lane, index) => (
          <Lane
            // A lane is its number.
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            number={index + 1}
            isNow={frame.some((step) => step.side === side && step.lane === index)}
            {...{ side, lane, asked }}
          />
        ))}
      </ol>
    </Panel>
  );
}

function Lane(props: { side: LabSide; number: number; lane: LaneState; asked: LabAsked; isNow: boolean }) {
  const { side, number, lane, asked, isNow } = props;
  const { tone, text } = stateOf(side, lane, asked);
  const isHeld = side === "held" && lane.state === "running";
  return (
    <li
      className={`flex flex-col gap-1.5 rounded-md px-2 py-2 text-sm ${isNow ? "ring-1 ring-accent ring-inset" : ""}`}
    >
      <p className="flex items-center gap-2">
        <span className="w-14 shrink-0 font-medium tabular-nums">Job {number}</span>
        <span className="min-w-0 flex-1 text-muted tabular-nums">{laneWords(side, lane, asked)}</span>
        <Badge tone={tone}>{text}</Badge>
      </p>
      <MeterBar
        isSmall
        label={`job ${number}: ${formatUnits(lane.spentUnits)} of ${formatUnits(asked.units)} spent`}
        whole={asked.units}
        parts={[
          { name: "spent", units: lane.spentUnits, look: "used" },
          { name: "held", units: isHeld ? asked.units - lane.spentUnits : 0, look: "held" },
        ]}
      />
    </li>
  );
}

function stateOf(side: LabSide, lane: LaneState, { units, steps }: LabAsked): { tone: Tone; text: string } {
  switch (lane.state) {
    case "asking":
      return { tone: "neutral", text: "asking" };
    case "refused":
      return { tone: "warn", text: "refused" };
    case "finished":
      return { tone: "good", text: "completed" };
    case "stopped":
      return { tone: "bad", text: "stopped" };
    case "running": {
      const step = Math.round((lane.spentUnits / units) * steps);
      const before = side === "plain" ? "started" : "admitted";
      return { tone: "accent", text: step === 0 ? before : `step ${step} of ${steps}` };
    }
  }
}
