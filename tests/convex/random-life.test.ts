import { afterEach, beforeEach, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface BudgetRow extends StoredRow {
  readonly cycle: string;
  readonly usedUnits: number;
  readonly heldUnits: number;
}

interface EntryRow extends StoredRow {
  readonly budgetCycle: string;
  readonly cycle: string;
  readonly units: number;
  readonly key: string;
}

/** One job of the naive model: numbers in a list, and nothing that is stored twice. */
interface ModelJob {
  readonly id: string;
  readonly cycle: string;
  readonly leaseMs: number;
  held: number;
  used: number;
  step: number;
  leaseEndsAtMs: number;
  isRunning: boolean;
}

const OPERATIONS = 500;
const LIMIT_UNITS = 2_500;
/** Seven minutes before October ends: the operations below take about a quarter of an hour. */
const START_MS = Date.UTC(2026, 9, 31, 23, 53);

let backend: Backend;
let tenant: Tenant;
let jobs: ModelJob[];
beforeEach(async () => {
  backend = await createBackend({ startMs: START_MS });
  tenant = await createTenant(backend, {
    limitUnits: LIMIT_UNITS,
    jobsPerMinute: 100_000,
    cycleAnchor: "2026-01-01T00:00:00Z",
  });
  jobs = [];
});
afterEach(() => backend.close());

/** A small generator with a fixed seed, so that a failure can be run again (mulberry32). */
function makeRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Ended leases end their jobs in the model, a second early or late being decided by the answer of the gate. */
function expireInModel(): void {
  for (const job of jobs) if (job.leaseEndsAtMs <= backend.nowMs()) job.isRunning = false;
}

function modelBudget(cycle: string): { usedUnits: number; heldUnits: number } {
  const mine = jobs.filter((job) => job.cycle === cycle);
  return {
    usedUnits: mine.filter((job) => !job.isRunning).reduce((sum, job) => sum + job.used, 0),
    heldUnits: mine.filter((job) => job.isRunning).reduce((sum, job) => sum + job.held, 0),
  };
}

async function admit(key: string, units: number, leaseMs: number): Promise<void> {
  const answer = await tenant.admit({ key, units, leaseMs });
  const { cycle } = await tenant.usage();
  const { usedUnits, heldUnits } = modelBudget(cycle.name);
  const fits = usedUnits + heldUnits + units <= LIMIT_UNITS;
  expect(answer.kind).toBe(fits ? "admitted" : "refused");
  if (answer.kind !== "admitted") return;
  const { id, leaseExpiresAtMs: leaseEndsAtMs } = answer.job;
  jobs.push({
    id,
    cycle: cycle.name,
    leaseMs,
    held: units,
    used: 0,
    step: 0,
    leaseEndsAtMs,
    isRunning: true,
  });
}

const NO_LONGER_RUNNING = { kind: expect.stringMatching(/^(lease_lost|not_running)$/) };

async function charge(job: ModelJob, units: number): Promise<void> {
  const answer = await tenant.charge({ jobId: job.id, step: job.step + 1, units, fence: 1 });
  const chargedUnits = Math.min(units, job.held - job.used);
  const expected = { kind: "charged", chargedUnits, capped: chargedUnits < units };
  expect(answer).toMatchObject(job.isRunning ? expected : NO_LONGER_RUNNING);
  if (answer.kind !== "charged") return;
  job.used += chargedUnits;
  job.step += 1;
  job.isRunning = chargedUnits === units;
  job.leaseEndsAtMs = answer.job.leaseExpiresAtMs;
}

async function extend(job: ModelJob, units: number): Promise<void> {
  const { usedUnits, heldUnits } = modelBudget(job.cycle);
  const expected = usedUnits + heldUnits + units <= LIMIT_UNITS ? { kind: "extended" } : { kind: "refused" };
  const answer = await tenant.extend({ jobId: job.id, units, fence: 1 });
  expect(answer).toMatchObject(job.isRunning ? expected : NO_LONGER_RUNNING);
  if (answer.kind === "extended") job.held += units;
}

/** Every job but the first goes its random way; that one is kept alive until the next cycle has begun. */
async function keepAlive(job: ModelJob): Promise<void> {
  const answer = await tenant.heartbeat({ jobId: job.id, fence: 1 });
  if (answer.kind === "renewed") job.leaseEndsAtMs = answer.job.leaseExpiresAtMs;
}

async function settle(job: ModelJob, usedUnits: number): Promise<void> {
  const answer = await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits });
  expect(answer).toMatchObject({ kind: "settled", replayed: !job.isRunning });
  if (job.isRunning) job.used = Math.min(Math.max(job.used, usedUnits), job.held);
  job.isRunning = false;
}

test("A04: after 500 random operations across a cycle boundary every budget equals its ledger rows", async () => {
  const random = makeRandom(20_261_031);
  await admit("bridge", 100, 120_000);
  const bridge = jobs[0]!;
  for (let operation = 0; operation < OPERATIONS; operation += 1) {
    const job = jobs.slice(1).at(-1 - random(12));
    const choice = random(10);
    if (choice < 4 || job === undefined) {
      await admit(`k${operation}`, 1 + random(200), 10_000 + random(110_000));
    } else if (choice < 7) {
      await charge(job, random(80));
    } else if (choice < 8) {
      await extend(job, 1 + random(100));
    } else if (choice < 9) {
      await settle(job, random(250));
    } else {
      await backend.advanceMs(10_000 + random(20_000));
      // A lease that ends within this second would make the model guess.
      const tightMs = Math.min(
        ...jobs
          .filter((each) => each.isRunning)
          .map(leaseLeftMs)
          .filter((ms) => ms > 0),
      );
      if (tightMs < 1_000) await backend.advanceMs(tightMs + 500);
      expireInModel();
      await keepAlive(bridge);
    }
  }
  expect(backend.nowMs()).toBeGreaterThan(Date.UTC(2026, 10, 1));

  await settle(bridge, 70);
  await operatorOf(backend).sweep();
  expireInModel();
  const entries = await backend.readAll<EntryRow>("entries");
  const budgets = await backend.readAll<BudgetRow>("budgets");
  expect(budgets.map((budget) => budget.cycle)).toEqual(["2026-10", "2026-11"]);
  for (const budget of budgets) {
    const mine = entries.filter((entry) => entry.budgetCycle === budget.cycle);
    expect(budget.usedUnits).toBe(mine.reduce((sum, entry) => sum + entry.units, 0));
    expect(budget).toMatchObject(modelBudget(budget.cycle));
  }
  // The job that crossed the boundary is paid by the cycle that admitted it and booked in the next.
  expect(entries.filter((entry) => entry.key === bridge.id)).toMatchObject([
    { budgetCycle: "2026-10", cycle: "2026-11", units: 70 },
  ]);
  expect(entries.length).toBeGreaterThan(50);
  expect(await backend.readAll("refusals")).not.toEqual([]);
  expect(await operatorOf(backend).audit()).toEqual({ budgets: 2, repaired: 0 });
});

function leaseLeftMs(job: ModelJob): number {
  return job.leaseEndsAtMs - backend.nowMs();
}
