import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, SERVER_SECRET, type StoredRow } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface RunRow {
  readonly name: string;
  readonly status: string;
  readonly lastStartedAtMs: number;
  readonly lastGoodAtMs: number | null;
  readonly counts: Record<string, number>;
}

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 100_000, jobsPerMinute: 10_000 });
});
afterEach(() => backend.close());

async function sweeperHealth(): Promise<RunRow | undefined> {
  const health = await backend.query<{ nowMs: number; runs: RunRow[] }>("health:get", {
    serverSecret: SERVER_SECRET,
  });
  return health.runs.find((run) => run.name === "sweeper");
}

describe("ended leases", () => {
  test("A03: the hold of a killed worker comes back, 20 times", async () => {
    for (let round = 0; round < 20; round += 1) {
      const job = await tenant.start({ key: `k${round}`, units: 100_000, leaseMs: 10_000 });
      expect(await tenant.usage()).toMatchObject({ heldUnits: 100_000, freeUnits: 0 });
      await backend.advanceMs(10_000 + 15_000);
      expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 0, freeUnits: 100_000 });
      expect(await tenant.job(job.id)).toMatchObject({ status: "expired", returnedUnits: 100_000 });
    }
  });

  test("A26: sweeping twice at one instant, and two sweeps at once, end each job once", async () => {
    const jobs = [];
    for (let index = 0; index < 5; index += 1) {
      const job = await tenant.start({ key: `k${index}`, units: 100, leaseMs: 10_000 });
      await tenant.charge({ jobId: job.id, step: 1, units: 30, fence: 1 });
      jobs.push(job);
    }
    await backend.advanceMs(11_000);
    const operator = operatorOf(backend);
    const [one, two] = await Promise.all([operator.sweep(), operator.sweep()]);
    expect(one.expired + two.expired).toBe(5);
    expect(await operator.sweep()).toEqual({ expired: 0, batches: 0, broken: 0 });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 150, heldUnits: 0 });
    expect(await backend.readAll("entries")).toHaveLength(5);
  });

  test("more jobs than one transaction takes are swept in batches", async () => {
    for (let index = 0; index < 120; index += 1)
      await tenant.start({ key: `k${index}`, units: 1, leaseMs: 10_000 });
    await backend.advanceMs(11_000);
    expect(await operatorOf(backend).sweep()).toEqual({ expired: 120, batches: 3, broken: 0 });
    expect(await tenant.usage()).toMatchObject({ heldUnits: 0, running: [] });
  });

  test("A19: a job whose scheduled step is gone is swept within one interval, and nothing spins", async () => {
    const runner = { steps: 5, stepUnits: 10, stepMs: 2_000 };
    const job = await tenant.start({ key: "k", units: 50, leaseMs: 10_000, runner });
    await backend.advanceMs(2_500);
    expect(await tenant.kill(job.id)).toMatchObject({
      kind: "killed",
      job: { status: "running", usedUnits: 10 },
    });
    expect(await tenant.usage()).toMatchObject({ heldUnits: 50 });
    await backend.advanceMs(10_000 + 15_000);
    expect(await tenant.job(job.id)).toMatchObject({ status: "expired", usedUnits: 10, returnedUnits: 40 });
    const health = await sweeperHealth();
    expect(health).toMatchObject({ status: "good" });
    expect(backend.nowMs() - health!.lastGoodAtMs!).toBeLessThan(15_000);
    const scheduled = await backend.readAll<StoredRow & { state: { kind: string } }>("_scheduled_functions");
    expect(scheduled.filter((row) => row.state.kind === "pending")).toEqual([]);
  });
});

describe("damaged rows", () => {
  test("a job that cannot be ended goes to a person once and stops nobody else", async () => {
    const broken = await tenant.start({ key: "broken", units: 100, leaseMs: 10_000 });
    await tenant.start({ key: "sound", units: 100, leaseMs: 10_000 });
    await backend.patchRow(broken.id, { usedUnits: 101 });
    await backend.advanceMs(11_000);
    const operator = operatorOf(backend);
    expect(await operator.sweep()).toEqual({ expired: 1, batches: 1, broken: 1 });
    await backend.advanceMs(60_000);
    expect(await backend.readAll("reviews")).toMatchObject([
      { kind: "broken_job", subject: broken.id, status: "open", detail: "101 units used of a hold of 100" },
    ]);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 100 });
    expect(await tenant.admit({ key: "next", units: 100 })).toMatchObject({ kind: "admitted" });
  });

  test("a batch that throws is done job by job, and only the one at fault stays", async () => {
    const other = await createTenant(backend, { limitUnits: 100 });
    const spare = await createTenant(backend, { limitUnits: 100 });
    const broken = await other.start({ key: "broken", units: 100, leaseMs: 10_000 });
    await tenant.start({ key: "sound", units: 100, leaseMs: 10_000 });
    await spare.start({ key: "k", units: 1 });
    // A second budget row for the same account and cycle: the look-up of the one row throws.
    const budgets = await backend.readAll<StoredRow & { accountId: string }>("budgets");
    const moved = budgets.find((row) => row.accountId === spare.accountId)!;
    await backend.patchRow(moved._id, { accountId: other.accountId });
    await backend.advanceMs(11_000);
    expect(await operatorOf(backend).sweep()).toMatchObject({ expired: 1, broken: 1 });
    expect(await backend.readAll("reviews")).toMatchObject([{ kind: "broken_job", subject: broken.id }]);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 0 });
  });
});
