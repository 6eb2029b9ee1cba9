import { describe, expect, test } from "vitest";

import { decideCharge } from "../../lib/gate/charge.ts";
import { permitExtend } from "../../lib/gate/extend.ts";
import { decideHeartbeat } from "../../lib/gate/heartbeat.ts";
import { type JobEvent, type JobPhase, phaseOf, reactionTo } from "../../lib/gate/job-state.ts";
import { makeJob, NOW_MS } from "./fixtures.ts";

const EVENTS: JobEvent[] = ["charge", "heartbeat", "takeOver", "extend", "settle", "kill", "sweep"];

/** One row a phase, one column an event, in the order of EVENTS. */
const TABLE: Record<JobPhase, string[]> = {
  live: ["apply", "apply", "apply", "apply", "apply", "apply", "ignore"],
  lapsed: ["expire", "expire", "expire", "expire", "expire", "expire", "expire"],
  expired: [
    "lease_lost",
    "lease_lost",
    "lease_lost",
    "lease_lost",
    "stored_outcome",
    "stored_outcome",
    "ignore",
  ],
  completed: [...Array.from({ length: 6 }, () => "stored_outcome"), "ignore"],
  failed: [...Array.from({ length: 6 }, () => "stored_outcome"), "ignore"],
  cancelled: [...Array.from({ length: 6 }, () => "stored_outcome"), "ignore"],
  capped: [...Array.from({ length: 6 }, () => "stored_outcome"), "ignore"],
};

const ROWS = Object.entries(TABLE).flatMap(([phase, row]) =>
  EVENTS.map((event, column) => [phase as JobPhase, event, row[column]!] as const),
);

function jobIn(phase: JobPhase) {
  if (phase === "live") return makeJob();
  if (phase === "lapsed") return makeJob({ leaseExpiresAtMs: NOW_MS });
  return makeJob({ status: phase, endedAtMs: NOW_MS });
}

describe("A28: every state with every event", () => {
  test.each(ROWS)("%s + %s = %s", (phase, event, reaction) => {
    expect(reactionTo(phaseOf(jobIn(phase), NOW_MS), event)).toBe(reaction);
  });

  test("the rules give the answers of the table", () => {
    const answers = { apply: ["charge", "renew", "apply"], expire: ["expire", "expire", "expire"] };
    const others = { lease_lost: "lease_lost", stored_outcome: "not_running" };
    for (const phase of Object.keys(TABLE) as JobPhase[]) {
      const job = jobIn(phase);
      const reaction = reactionTo(phase, "charge");
      const expected =
        reaction === "apply" || reaction === "expire"
          ? answers[reaction]
          : Array.from({ length: 3 }, () => others[reaction as keyof typeof others]);
      expect([
        decideCharge(job, { step: 1, units: 1, fence: 1 }, NOW_MS).kind,
        decideHeartbeat(job, { fence: 1, takeOver: false }, NOW_MS).kind,
        permitExtend(job, 1, NOW_MS),
      ]).toEqual(expected);
    }
  });
});

describe("charge", () => {
  const live = makeJob({ step: 3, lastStepUnits: 7, usedUnits: 95 });

  test.each([
    [
      "the next step",
      live,
      { step: 4, units: 5, fence: 1 },
      { kind: "charge", chargedUnits: 5, cappedUnits: 0 },
    ],
    [
      "A12: past the hold",
      live,
      { step: 4, units: 80, fence: 1 },
      { kind: "charge", chargedUnits: 5, cappedUnits: 75 },
    ],
    [
      "the last step again",
      live,
      { step: 3, units: 7, fence: 1 },
      { kind: "replay", chargedUnits: 7, capped: false },
    ],
    [
      "a step before the last",
      live,
      { step: 2, units: 7, fence: 1 },
      { kind: "step_conflict", expectedStep: 4 },
    ],
    ["a step too far", live, { step: 5, units: 7, fence: 1 }, { kind: "step_conflict", expectedStep: 4 }],
    ["an older fence", { ...live, fence: 2 }, { step: 4, units: 5, fence: 1 }, { kind: "lease_lost" }],
    [
      "the capping step again, after it ended the job",
      makeJob({ status: "capped", step: 1, lastStepUnits: 100, usedUnits: 100 }),
      { step: 1, units: 300, fence: 1 },
      { kind: "replay", chargedUnits: 100, capped: true },
    ],
    [
      "A30: the last step again, after the lease",
      { ...live, leaseExpiresAtMs: NOW_MS },
      { step: 3, units: 7, fence: 1 },
      { kind: "expire" },
    ],
  ])("%s", (_name, job, request, expected) => {
    expect(decideCharge(job, request, NOW_MS)).toMatchObject(expected);
  });

  test("every charge renews the lease", () => {
    const decision = decideCharge(
      makeJob({ leaseExpiresAtMs: NOW_MS + 1 }),
      { step: 1, units: 0, fence: 1 },
      NOW_MS,
    );
    expect(decision).toMatchObject({ patch: { leaseExpiresAtMs: NOW_MS + 120_000 } });
  });
});

test("a take-over needs no fence and raises it", () => {
  const job = makeJob({ fence: 3 });
  expect(decideHeartbeat(job, { fence: 0, takeOver: true }, NOW_MS)).toMatchObject({ patch: { fence: 4 } });
  expect(decideHeartbeat(job, { fence: 2, takeOver: false }, NOW_MS)).toEqual({ kind: "lease_lost" });
});
