/* The record of a Concurrency Lab run, played again frame by frame. Nothing is worked out that was not recorded. */

export type LabSide = "plain" | "held";

/** One thing that happened in a lane, in the order in which it was committed. */
export interface LabStep {
  readonly side: LabSide;
  /** From 0. */
  readonly lane: number;
  /** `stopped`: the job had been ended by somebody else, such as the sweeper. */
  readonly kind: "started" | "refused" | "charged" | "ended" | "stopped";
  /** What the lane read when it asked; null for all but the answers. */
  readonly readFreeUnits: number | null;
  /** What this step spent. */
  readonly units: number;
  /** What the side's own books say after it: counted as used, and set aside. */
  readonly countedUnits: number;
  readonly heldUnits: number;
  readonly atMs: number;
}

export interface LaneState {
  readonly state: "asking" | "running" | "finished" | "refused" | "stopped";
  readonly readFreeUnits: number | null;
  readonly spentUnits: number;
}

export interface SideState {
  readonly lanes: readonly LaneState[];
  readonly started: number;
  readonly refused: number;
  readonly ended: number;
  /** What the jobs have really spent, whatever the books say. */
  readonly spentUnits: number;
  readonly countedUnits: number;
  readonly heldUnits: number;
}

export type LabState = Readonly<Record<LabSide, SideState>>;

/** A longer record shows several charges in one frame, so that it plays in about the same time. */
const CHARGE_FRAMES_MAX = 40;

/** The record in frames. A frame has one answer or one end, or charges that followed each other. */
export function framesOf(steps: readonly LabStep[]): readonly (readonly LabStep[])[] {
  const chargeCount = steps.filter(({ kind }) => kind === "charged").length;
  const chargesMax = Math.ceil(chargeCount / CHARGE_FRAMES_MAX);
  const frames: LabStep[][] = [];
  for (const step of steps) {
    const last = frames.at(-1);
    const joins = step.kind === "charged" && last?.[0]?.kind === "charged" && last.length < chargesMax;
    if (joins) last.push(step);
    else frames.push([step]);
  }
  return frames;
}

/** What the record says up to and including its first `frameCount` frames. At 0 all have asked and none has an answer. */
export function stateAfter(
  jobs: number,
  frames: readonly (readonly LabStep[])[],
  frameCount: number,
): LabState {
  const steps = frames.slice(0, frameCount).flat();
  return { plain: sideAfter(jobs, steps, "plain"), held: sideAfter(jobs, steps, "held") };
}

function sideAfter(jobs: number, steps: readonly LabStep[], side: LabSide): SideState {
  const lanes: LaneState[] = Array.from({ length: jobs }, () => ({
    state: "asking",
    readFreeUnits: null,
    spentUnits: 0,
  }));
  let last: LabStep | null = null;
  for (const step of steps) {
    if (step.side !== side) continue;
    last = step;
    const lane = lanes[step.lane];
    if (lane === undefined) continue;
    lanes[step.lane] = {
      state: STATES[step.kind],
      readFreeUnits: step.readFreeUnits ?? lane.readFreeUnits,
      spentUnits: lane.spentUnits + step.units,
    };
  }
  const count = (...states: LaneState["state"][]) =>
    lanes.filter(({ state }) => states.includes(state)).length;
  return {
    lanes,
    started: count("running", "finished", "stopped"),
    refused: count("refused"),
    ended: count("finished", "stopped"),
    spentUnits: lanes.reduce((sum, { spentUnits }) => sum + spentUnits, 0),
    countedUnits: last?.countedUnits ?? 0,
    heldUnits: last?.heldUnits ?? 0,
  };
}

const STATES: Readonly<Record<LabStep["kind"], LaneState["state"]>> = {
  started: "running",
  charged: "running",
  ended: "finished",
  refused: "refused",
  stopped: "stopped",
};
