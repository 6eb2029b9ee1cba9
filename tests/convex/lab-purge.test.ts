import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import schema from "../../convex/schema.ts";
import { DAY_MS } from "../../lib/shared/durations.ts";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, operatorOf } from "../helpers/tenant.ts";

interface RunRow extends StoredRow {
  readonly startedAtMs: number;
}

/** Periodic workers write these meanwhile, whoever's rows there are. */
const WORKERS_OWN = new Set(["runs", "runHistory"]);
const TABLES = Object.keys(schema.tables).filter((name) => !WORKERS_OWN.has(name));
const LAB = { jobs: 3, units: 40, limitUnits: 80, steps: 2, stepMs: 20 };

let backend: Backend;
let operator: ReturnType<typeof operatorOf>;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true });
  operator = operatorOf(backend);
});
afterEach(() => backend.close());

async function counts(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of TABLES) {
    const { length } = await backend.readAll(table);
    if (length > 0) found[table] = length;
  }
  return found;
}

const runs = (table: string) => backend.readAll<RunRow>(table);

async function makeOlder(rows: readonly RunRow[]): Promise<void> {
  for (const { _id: id, startedAtMs } of rows) {
    await backend.patchRow(id, { startedAtMs: startedAtMs - 31 * DAY_MS });
  }
}

async function purge(): Promise<void> {
  await backend.mutation("labPurge:run", {});
  await backend.advanceMs(1_000);
}

async function startLabs(count: number): Promise<void> {
  for (let run = 0; run < count; run += 1) await operator.mutation("lab:start", LAB);
  await backend.advanceMs(2_000);
}

describe("runs of the labs", () => {
  test("older than 30 days go with every row of theirs, and customers keep theirs", async () => {
    const { accountId } = await createTenant(backend);
    await ledgerOf(backend).clicks(accountId, 3);
    await startLabs(20);
    await operator.mutation("engineRoom:start", {});
    await backend.advanceMs(5_000);
    const before = await counts();
    const known = new Set((await runs("labRuns")).map(({ _id }) => _id));
    await startLabs(2);
    const added = (await runs("labRuns")).filter(({ _id }) => !known.has(_id));
    expect((await counts())["entries"]).toBeGreaterThan(before["entries"]!);

    // The oldest of all are those that must go.
    await makeOlder((await runs("labRuns")).slice(0, 2));
    await purge();
    expect(await counts()).toEqual(before);
    expect((await runs("labRuns")).filter(({ _id }) => added.some((run) => run._id === _id))).toHaveLength(2);
  });

  test("of the Engine Room go with their events", async () => {
    await createTenant(backend);
    const before = await counts();
    for (let run = 0; run < 21; run += 1) {
      await operator.mutation("engineRoom:start", {});
      await backend.advanceMs(5_000);
    }
    expect((await counts())["inboxEvents"]).toBe(63);
    const all = await runs("engineRoomRuns");
    await makeOlder(all);
    await purge();
    const kept = await runs("engineRoomRuns");
    expect(kept.map(({ _id }) => _id)).toEqual(all.slice(1).map(({ _id }) => _id));
    const each = await counts();
    const uneven = Object.entries(each).filter(([table, count]) => (count - (before[table] ?? 0)) % 20 !== 0);
    expect(uneven).toEqual([]);
    expect(each["inboxEvents"]).toBe(60);
  });

  test("younger ones stay, however many there are", async () => {
    await startLabs(22);
    const before = await counts();
    await purge();
    expect(await counts()).toEqual(before);
  });

  test("a run with more rows than one transaction removes goes in several", async () => {
    await startLabs(1);
    const before = await counts();
    const large = { jobs: 50, units: 10, limitUnits: 500, steps: 10, stepMs: 20 };
    await operator.mutation("lab:start", large);
    await backend.advanceMs(20_000);
    expect((await counts())["labSteps"]! - before["labSteps"]!).toBeGreaterThan(1_000);
    await startLabs(20);
    await makeOlder((await runs("labRuns")).slice(0, 2));
    await purge();
    expect(await runs("labRuns")).toHaveLength(20);
    const each = await counts();
    expect(each["labSteps"]).toBe(before["labSteps"]! * 20);
    expect(each["accounts"]).toBe(20);
  });
});

test("every table that points at an account, or at what belongs to one, is known to the removal", () => {
  const text = readFileSync(join(import.meta.dirname, "../../convex/labRemoval.ts"), "utf8");
  // A lab account has no links, and nobody merges or copies it.
  const without = new Set(["links", "linkTotals", "linkStats", "labRuns", "engineRoomRuns"]);
  const pointing = Object.entries(schema.tables)
    .filter(([, table]) => /"(accountId|meterId|linkId|inboxEventId|labRunId)"/.test(JSON.stringify(table)))
    .map(([name]) => name);
  expect(pointing.length).toBeGreaterThan(20);
  expect(pointing.filter((name) => !without.has(name) && !text.includes(`"${name}"`))).toEqual([]);
});

describe("lists of customers", () => {
  const ids = async (path: string, args: object = {}) => {
    const page = await operator.query<{ accounts: { id: string }[]; cursor: string | null }>(path, {
      cursor: null,
      ...args,
    });
    return { ids: page.accounts.map(({ id }) => id), cursor: page.cursor };
  };

  test("read no lab rows: a customer behind hundreds of runs is on the first page", async () => {
    const { accountId } = await createTenant(backend);
    await ledgerOf(backend).clicks(accountId, 1);
    await startLabs(60);
    const only = { ids: [accountId], cursor: null };
    expect(await ids("accounts:list", { limit: 10 })).toEqual(only);
    expect(await ids("screensAccounts:list")).toEqual(only);
    expect(await ids("screensReconciliation:accounts")).toEqual(only);
    expect(await operator.query("screensReconciliation:accountCount", {})).toBe(1);
    expect(await backend.query("reconcile:listAccounts", { cursor: null })).toEqual({
      accountIds: [accountId],
      cursor: null,
    });
    expect((await ids("screensAccounts:list", { only: "lab" })).ids).toHaveLength(20);
  });

  test("the drift check does not come across customers of the Engine Room", async () => {
    await operator.mutation("engineRoom:start", {});
    await backend.advanceMs(5_000);
    const [room] = await backend.readAll<StoredRow & { customerId: string }>("accounts");
    expect(room!.customerId).toMatch(/^lab_customer_/);
    await backend.patchRow(room!._id, { provider: "kinde" });
    expect(await backend.query("driftRows:listAccounts", { cursor: null })).toEqual({
      accounts: [],
      cursor: null,
    });
  });
});
