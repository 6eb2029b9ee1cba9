import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { createTenant } from "../helpers/tenant.ts";

interface BudgetRow extends StoredRow {
  readonly usedUnits: number;
  readonly heldUnits: number;
}

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

/** `count` calls at the same moment. */
function atOnce<Answer>(count: number, call: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)));
}

function countKinds(answers: readonly { kind: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

describe("the limit holds", () => {
  test("A01: of 50 parallel admissions of 10 into 100, 10 are admitted", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const answers = await atOnce(50, (index) => tenant.admit({ key: `k${index}`, units: 10 }));
    expect(countKinds(answers)).toEqual({ admitted: 10, refused: 40 });
    expect(await backend.readAll<BudgetRow>("budgets")).toMatchObject([{ usedUnits: 0, heldUnits: 100 }]);
    const refusals = await backend.readAll<StoredRow & { times: number }>("refusals");
    expect(refusals.reduce((sum, { times }) => sum + times, 0)).toBe(40);
  });

  test("A02: 8 parallel first admissions of a brand-new account share one budget row", async () => {
    const tenant = await createTenant(backend);
    await tenant.setLimit(50);
    const admitAll = () => atOnce(8, (index) => tenant.admitOnce({ key: `k${index}`, units: 10 }));
    expect(countKinds(await admitAll())).toEqual({ refresh_needed: 1, refresh_pending: 7 });
    expect(await backend.readAll("budgets")).toEqual([]);
    await tenant.refresh("tokens.1");
    expect(countKinds(await admitAll())).toEqual({ admitted: 5, refused: 3 });
    expect(await backend.readAll<BudgetRow>("budgets")).toMatchObject([{ heldUnits: 50 }]);
    expect(await backend.readAll("limits")).toHaveLength(1);
  });

  test("S3: 120 jobs of 1,000 into room for 100", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100_000 });
    const answers = [];
    for (let first = 0; first < 120; first += 40) {
      answers.push(
        ...(await atOnce(40, (index) => tenant.admit({ key: `k${first + index}`, units: 1_000 }))),
      );
    }
    expect(countKinds(answers)).toEqual({ admitted: 100, refused: 20 });
    for (const answer of answers) {
      if (answer.kind !== "admitted") continue;
      await tenant.settle({ jobId: answer.job.id, outcome: "completed", usedUnits: 1_000 });
    }
    expect(await tenant.usage()).toMatchObject({ usedUnits: 100_000, heldUnits: 0, freeUnits: 0 });
  });

  test("A07b: a plan that falls under running jobs leaves them alone and stops new ones", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100_000 });
    const used = await tenant.start({ key: "used", units: 20_000 });
    await tenant.settle({ jobId: used.id, outcome: "completed", usedUnits: 20_000 });
    const running = await tenant.start({ key: "running", units: 60_000 });
    await tenant.setLimit(10_000);
    expect(await tenant.usage()).toMatchObject({ usedUnits: 20_000, heldUnits: 60_000, freeUnits: 0 });
    expect(await tenant.admit({ key: "new", units: 1 })).toMatchObject({
      kind: "refused",
      refusal: {
        code: "limit_reached",
        usedUnits: 20_000,
        heldUnits: 60_000,
        limitUnits: 10_000,
        freeUnits: 0,
      },
    });
    await tenant.charge({ jobId: running.id, step: 1, units: 50_000, fence: 1 });
    const settled = await tenant.settle({ jobId: running.id, outcome: "completed" });
    expect(settled).toMatchObject({ job: { usedUnits: 50_000, returnedUnits: 10_000 } });
  });

  test("A14: with 3 left, 50 is refused and 50-or-3 is a hold of 3", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const first = await tenant.start({ key: "first", units: 97 });
    await tenant.settle({ jobId: first.id, outcome: "completed", usedUnits: 97 });
    expect(await tenant.admit({ key: "a", units: 50 })).toMatchObject({ refusal: { code: "limit_reached" } });
    const job = await tenant.start({ key: "b", units: 50, acceptUnits: 3 });
    expect(job).toMatchObject({ requestedUnits: 50, heldUnits: 3 });
    expect(await tenant.charge({ jobId: job.id, step: 1, units: 4, fence: 1 })).toMatchObject({
      chargedUnits: 3,
      capped: true,
    });
  });

  test("A16: held room is named with its numbers and the earliest lease end", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const used = await tenant.start({ key: "used", units: 20 });
    await tenant.settle({ jobId: used.id, outcome: "completed", usedUnits: 20 });
    await tenant.start({ key: "long", units: 40 });
    const short = await tenant.start({ key: "short", units: 40, leaseMs: 30_000 });
    const answer = await tenant.admit({ key: "more", units: 10 });
    expect(answer).toMatchObject({
      kind: "refused",
      refusal: {
        code: "held_by_running_jobs",
        requestedUnits: 10,
        usedUnits: 20,
        heldUnits: 80,
        limitUnits: 100,
        freeUnits: 0,
        earliestLeaseExpiresAtMs: short.leaseExpiresAtMs,
      },
    });
    expect(await backend.readAll("refusals")).toMatchObject([{ key: "more", requestedUnits: 10 }]);
  });

  test("A23: the largest amount is held to the unit, anything past it is refused", async () => {
    const tenant = await createTenant(backend, { limitUnits: null });
    for (const units of [9_007_199_254_740_992, 1.5, -1, Number.NaN, 0]) {
      expect(await tenant.admit({ key: "k", units })).toMatchObject({
        refusal: { code: "out_of_range", field: "units", maximum: 9_007_199_254_740_991 },
      });
    }
    await expect(tenant.admit({ key: "k", units: "5" })).rejects.toThrow(/validat/i);
    expect(await backend.readAll("refusals")).toEqual([]);
    const job = await tenant.start({ key: "k", units: 9_007_199_254_740_991 });
    expect(job.heldUnits).toBe(9_007_199_254_740_991);
    expect(await tenant.admit({ key: "one more", units: 1 })).toMatchObject({
      refusal: {
        code: "held_by_running_jobs",
        heldUnits: 9_007_199_254_740_991,
        limitUnits: 9_007_199_254_740_991,
        freeUnits: 0,
      },
    });
  });

  test("A27: a lease that ended does not count as held, swept or not", async () => {
    await backend.advanceMs(1_000);
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const dead = await tenant.start({ key: "dead", units: 100, leaseMs: 13_000 });
    await backend.advanceMs(13_500);
    expect(await tenant.job(dead.id)).toMatchObject({ status: "running" });
    expect(await tenant.query("gate:preview", { units: 100 })).toMatchObject({ kind: "would_admit" });
    await tenant.start({ key: "next", units: 100 });
    expect(await tenant.job(dead.id)).toMatchObject({ status: "expired", returnedUnits: 100 });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 100 });
  });
});

test("A27: a partial hold is not smaller for a lease that ended", async () => {
  await backend.advanceMs(1_000);
  const tenant = await createTenant(backend, { limitUnits: 100 });
  await tenant.start({ key: "dead", units: 60, leaseMs: 13_000 });
  await backend.advanceMs(13_500);
  expect(await tenant.start({ key: "next", units: 100, acceptUnits: 1 })).toMatchObject({ heldUnits: 100 });
});

describe("keys", () => {
  test("A33: 20 parallel admissions with one key are one job with one hold", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const answers = await atOnce(20, () => tenant.admit({ key: "same", units: 10 }));
    const jobs = answers.map((answer) => (answer.kind === "admitted" ? answer.job : null));
    expect(new Set(jobs.map((job) => JSON.stringify(job))).size).toBe(1);
    expect(answers.filter((answer) => answer.kind === "admitted" && !answer.replayed)).toHaveLength(1);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 10 });
  });

  test("A34: the same key on two accounts is two jobs; with another amount it is a conflict", async () => {
    const one = await createTenant(backend, { limitUnits: 100 });
    const two = await createTenant(backend, { limitUnits: 100 });
    const first = await one.start({ key: "same", units: 10 });
    const second = await two.start({ key: "same", units: 10 });
    expect(first.id).not.toBe(second.id);
    expect(await one.admit({ key: "same", units: 11 })).toMatchObject({ refusal: { code: "key_conflict" } });
    expect(await one.usage()).toMatchObject({ heldUnits: 10 });
  });

  test("a refused key is decided afresh", async () => {
    const tenant = await createTenant(backend, { limitUnits: 5 });
    expect(await tenant.admit({ key: "k", units: 10 })).toMatchObject({ kind: "refused" });
    await tenant.setLimit(10);
    expect(await tenant.admit({ key: "k", units: 10 })).toMatchObject({ kind: "admitted", replayed: false });
  });

  test("A24: a preview answers like admit, writes nothing and consumes no key", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const preview = await tenant.query("gate:preview", { key: "k", units: 60 });
    expect(preview).toMatchObject({ kind: "would_admit", heldUnits: 60, usedUnits: 0, freeUnits: 100 });
    expect(await backend.readAll("jobs")).toEqual([]);
    expect(await tenant.admit({ key: "k", units: 60 })).toMatchObject({ kind: "admitted", replayed: false });
    const refused = await tenant.admit({ key: "l", units: 60 });
    expect(await tenant.query("gate:preview", { key: "l", units: 60 })).toEqual({
      kind: "would_refuse",
      refusal: refused.kind === "refused" ? refused.refusal : null,
    });
  });
});

describe("rate", () => {
  test("A35: of 240 admissions in a minute 120 start, each refusal carries a wait, one is recorded", async () => {
    const tenant = await createTenant(backend, { limitUnits: null });
    const answers = await atOnce(240, (index) => tenant.admit({ key: `k${index}`, units: 1 }));
    expect(countKinds(answers)).toEqual({ admitted: 120, refused: 120 });
    expect(answers.at(-1)).toEqual({
      kind: "refused",
      refusal: { code: "rate_limited", limitPerMinute: 120, retryAfterMs: expect.closeTo(60_000, -2) },
    });
    expect(await backend.readAll("refusals")).toHaveLength(1);
    expect(await tenant.admit({ key: "k0", units: 1 })).toMatchObject({ kind: "admitted", replayed: true });
    await backend.advanceMs(60_000);
    expect(await tenant.admit({ key: "later", units: 1 })).toMatchObject({ kind: "admitted" });
  });

  test("A35: 120 at 59.9 s open a window that refuses the 120 at 60.1 s", async () => {
    const tenant = await createTenant(backend, { limitUnits: null });
    await backend.advanceMs(59_900);
    await atOnce(120, (index) => tenant.admit({ key: `early${index}`, units: 1 }));
    await backend.advanceMs(200);
    const late = await atOnce(120, (index) => tenant.admit({ key: `late${index}`, units: 1 }));
    expect(countKinds(late)).toEqual({ refused: 120 });
    expect(late[0]).toMatchObject({
      refusal: { code: "rate_limited", retryAfterMs: expect.closeTo(59_800, -2) },
    });
  });
});
