import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, SERVER_SECRET } from "../helpers/backend.ts";
import { createTenant, operatorOf } from "../helpers/tenant.ts";

interface LabRun {
  readonly status: string;
  readonly plain: { readonly started: number; readonly spentUnits: number; readonly overUnits: number };
  readonly held: { readonly started: number; readonly refused: number; readonly spentUnits: number };
  readonly lanes: readonly {
    side: string;
    status: string;
    refusal: { code: string; freeUnits: number } | null;
  }[];
}

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

describe("the warm-up account", () => {
  test("is one lab account for an installation, found again by its key, and runs through the gate", async () => {
    const operator = operatorOf(backend);
    const keyHash = "ab".repeat(32);
    const args = { keyHashNew: keyHash, prefix: "hf_live_warm" };
    await operator.mutation("lab:openWarmUp", args);
    await operator.mutation("lab:openWarmUp", args);
    const { accounts } = await operator.query<{ accounts: { name: string }[] }>("accounts:list", {
      cursor: null,
      limit: 10,
    });
    expect(accounts.map(({ name }) => name)).toEqual(["Start-up warm-up"]);
    const admitted = await backend.mutation("gate:admit", {
      serverSecret: SERVER_SECRET,
      keyHash,
      key: "k",
      units: 1,
    });
    expect(admitted).toMatchObject({ kind: "admitted", job: { heldUnits: 1 } });
  });
});

describe("Concurrency Lab", () => {
  const five = { jobs: 5, units: 40_000, limitUnits: 100_000, steps: 4, stepMs: 200 };

  async function runLab(args: object): Promise<LabRun> {
    const operator = operatorOf(backend);
    const { labRunId } = await operator.mutation<{ labRunId: string }>("lab:start", args);
    expect(await operator.query<LabRun>("lab:get", { labRunId })).toMatchObject({ status: "running" });
    await backend.advanceMs(5_000);
    return await operator.query<LabRun>("lab:get", { labRunId });
  }

  test("S1: a plain check starts all five, spends 200,000 and is 100,000 over", async () => {
    const run = await runLab(five);
    expect(run.status).toBe("finished");
    expect(run.plain).toEqual({ started: 5, spentUnits: 200_000, overUnits: 100_000 });
  });

  test("S2: the gate starts two, refuses three naming the 20,000 left, and spends 80,000", async () => {
    const run = await runLab(five);
    expect(run.held).toEqual({ started: 2, refused: 3, spentUnits: 80_000 });
    const refusals = run.lanes.filter((lane) => lane.side === "held" && lane.refusal !== null);
    expect(refusals.map((lane) => [lane.refusal?.code, lane.refusal?.freeUnits])).toEqual([
      ["held_by_running_jobs", 20_000],
      ["held_by_running_jobs", 20_000],
      ["held_by_running_jobs", 20_000],
    ]);
  });

  test("runs on an account of its own and shows in no other", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    await runLab(five);
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 0 });
    expect(await backend.readAll("accounts")).toMatchObject([{ source: "operator" }, { source: "lab" }]);
  });
});

describe("step runner", () => {
  const runner = { steps: 3, stepUnits: 100, stepMs: 1_000 };

  test("charges step by step and settles at the end", async () => {
    const tenant = await createTenant(backend, { limitUnits: 1_000 });
    const job = await tenant.start({ key: "k", units: 400, runner });
    await backend.advanceMs(1_500);
    expect(await tenant.job(job.id)).toMatchObject({ status: "running", step: 1, usedUnits: 100 });
    await backend.advanceMs(2_000);
    expect(await tenant.job(job.id)).toMatchObject({
      status: "completed",
      step: 3,
      usedUnits: 300,
      returnedUnits: 100,
    });
  });

  test("stops at the hold, ends as asked, and is not started twice by a replay", async () => {
    const tenant = await createTenant(backend, { limitUnits: 1_000 });
    const capped = await tenant.start({ key: "capped", units: 150, runner });
    const failed = await tenant.start({ key: "failed", units: 400, runner: { ...runner, endAs: "failed" } });
    expect(await tenant.admit({ key: "capped", units: 150, runner })).toMatchObject({ replayed: true });
    await backend.advanceMs(5_000);
    expect(await tenant.job(capped.id)).toMatchObject({ status: "capped", step: 2, usedUnits: 150 });
    expect(await tenant.job(failed.id)).toMatchObject({ status: "failed", usedUnits: 300 });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 450, heldUnits: 0 });
  });

  test("a killed one leaves its hold to the lease; what has no step cannot be killed", async () => {
    const tenant = await createTenant(backend, { limitUnits: 1_000 });
    const job = await tenant.start({ key: "k", units: 400, runner });
    expect(await tenant.kill(job.id)).toMatchObject({ kind: "killed" });
    expect(await tenant.kill(job.id)).toMatchObject({ kind: "not_running" });
    await backend.advanceMs(60_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "running", step: 0 });
    await backend.advanceMs(75_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "expired" });
    const plain = await tenant.start({ key: "plain", units: 1 });
    expect(await tenant.kill(plain.id)).toMatchObject({ kind: "not_running" });
    expect(await tenant.kill("nonsense")).toEqual({ kind: "not_found" });
  });

  test("a worker that takes the job over stops it", async () => {
    const tenant = await createTenant(backend, { limitUnits: 1_000 });
    const job = await tenant.start({ key: "k", units: 400, runner });
    await tenant.heartbeat({ jobId: job.id, fence: 1, takeOver: true });
    await backend.advanceMs(10_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "running", step: 0, fence: 2 });
  });
});
