import { afterEach, beforeEach, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface BudgetRow extends StoredRow {
  readonly cycle: string;
  readonly usedUnits: number;
  readonly heldUnits: number;
}

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 100_000 });
});
afterEach(() => backend.close());

async function budget(): Promise<BudgetRow> {
  return (await backend.readAll<BudgetRow>("budgets"))[0]!;
}

async function useAndHold(): Promise<void> {
  const used = await tenant.start({ key: "used", units: 500 });
  await tenant.settle({ jobId: used.id, outcome: "completed", usedUnits: 300 });
  await tenant.start({ key: "held", units: 200 });
}

test("A08: a budget restored to older values is repaired and the repair is logged", async () => {
  await useAndHold();
  await backend.patchRow((await budget())._id, { usedUnits: 10, heldUnits: 0 });
  const operator = operatorOf(backend);
  expect(await operator.audit()).toEqual({ budgets: 1, repaired: 1 });
  expect(await budget()).toMatchObject({ usedUnits: 300, heldUnits: 200 });
  const lines = await backend.readAll<StoredRow & { action: string }>("audit");
  expect(lines.filter((line) => line.action === "budget_repaired")).toMatchObject([
    {
      actor: "audit",
      accountId: tenant.accountId,
      details: { usedBefore: 10, usedAfter: 300, heldBefore: 0, heldAfter: 200 },
    },
  ]);
  expect(await operator.audit()).toEqual({ budgets: 1, repaired: 0 });
});

test.each([{ usedUnits: 299 }, { heldUnits: 0 }, { heldUnits: 201 }])(
  "one number that is wrong is enough: %j",
  async (wrong) => {
    await useAndHold();
    await backend.patchRow((await budget())._id, wrong);
    expect(await operatorOf(backend).audit()).toEqual({ budgets: 1, repaired: 1 });
    expect(await budget()).toMatchObject({ usedUnits: 300, heldUnits: 200 });
  },
);

test("A08: a budget row that a restore lost is made again", async () => {
  await useAndHold();
  await backend.patchRow((await budget())._id, { cycle: "2001-01" });
  expect(await operatorOf(backend).audit()).toEqual({ budgets: 2, repaired: 2 });
  const rows = await backend.readAll<BudgetRow>("budgets");
  expect(rows).toMatchObject([
    { cycle: "2001-01", usedUnits: 0, heldUnits: 0 },
    { usedUnits: 300, heldUnits: 200 },
  ]);
});

test("entries older than a minute and newer ones are both counted", async () => {
  for (const key of ["a", "b", "c"]) {
    const job = await tenant.start({ key, units: 100 });
    await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 100 });
    await backend.advanceMs(45_000);
  }
  await backend.patchRow((await budget())._id, { usedUnits: 0 });
  await operatorOf(backend).audit();
  expect(await budget()).toMatchObject({ usedUnits: 300, heldUnits: 0 });
});

test("an audit during traffic repairs nothing that is sound", async () => {
  const operator = operatorOf(backend);
  const traffic = Array.from({ length: 20 }, async (_, index) => {
    const job = await tenant.start({ key: `k${index}`, units: 100 });
    await tenant.charge({ jobId: job.id, step: 1, units: 40, fence: 1 });
    await tenant.settle({ jobId: job.id, outcome: "completed" });
  });
  const audits = Array.from({ length: 5 }, () => operator.audit());
  await Promise.all(traffic);
  for (const audit of audits) expect((await audit).repaired).toBe(0);
  expect(await tenant.usage()).toMatchObject({ usedUnits: 800, heldUnits: 0 });
});

test("the audit runs every hour by itself", async () => {
  await useAndHold();
  await backend.patchRow((await budget())._id, { usedUnits: 0 });
  await backend.advanceMs(3_600_000);
  expect(await budget()).toMatchObject({ usedUnits: 300, heldUnits: 0 });
});
