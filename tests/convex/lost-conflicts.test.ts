import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { CONFLICT_TRIES_MAX } from "../../lib/gate/conflict-retry.ts";
import { ConflictError } from "../../lib/local-convex/errors.ts";
import { type Backend, createBackend } from "../helpers/backend.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

/* A transaction that lost every conflict has changed nothing. Of an action that is one of many, and no reason to fail. */

/** The tries that the engine gives a mutation before it gives it up. */
const ENGINE_TRIES = 5;
const CONFLICT = "changed while this mutation was being run and on every subsequent retry";

let backend: Backend;
let tenant: Tenant;
/** The table whose writers lose, and how often they still do. */
let losing: { table: string; times: number } | null;
/** The same for losing all tries of the engine at once, without the waits between them. */
let lost: { table: string; times: number } | null;
let writtenTable: string | null;
beforeEach(async () => {
  losing = lost = writtenTable = null;
  backend = await createBackend({
    testFunctions: true,
    beforeWrite: (table) => {
      writtenTable = table;
      if (lost === null || lost.table !== table || lost.times === 0) return;
      lost.times -= 1;
      throw new ConflictError(table);
    },
    conflict: () => {
      if (losing === null || losing.table !== writtenTable || losing.times === 0) return false;
      losing.times -= 1;
      return true;
    },
  });
  tenant = await createTenant(backend, { limitUnits: 100 });
});
afterEach(() => backend.close());

interface RunRow {
  readonly _id: string;
  readonly _creationTime: number;
  readonly name: string;
  readonly status: string;
}

const statusOf = async (name: string): Promise<string | undefined> =>
  (await backend.readAll<RunRow>("runs")).find((run) => run.name === name)?.status;

describe("a transaction of an action that lost every conflict", () => {
  test("is tried again, and the report gets through", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 5);
    losing = { table: "reports", times: ENGINE_TRIES };
    expect(await ledger.report()).toMatchObject({ sent: 1, failed: 0, unknown: 0 });
    expect(losing.times).toBe(0);
    expect(await ledger.fixedTotals()).toEqual([5]);
    expect(await statusOf("reporter")).toBe("good");
  });

  test("is tried again for a customer who is about to change the plan", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 5);
    await backend.patchRow(tenant.accountId, { kindeUserId: "kp_owner" });
    losing = { table: "reports", times: ENGINE_TRIES };
    await backend.as({ subject: "kp_owner" }).action("reporter:sendOwn", {});
    expect(losing.times).toBe(0);
    expect(await ledger.fixedTotals()).toEqual([5]);
  });

  test("is tried again in the run of a cron as well", async () => {
    await tenant.start({ key: "k", units: 60, leaseMs: 10_000 });
    losing = { table: "runs", times: ENGINE_TRIES };
    await backend.advanceMs(10_000 + 15_000);
    expect(losing.times).toBe(0);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 0 });
    expect(await statusOf("sweeper")).toBe("good");
  });
});

describe("a transaction of an action that lost every conflict, however often it was tried", () => {
  test("leaves a job to the next sweep, is nothing for a person to see to, and keeps no other job waiting", async () => {
    for (const key of ["a", "b"]) await tenant.start({ key, units: 30, leaseMs: 10_000 });
    await backend.advanceMs(10_001);
    // Those of the batch, and those of the first job alone.
    lost = { table: "budgets", times: 2 * CONFLICT_TRIES_MAX };
    await expect(operatorOf(backend).sweep()).rejects.toThrow(CONFLICT);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 30 });
    expect(await statusOf("sweeper")).toBe("failed");
    expect(await backend.readAll("reviews")).toEqual([]);
    expect(await operatorOf(backend).sweep()).toMatchObject({ expired: 1, broken: 0 });
    expect(await tenant.usage()).toMatchObject({ heldUnits: 0 });
    expect(await statusOf("sweeper")).toBe("good");
  });

  test("leaves a meter to the next try of the reconciler, and is nothing for a person to see to", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 5);
    await ledger.report();
    lost = { table: "evidence", times: CONFLICT_TRIES_MAX };
    expect(await operatorOf(backend).action("ops:reconcile", {})).toMatchObject({
      status: "failed",
      counts: { errors: 1 },
    });
    expect(await backend.readAll("reviews")).toEqual([]);
    await backend.advanceMs(60_000);
    expect(await statusOf("reconciler")).toBe("good");
    expect(await backend.readAll("evidence")).toHaveLength(1);
  });
});
