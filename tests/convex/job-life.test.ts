import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 100_000 });
});
afterEach(() => backend.close());

describe("what a job pays", () => {
  test("S4: what was not used of a hold returns", async () => {
    const job = await tenant.start({ key: "k", units: 40_000 });
    expect(job).toMatchObject({ status: "running", heldUnits: 40_000, usedUnits: 0, step: 0, fence: 1 });
    await tenant.charge({ jobId: job.id, step: 1, units: 31_200, fence: 1 });
    expect(await tenant.settle({ jobId: job.id, outcome: "completed" })).toMatchObject({
      kind: "settled",
      replayed: false,
      job: { status: "completed", usedUnits: 31_200, returnedUnits: 8_800, overCapUnits: 0 },
    });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 31_200, heldUnits: 0, freeUnits: 68_800 });
    expect(await backend.readAll("entries")).toMatchObject([
      { key: job.id, units: 31_200, feature: "tokens", budgetCycle: job.cycle, cycle: job.cycle },
    ]);
  });

  test("S5: a model that uses more than its estimate is charged the hold and stopped", async () => {
    const job = await tenant.start({ key: "k", units: 10_000 });
    const charged = await tenant.charge({ jobId: job.id, step: 1, units: 15_000, fence: 1 });
    expect(charged).toMatchObject({
      kind: "charged",
      chargedUnits: 10_000,
      capped: true,
      job: { status: "capped", usedUnits: 10_000, returnedUnits: 0, overCapUnits: 5_000 },
    });
    expect(await tenant.charge({ jobId: job.id, step: 2, units: 1, fence: 1 })).toMatchObject({
      kind: "not_running",
    });
  });

  test("S6: a job that fails at 60% pays 60%", async () => {
    const job = await tenant.start({ key: "k", units: 10_000 });
    await tenant.charge({ jobId: job.id, step: 1, units: 6_000, fence: 1 });
    expect(await tenant.settle({ jobId: job.id, outcome: "failed" })).toMatchObject({
      job: { status: "failed", usedUnits: 6_000, returnedUnits: 4_000 },
    });
  });

  test("A12: the unit past the hold is refused before the work", async () => {
    const job = await tenant.start({ key: "k", units: 5 });
    const answer = await tenant.charge({ jobId: job.id, step: 1, units: 80, fence: 1 });
    expect(answer).toMatchObject({ chargedUnits: 5, capped: true, job: { status: "capped", usedUnits: 5 } });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 5, heldUnits: 0 });
  });

  test.each([
    [107, { usedUnits: 100, overCapUnits: 7, returnedUnits: 0 }],
    [20, { usedUnits: 60, overCapUnits: 0, returnedUnits: 40 }],
  ])("A15: settling with %s used after 60 of 100 were charged", async (usedUnits, expected) => {
    const job = await tenant.start({ key: "k", units: 100 });
    await tenant.charge({ jobId: job.id, step: 1, units: 60, fence: 1 });
    const settled = await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits });
    expect(settled).toMatchObject({ kind: "settled", job: expected });
  });

  test("a job that used nothing leaves no ledger entry", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    await tenant.settle({ jobId: job.id, outcome: "cancelled" });
    expect(await backend.readAll("entries")).toEqual([]);
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 0 });
  });

  test("settling twice charges once and repeats the first outcome", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    const first = await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 30 });
    const second = await tenant.settle({ jobId: job.id, outcome: "failed", usedUnits: 90 });
    expect(second).toEqual({ ...first, replayed: true });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 30 });
    expect(await backend.readAll("entries")).toHaveLength(1);
  });

  test("A17: a settle that cannot be stored whole is not stored at all", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    const budget = (await backend.readAll("budgets"))[0]!;
    await backend.patchRow(budget._id, { heldUnits: 99 });
    const charge = { jobId: job.id, step: 1, units: 300, fence: 1 };
    await expect(tenant.charge(charge)).rejects.toThrow("budget holds 99");
    expect(await tenant.job(job.id)).toMatchObject({ status: "running", usedUnits: 0, step: 0 });
    expect(await backend.readAll("entries")).toEqual([]);

    await operatorOf(backend).audit();
    expect(await tenant.charge(charge)).toMatchObject({ chargedUnits: 100, capped: true });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 100, heldUnits: 0 });
  });
});

describe("steps", () => {
  test("the same step twice charges once and repeats the answer", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    const charge = { jobId: job.id, step: 1, units: 30, fence: 1 };
    expect(await tenant.charge(charge)).toMatchObject({ chargedUnits: 30, replayed: false });
    expect(await tenant.charge(charge)).toMatchObject({
      chargedUnits: 30,
      replayed: true,
      job: { usedUnits: 30 },
    });
    expect(await tenant.charge({ ...charge, step: 3 })).toMatchObject({
      kind: "step_conflict",
      expectedStep: 2,
    });
  });

  test("the answer to a capping step can be had again", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    const charge = { jobId: job.id, step: 1, units: 130, fence: 1 };
    const first = await tenant.charge(charge);
    expect(await tenant.charge(charge)).toEqual({ ...first, replayed: true });
  });

  test("A30: a worker that slept through its lease charges nothing", async () => {
    const job = await tenant.start({ key: "k", units: 100, leaseMs: 10_000 });
    await tenant.charge({ jobId: job.id, step: 1, units: 10, fence: 1 });
    await backend.advanceMs(11_000);
    const late = { jobId: job.id, step: 2, units: 10, fence: 1 };
    const swept = { kind: "lease_lost", job: { status: "expired", usedUnits: 10 } };
    expect(await tenant.charge(late)).toMatchObject(swept);
    expect(await tenant.charge(late)).toMatchObject(swept);
    expect(await tenant.usage()).toMatchObject({ usedUnits: 10, heldUnits: 0 });
  });

  test("A30: a charge after the lease and before the sweep ends the job itself", async () => {
    await backend.advanceMs(1_000);
    const job = await tenant.start({ key: "k", units: 100, leaseMs: 13_000 });
    await backend.advanceMs(13_500);
    expect(await tenant.job(job.id)).toMatchObject({ status: "running" });
    expect(await tenant.charge({ jobId: job.id, step: 1, units: 10, fence: 1 })).toMatchObject({
      kind: "lease_lost",
      job: { status: "expired", usedUnits: 0 },
    });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 0 });
  });

  test("a job that nobody goes on with is charged for the steps that ran", async () => {
    const job = await tenant.start({ key: "k", units: 100, leaseMs: 10_000 });
    await tenant.charge({ jobId: job.id, step: 1, units: 30, fence: 1 });
    await tenant.charge({ jobId: job.id, step: 2, units: 30, fence: 1 });
    await backend.advanceMs(30_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "expired", usedUnits: 60, returnedUnits: 40 });
    expect(await backend.readAll("entries")).toMatchObject([{ units: 60 }]);
  });
});

describe("lease and fence", () => {
  test("heartbeats keep a job alive past its first lease", async () => {
    const job = await tenant.start({ key: "k", units: 100, leaseMs: 10_000 });
    for (let i = 0; i < 5; i += 1) {
      await backend.advanceMs(9_000);
      expect(await tenant.heartbeat({ jobId: job.id, fence: 1 })).toMatchObject({ kind: "renewed" });
    }
    expect(await tenant.job(job.id)).toMatchObject({ status: "running" });
  });

  test("a restarted worker takes the job over and its old self is fenced off", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    const taken = await tenant.heartbeat({ jobId: job.id, takeOver: true });
    expect(taken).toMatchObject({ kind: "renewed", job: { fence: 2 } });
    for (const call of [
      tenant.charge({ jobId: job.id, step: 1, units: 10, fence: 1 }),
      tenant.heartbeat({ jobId: job.id, fence: 1 }),
      tenant.extend({ jobId: job.id, units: 10, fence: 1 }),
      tenant.settle({ jobId: job.id, outcome: "completed", fence: 1 }),
    ]) {
      expect(await call).toMatchObject({ kind: "lease_lost", job: { status: "running", usedUnits: 0 } });
    }
    expect(await tenant.charge({ jobId: job.id, step: 1, units: 10, fence: 2 })).toMatchObject({
      kind: "charged",
    });
    expect(await tenant.settle({ jobId: job.id, outcome: "cancelled" })).toMatchObject({ replayed: false });
  });

  test("a job of another account does not exist, nor does an id that is none", async () => {
    const job = await tenant.start({ key: "k", units: 100 });
    const stranger = await createTenant(backend, { limitUnits: 100 });
    for (const jobId of [job.id, "nonsense", tenant.accountId]) {
      expect(await stranger.charge({ jobId, step: 1, units: 1, fence: 1 })).toEqual({ kind: "not_found" });
      expect(await stranger.settle({ jobId, outcome: "completed" })).toEqual({ kind: "not_found" });
      expect(await stranger.query("gate:getJob", { jobId })).toBeNull();
    }
  });
});

describe("extend", () => {
  test("adds to the hold when there is room, and only then", async () => {
    const job = await tenant.start({ key: "k", units: 60_000 });
    expect(await tenant.extend({ jobId: job.id, units: 40_000, fence: 1 })).toMatchObject({
      kind: "extended",
      job: { heldUnits: 100_000, requestedUnits: 60_000 },
    });
    expect(await tenant.extend({ jobId: job.id, units: 1, fence: 1 })).toMatchObject({
      kind: "refused",
      refusal: { code: "held_by_running_jobs", heldUnits: 100_000, freeUnits: 0 },
    });
    const settled = await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 90_000 });
    expect(settled).toMatchObject({ job: { usedUnits: 90_000, returnedUnits: 10_000 } });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 90_000, heldUnits: 0 });
  });

  test("A07b: a fallen limit stops extensions, not the job", async () => {
    const job = await tenant.start({ key: "k", units: 60_000 });
    await tenant.setLimit(10_000);
    expect(await tenant.extend({ jobId: job.id, units: 1, fence: 1 })).toMatchObject({ kind: "refused" });
    expect(await tenant.charge({ jobId: job.id, step: 1, units: 60_000, fence: 1 })).toMatchObject({
      chargedUnits: 60_000,
      capped: false,
    });
  });
});
