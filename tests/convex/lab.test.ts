import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { framesOf, type LabStep, stateAfter } from "../../lib/lab/replay.ts";
import { type Backend, createBackend, SERVER_SECRET, type StoredRow } from "../helpers/backend.ts";
import { createTenant, operatorOf } from "../helpers/tenant.ts";

interface LabRun {
  readonly labRunId: string;
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
    const accounts = await backend.readAll<StoredRow & { name: string }>("accounts");
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

  const start = (args: object) => operatorOf(backend).mutation<{ labRunId: string }>("lab:start", args);
  const readRecord = (labRunId: string) => operatorOf(backend).query<LabStep[]>("lab:record", { labRunId });

  async function runLab(args: object): Promise<LabRun> {
    const operator = operatorOf(backend);
    const { labRunId } = await start(args);
    await backend.advanceMs(5_000);
    return await operator.query<LabRun>("lab:get", { labRunId });
  }

  test("S1: a plain check starts all five, spends 200,000 and is 100,000 over", async () => {
    const { labRunId } = await start(five);
    // Its steps wait for the clock.
    const get = () => operatorOf(backend).query<LabRun>("lab:get", { labRunId });
    expect(await get()).toMatchObject({ status: "running" });
    await backend.advanceMs(5_000);
    const run = await get();
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

  test("the record of a run has every step of both sides, and comes to the figures of the run", async () => {
    const run = await runLab(five);
    const record = await readRecord(run.labRunId);
    const frames = framesOf(record);
    const { plain, held } = stateAfter(5, frames, frames.length);
    expect(plain).toMatchObject({ started: 5, ended: 5, spentUnits: 200_000, countedUnits: 200_000 });
    expect(held).toMatchObject({
      started: 2,
      refused: 3,
      spentUnits: 80_000,
      countedUnits: 80_000,
      heldUnits: 0,
    });
    expect(record.filter(({ kind }) => kind === "charged")).toHaveLength((5 + 2) * 4);

    const read = (side: string) =>
      record.flatMap((step) => (step.side === side && step.readFreeUnits !== null ? step.readFreeUnits : []));
    expect(read("plain")).toEqual([100_000, 100_000, 100_000, 100_000, 100_000]);
    expect(read("held")).toEqual([100_000, 60_000, 20_000, 20_000, 20_000]);
    for (const step of record.filter(({ side }) => side === "held")) {
      expect(step.countedUnits + step.heldUnits).toBeLessThanOrEqual(100_000);
    }
  });

  test("the held side holds at 20 jobs with room for exactly 10, and a lane that cannot fit is refused", async () => {
    const exact = await runLab({ ...five, jobs: 20, units: 5_000, limitUnits: 50_000 });
    expect(exact.held).toEqual({ started: 10, refused: 10, spentUnits: 50_000 });
    expect(exact.plain).toEqual({ started: 20, spentUnits: 100_000, overUnits: 50_000 });
    const none = await runLab({ ...five, limitUnits: 30_000 });
    expect(none.held).toEqual({ started: 0, refused: 5, spentUnits: 0 });
    expect(none.plain).toEqual({ started: 0, spentUnits: 0, overUnits: 0 });
  });

  test.each([
    [{ jobs: 0 }, "jobs must be a whole number from 1 to 50"],
    [{ jobs: 51 }, "jobs must be a whole number from 1 to 50"],
    [{ units: 40_001 }, "units must divide into 4 equal steps: 40,001 does not, 40,000 does"],
    [{ jobs: 50, steps: 20 }, "with 50 jobs, steps of each job may be 10 at most"],
    [{ stepMs: 1 }, "milliseconds of a step must be a whole number from 20 to 5,000"],
  ])("%o is refused with words that say what would do", async (wrong, message) => {
    await expect(start({ ...five, ...wrong })).rejects.toMatchObject({ data: { code: "invalid", message } });
    expect(await backend.readAll("labRuns")).toEqual([]);
  });

  test("a job that the sweeper ended while the engine stood still ends its lane, which then says so", async () => {
    const { labRunId } = await start({ ...five, jobs: 1 });
    await backend.advanceMs(300);
    const [job] = await backend.readAll<StoredRow & { leaseExpiresAtMs: number }>("jobs");
    await backend.patchRow(job!._id, { leaseExpiresAtMs: backend.nowMs() - 1 });
    await backend.advanceMs(5_000);
    const record = await readRecord(labRunId);
    expect(record.filter(({ side }) => side === "held").map(({ kind }) => kind)).toEqual([
      "started",
      "charged",
      "stopped",
    ]);
    expect(await operatorOf(backend).query("lab:get", { labRunId })).toMatchObject({ status: "finished" });
  });

  test("past runs are listed newest first, page by page", async () => {
    const ids: string[] = [];
    for (let run = 0; run < 12; run += 1) ids.push((await start({ ...five, jobs: 1 })).labRunId);
    const list = (cursor: string | null) =>
      operatorOf(backend).query<{ runs: LabRun[]; cursor: string | null }>("lab:list", { cursor });
    const first = await list(null);
    const second = await list(first.cursor);
    expect([...first.runs, ...second.runs].map(({ labRunId }) => labRunId)).toEqual(ids.toReversed());
    expect(second.cursor).toBeNull();
  });

  test("customers, and keys that are no operator's, neither start a run nor see one", async () => {
    const { labRunId } = await start(five);
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const customer = backend.as({ subject: "kp_a" });
    const forbidden = { data: { code: "forbidden" } };
    for (const calls of [customer, tenant]) {
      await expect(calls.mutation("lab:start", five)).rejects.toMatchObject(forbidden);
      await expect(calls.query("lab:get", { labRunId })).rejects.toMatchObject(forbidden);
      await expect(calls.query("lab:record", { labRunId })).rejects.toMatchObject(forbidden);
      await expect(calls.query("lab:list", { cursor: null })).rejects.toMatchObject(forbidden);
    }
    const operator = backend.as({ subject: "kp_b", permissions: ["operate:holdfast"] });
    expect(await operator.query("lab:get", { labRunId: "nonsense" })).toBeNull();
    expect(await operator.query("lab:record", { labRunId: "nonsense" })).toEqual([]);
    expect(await operator.mutation("lab:start", five)).toMatchObject({ labRunId: expect.any(String) });
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
