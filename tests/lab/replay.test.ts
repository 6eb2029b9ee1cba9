import { describe, expect, test } from "vitest";
import { framesOf, type LabSide, type LabStep, stateAfter } from "../../lib/lab/replay.ts";

function step(kind: LabStep["kind"], side: LabSide, lane: number, more: Partial<LabStep> = {}): LabStep {
  return { side, lane, kind, readFreeUnits: null, units: 0, countedUnits: 0, heldUnits: 0, atMs: 0, ...more };
}

describe("frames", () => {
  test("a short record has one frame for each step", () => {
    const record = [step("started", "plain", 0), step("charged", "plain", 0), step("ended", "plain", 0)];
    expect(framesOf(record)).toEqual(record.map((one) => [one]));
  });

  test("charges of a long record share frames; answers and ends never do, and nothing is lost", () => {
    const record = [
      step("started", "held", 0),
      ...Array.from({ length: 100 }, () => step("charged", "held", 0)),
      step("ended", "held", 0),
    ];
    const frames = framesOf(record);
    expect(frames.map((frame) => frame.length)).toEqual([1, ...Array.from({ length: 33 }, () => 3), 1, 1]);
    expect(frames.flat()).toEqual(record);
  });

  test("a run without a record has none", () => {
    expect(framesOf([])).toEqual([]);
  });
});

describe("the state after some frames", () => {
  const frames = framesOf([
    step("started", "plain", 0, { readFreeUnits: 10 }),
    step("started", "held", 0, { readFreeUnits: 10, heldUnits: 8 }),
    step("refused", "held", 1, { readFreeUnits: 2, heldUnits: 8 }),
    step("charged", "plain", 0, { units: 8 }),
    step("ended", "plain", 0, { countedUnits: 8 }),
    step("stopped", "held", 0, { countedUnits: 0, heldUnits: 0 }),
  ]);

  test("before the first every lane has asked and has no answer", () => {
    const { plain, held } = stateAfter(2, frames, 0);
    for (const { lanes, ...sums } of [plain, held]) {
      expect(lanes.map(({ state }) => state)).toEqual(["asking", "asking"]);
      expect(sums).toEqual({
        started: 0,
        refused: 0,
        ended: 0,
        spentUnits: 0,
        countedUnits: 0,
        heldUnits: 0,
      });
    }
  });

  test("what was spent is known before it is counted", () => {
    expect(stateAfter(2, frames, 4).plain).toMatchObject({ spentUnits: 8, countedUnits: 0, ended: 0 });
    expect(stateAfter(2, frames, 5).plain).toMatchObject({ spentUnits: 8, countedUnits: 8, ended: 1 });
  });

  test("a lane keeps what it read when it asked", () => {
    const { held } = stateAfter(2, frames, 6);
    expect(held.lanes).toEqual([
      { state: "stopped", readFreeUnits: 10, spentUnits: 0 },
      { state: "refused", readFreeUnits: 2, spentUnits: 0 },
    ]);
    expect(held).toMatchObject({ started: 1, refused: 1, ended: 1, heldUnits: 0 });
  });
});
