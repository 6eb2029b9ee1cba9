import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

/** The paths that start a job today: a worker with an API key, the hosted step runner, a held lane of the lab. */

interface JobRow extends StoredRow {
  readonly status: string;
  readonly usedUnits: number;
  readonly heldUnits: number;
}

interface LabTotals {
  readonly held: { readonly started: number; readonly refused: number; readonly spentUnits: number };
}

const RUNNER = { steps: 5, stepUnits: 20, stepMs: 2_000 };

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 100, jobsPerMinute: 10_000 });
});
afterEach(() => backend.close());

function startLab(options: { jobs: number; limitUnits: number }): Promise<{ labRunId: string }> {
  const lab = { units: 100, steps: RUNNER.steps, stepMs: RUNNER.stepMs, ...options };
  return operatorOf(backend).mutation<{ labRunId: string }>("lab:start", lab);
}

/** Takes away every scheduled step, as a crash between two steps would. */
async function loseScheduledSteps(): Promise<void> {
  const scheduled = await backend.readAll<StoredRow & { state: { kind: string } }>("_scheduled_functions");
  for (const row of scheduled.filter(({ state }) => state.kind === "pending")) {
    await backend.patchRow(row._id, { state: { kind: "canceled" } });
  }
}

describe("A11: 20 starts at once with room for one", () => {
  test.each([
    ["by a worker", {}],
    ["on the step runner", { runner: RUNNER }],
  ])("%s: one admission", async (_path, extra) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => tenant.admit({ key: `k${index}`, units: 100, ...extra })),
    );
    expect(answers.filter(({ kind }) => kind === "admitted")).toHaveLength(1);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 100, freeUnits: 0 });
  });

  test("in the lab: one held lane starts", async () => {
    const { labRunId } = await startLab({ jobs: 20, limitUnits: 100 });
    await backend.advanceMs(30_000);
    const totals = await operatorOf(backend).query<LabTotals>("lab:get", { labRunId });
    expect(totals.held).toEqual({ started: 1, refused: 19, spentUnits: 100 });
  });
});

describe("A29: a job killed on any path is swept", () => {
  test("a worker's", async () => {
    const job = await tenant.start({ key: "k", units: 100, leaseMs: 10_000 });
    await tenant.charge({ jobId: job.id, step: 1, units: 20, fence: 1 });
    await backend.advanceMs(10_000 + 15_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "expired", usedUnits: 20, returnedUnits: 80 });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 20, heldUnits: 0 });
  });

  test("the step runner's", async () => {
    const job = await tenant.start({ key: "k", units: 100, leaseMs: 10_000, runner: RUNNER });
    await backend.advanceMs(2_500);
    await loseScheduledSteps();
    await backend.advanceMs(10_000 + 15_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "expired", usedUnits: 20, returnedUnits: 80 });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 20, heldUnits: 0 });
  });

  test("the lab's", async () => {
    await startLab({ jobs: 2, limitUnits: 200 });
    await backend.advanceMs(2_500);
    await loseScheduledSteps();
    await backend.advanceMs(120_000 + 15_000);
    const jobs = await backend.readAll<JobRow>("jobs");
    expect(jobs).toHaveLength(2);
    for (const job of jobs) expect(job).toMatchObject({ status: "expired", usedUnits: 20, heldUnits: 100 });
    expect(await backend.readAll("budgets")).toMatchObject([{ usedUnits: 40, heldUnits: 0 }]);
  });
});
