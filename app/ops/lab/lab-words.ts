import type { LabSide, LabStep, LaneState, SideState } from "../../../lib/lab/replay.ts";
import { formatUnits } from "../../components/format.ts";

/** What happens in the lab, in words. */

export interface LabAsked {
  readonly jobs: number;
  readonly units: number;
  readonly limitUnits: number;
  readonly steps: number;
}

export const SIDE_NAMES: Readonly<Record<LabSide, string>> = { plain: "Plain check", held: "Hold" };

/** A lane as it stands, in a few words. */
export function laneWords(side: LabSide, lane: LaneState, { units }: LabAsked): string {
  const free = formatUnits(lane.readFreeUnits ?? 0);
  switch (lane.state) {
    case "asking":
      return "asks whether it may start";
    case "refused":
      return `read ${free} free, needs ${formatUnits(units)}`;
    case "running":
      return side === "plain"
        ? `read ${free} free, started`
        : `read ${free} free, set ${formatUnits(units)} aside`;
    case "finished":
      return side === "plain"
        ? `spent ${formatUnits(lane.spentUnits)}, counted at the end`
        : `spent ${formatUnits(lane.spentUnits)} of its hold`;
    case "stopped":
      return "its lease ended, its hold came back";
  }
}

/** One frame of the record in a sentence. */
export function frameWords(frame: readonly LabStep[], asked: LabAsked): string {
  const [first] = frame;
  if (first === undefined) return "";
  if (first.kind === "charged" && frame.length > 1) return chargesWords(frame);
  const units = formatUnits(asked.units);
  const free = formatUnits(first.readFreeUnits ?? 0);
  const who = `${SIDE_NAMES[first.side]}, job ${first.lane + 1}`;
  const isPlain = first.side === "plain";
  switch (first.kind) {
    case "started":
      return isPlain
        ? `${who}: reads ${free} free and starts. Nothing is written down.`
        : `${who}: reads ${free} free and sets ${units} aside, in one step. Then it starts.`;
    case "refused":
      return isPlain
        ? `${who}: reads ${free} free, which is less than ${units}. Refused.`
        : `${who}: reads ${free} free, because the rest is held. It needs ${units}: refused before it costs anything.`;
    case "charged":
      return `${who}: spends ${formatUnits(first.units)}.`;
    case "ended":
      return isPlain
        ? `${who}: is done and counts its ${units}. The count says ${formatUnits(first.countedUnits)} now.`
        : `${who}: is done. Its hold becomes use: ${formatUnits(first.countedUnits)} used, ${formatUnits(first.heldUnits)} held.`;
    case "stopped":
      return `${who}: stops, because its lease ended and its hold came back.`;
  }
}

function chargesWords(frame: readonly LabStep[]): string {
  const sums = (["plain", "held"] as const).flatMap((side) => {
    const units = frame.reduce((sum, step) => sum + (step.side === side ? step.units : 0), 0);
    return units === 0 ? [] : [`${SIDE_NAMES[side]}: ${formatUnits(units)} spent`];
  });
  return `${frame.length} steps. ${sums.join("; ")}.`;
}

/** Why it came to this, of each side. */
export function plainVerdict(side: SideState, { jobs, units, limitUnits }: LabAsked): string {
  const { started, spentUnits } = side;
  if (started === 0)
    return "No job fits into the limit even alone, so the plain check refused every one of them.";
  const over = spentUnits - limitUnits;
  const asked =
    started === jobs
      ? `All ${formatUnits(jobs)} jobs`
      : `${formatUnits(started)} of ${formatUnits(jobs)} jobs`;
  const story = `${asked} asked before any of them had been counted, so each read room that the others were about to use, and started. `;
  const sum = `Together they spent ${formatUnits(started)}\u00a0×\u00a0${formatUnits(units)} = ${formatUnits(spentUnits)}`;
  if (over > 0)
    return `${story}${sum}: ${formatUnits(over)} over the limit. The check was not wrong when it read; it was out of date a moment later.`;
  return `${story}${sum}, which is within the limit. It did no harm this time, only because there was room for all.`;
}

export function heldVerdict(side: SideState, { jobs, units, limitUnits }: LabAsked): string {
  const { started, refused, spentUnits, lanes } = side;
  const held =
    started === 0
      ? "No job got a hold."
      : `${formatUnits(started)} of ${formatUnits(jobs)} jobs set ${formatUnits(units)} aside before they started, in the same transaction that read what was free. `;
  const left = Math.min(
    ...lanes.flatMap((lane) => (lane.state === "refused" ? (lane.readFreeUnits ?? 0) : [])),
  );
  const others =
    refused === 0
      ? "All of them had room. "
      : `${started === 0 ? " Each" : "Each of the others"} read what that left, ${formatUnits(left)}, and was refused at once with that number: nothing was spent on it. `;
  return `${held}${others}${formatUnits(spentUnits)} spent of ${formatUnits(limitUnits)}. At no moment were used and held together more than the limit.`;
}
