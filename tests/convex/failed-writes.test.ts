import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

/** The official mock has no writes that fail. */
const cannotFail = process.env["HOLDFAST_TEST_BACKEND"] === "convex-test";

let backend: Backend;
let tenant: Tenant;
/** The next write to this table fails, once. */
let failing: string | null;
beforeEach(async () => {
  failing = null;
  backend = await createBackend({
    beforeWrite: (table) => {
      if (table !== failing) return;
      failing = null;
      throw new Error(`no write to ${table}`);
    },
  });
  tenant = await createTenant(backend, { limitUnits: 100 });
});
afterEach(() => backend.close());

describe.skipIf(cannotFail)("a write that fails", () => {
  test.each(["jobs", "budgets", "billing"])(
    "A09: in %s, after a good limit read, leaves no job and no hold",
    async (table) => {
      failing = table;
      await expect(tenant.admit({ key: "k", units: 60 })).rejects.toThrow(`no write to ${table}`);
      expect(await backend.readAll("jobs")).toEqual([]);
      expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 0 });
      expect(await tenant.admit({ key: "k", units: 60 })).toMatchObject({
        kind: "admitted",
        replayed: false,
      });
    },
  );

  test.each(["jobs", "budgets", "entries"])(
    "A17: in %s, while a job settles, leaves it running with its hold",
    async (table) => {
      const job = await tenant.start({ key: "k", units: 60 });
      failing = table;
      const settle = { jobId: job.id, outcome: "completed", usedUnits: 20 };
      await expect(tenant.settle(settle)).rejects.toThrow(`no write to ${table}`);
      expect(await tenant.job(job.id)).toEqual(job);
      expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 60 });
      expect(await tenant.settle(settle)).toMatchObject({ replayed: false, job: { usedUnits: 20 } });
      expect(await backend.readAll("entries")).toHaveLength(1);
    },
  );

  test("in the middle of a batch of the sweeper, costs no job its refund and refunds none twice", async () => {
    for (const key of ["a", "b", "c"]) await tenant.start({ key, units: 20, leaseMs: 10_000 });
    await backend.advanceMs(11_000);
    failing = "budgets";
    expect(await operatorOf(backend).sweep()).toMatchObject({ expired: 3, broken: 0 });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 0 });
    expect(await backend.readAll("reviews")).toEqual([]);
  });
});
