import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { CAUSES } from "../../lib/ledger/reconcile.ts";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { ledgerOf, type MeterResult } from "../helpers/ledger.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

let backend: Backend;
let ledger: ReturnType<typeof ledgerOf>;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true });
  ledger = ledgerOf(backend);
  tenant = await createTenant(backend);
});
afterEach(() => backend.close());

async function only(): Promise<MeterResult> {
  const { meters } = await ledger.reconcile(tenant.accountId);
  expect(meters).toHaveLength(1);
  return meters[0]!;
}

async function setFixedTotal(totalUnits: number): Promise<void> {
  const [row] = await backend.readAll("fixedTotals");
  await backend.patchRow(row!._id, { totalUnits });
}

describe("a meter that somebody sends to while it is read", () => {
  test("is looked at again: neither its claim nor an older look is judged on", async () => {
    await ledger.clicks(tenant.accountId, 5);
    const [meter] = await ledger.meters();
    const meterId = meter!._id;
    const look = await backend.query<{ version: number }>("reconcile:look", { meterId });
    const reading = { kind: "read", totalUnits: 0 };
    const judge = (version: number) =>
      backend.mutation("reconcile:judge", { meterId, version, wasClosed: false, rebuiltUnits: 0, reading });
    await backend.mutation("reports:claim", { meterId, learnt: null });
    const claimed = await backend.query<{ version: number }>("reconcile:look", { meterId });
    expect(claimed).toMatchObject({ version: look.version + 1, isBusy: true });
    expect(await judge(look.version)).toEqual({ kind: "moved" });
    expect(await judge(claimed.version)).toEqual({ kind: "moved" });
    const sent = { meterId, version: claimed.version, outcome: { kind: "confirmed" } };
    await backend.mutation("reports:settleSend", sent);
    expect(await judge(look.version)).toEqual({ kind: "moved" });
    expect(await judge(claimed.version)).toMatchObject({ kind: "repair", version: claimed.version + 1 });
    expect(await ledger.evidence()).toEqual([]);
  });
});

describe("a meter that follows the ledger", () => {
  test("S7: 5,000 clicks: ledger = sent = meter, match, no corrections", async () => {
    for (let batch = 0; batch < 50; batch += 1) await ledger.clicks(tenant.accountId, 100);
    await ledger.report();
    const expected = { ledgerUnits: 5_000, sentUnits: 5_000, meterUnits: 5_000, verdict: "match" };
    const kept = { status: "kept_here", isAtProvider: false, cause: null };
    expect(await only()).toMatchObject({ ...expected, ...kept });
    expect(await ledger.evidence()).toHaveLength(1);
    expect((await ledger.reconcile()).counts).toMatchObject({
      kept_here: 1,
      evidence: 0,
      rows: 5_000,
      rebuilt: 0,
    });
    expect(await backend.readAll("entries")).toHaveLength(5_000);
  });

  test("an account without usage has nothing to prove", async () => {
    expect(await ledger.reconcile(tenant.accountId)).toMatchObject({ status: "good", meters: [] });
  });

  test("an account that there is not is not found", async () => {
    expect(await ledger.reconcile("nobody")).toEqual({ kind: "not_found" });
  });
});

describe("a meter that differs", () => {
  test("S8: 426 behind after late clicks: under_billed, written, read back, then match and no new row", async () => {
    await ledger.clicks(tenant.accountId, 1, { units: 8_031 });
    await ledger.report();
    await ledger.clicks(tenant.accountId, 426);
    const repaired = {
      ledgerUnits: 8_457,
      sentUnits: 8_031,
      meterUnits: 8_031,
      readBackUnits: 8_457,
      verdict: "under_billed",
      status: "repaired_and_confirmed",
      cause: CAUSES.ledger_changed,
    };
    expect(await only()).toMatchObject({ ...repaired, accountName: "tenant" });
    expect(await ledger.fixedTotals()).toEqual([8_457]);
    expect(await only()).toMatchObject({ verdict: "match", status: "kept_here", sentUnits: 8_457 });
    const { meterUnits: providerUnits, ...same } = repaired;
    expect(await ledger.evidence()).toMatchObject([{ ...same, providerUnits }]);
    expect(await ledger.report()).toMatchObject({ sent: 0 });
  });

  test("moved by somebody else: over_billed, repaired, and named", async () => {
    await ledger.clicks(tenant.accountId, 10);
    await ledger.report();
    await setFixedTotal(17);
    expect(await only()).toMatchObject({
      verdict: "over_billed",
      status: "repaired_and_confirmed",
      cause: CAUSES.meter_moved,
    });
    expect(await ledger.fixedTotals()).toEqual([10]);
    await ledger.reconcile();
    expect(await ledger.evidence()).toHaveLength(1);
    await setFixedTotal(3);
    expect(await only()).toMatchObject({ verdict: "under_billed", cause: CAUSES.meter_moved });
    expect(await ledger.evidence()).toHaveLength(2);
  });
});

describe("counters", () => {
  interface ShardRow extends StoredRow {
    readonly units: number;
  }

  test("one that differs from its rows is rebuilt from them, and the meter follows", async () => {
    await ledger.clicks(tenant.accountId, 40);
    await ledger.clicks(tenant.accountId, 60);
    const [shard] = await backend.readAll<ShardRow>("shards");
    await backend.patchRow(shard!._id, { units: shard!.units + 5 });
    await ledger.report();
    expect(await ledger.fixedTotals()).toEqual([105]);
    const run = await ledger.reconcile();
    expect(run).toMatchObject({ status: "good", counts: { rebuilt: 1, over_billed: 1, repaired: 1 } });
    expect(await ledger.fixedTotals()).toEqual([100]);
    expect(await ledger.evidence()).toMatchObject([{ ledgerUnits: 100, counterUnits: 105, sentUnits: 105 }]);
    const lines = await backend.readAll<StoredRow & { action: string }>("audit");
    expect(lines.filter(({ action }) => action === "counter_rebuilt")).toHaveLength(1);
    expect((await ledger.reconcile()).counts).toMatchObject({ rebuilt: 0, kept_here: 1, evidence: 0 });
  });

  test("one that is gone is made again", async () => {
    await ledger.clicks(tenant.accountId, 40);
    const [shard] = await backend.readAll("shards");
    await backend.mutation("testLedger:deleteRow", { id: shard!._id });
    expect((await ledger.reconcile()).counts).toMatchObject({ rebuilt: 1, repaired: 1 });
    expect(await backend.readAll("shards")).toMatchObject([{ units: 40 }]);
  });

  test("a shard with more rows than one function reads is added up page by page", async () => {
    await ledger.clicks(tenant.accountId, 1);
    const [entry] = await backend.readAll<StoredRow & { meterId: string; shard: number }>("entries");
    const [shard] = await backend.readAll<StoredRow & { units: number }>("shards");
    const { meterId, shard: number } = entry!;
    const from = { accountId: tenant.accountId, meterId, shard: number };
    for (let batch = 0; batch < 6; batch += 1) {
      await backend.mutation("testLedger:fill", { ...from, prefix: `fill-${batch}`, count: 1_500 });
    }
    await backend.advanceMs(5 * 60_000);
    await backend.mutation("testLedger:fill", { ...from, prefix: "tail", count: 10 });
    expect((await ledger.reconcile()).counts).toMatchObject({ rows: 9_011, rebuilt: 1 });
    expect(await backend.readAll("shards")).toMatchObject([{ _id: shard!._id, units: 9_011 }]);
    expect((await ledger.reconcile()).counts).toMatchObject({ rows: 9_011, rebuilt: 0, kept_here: 1 });
  });

  test("a shard that takes more in a minute than one function reads goes to a person and stops nobody", async () => {
    await ledger.clicks(tenant.accountId, 1);
    const [entry] = await backend.readAll<StoredRow & { meterId: string; shard: number }>("entries");
    const { meterId, shard } = entry!;
    const from = { accountId: tenant.accountId, meterId, shard };
    for (let batch = 0; batch < 3; batch += 1) {
      await backend.mutation("testLedger:fill", { ...from, prefix: `fill-${batch}`, count: 1_500 });
    }
    expect(await ledger.reconcile()).toMatchObject({ status: "good", counts: { rebuilt: 0, meters: 1 } });
    expect(await ledger.reviews()).toMatchObject([{ kind: "audit_too_large", status: "open" }]);
  });
});

test("throw-away accounts are looked at by nobody", async () => {
  await backend.patchRow(tenant.accountId, { source: "lab" });
  await ledger.clicks(tenant.accountId, 5);
  expect((await ledger.reconcile()).counts).toMatchObject({ accounts: 0, meters: 0 });
});

test("60 accounts are gone through in pages, and the run's row shows the numbers", async () => {
  const tenants: Tenant[] = [];
  for (let index = 0; index < 60; index += 1) tenants.push(await createTenant(backend));
  for (const { accountId } of tenants) await ledger.clicks(accountId, 2);
  const run = await ledger.reconcile();
  expect(run).toMatchObject({ status: "good", counts: { accounts: 61, meters: 60, repaired: 60 } });
  const runs = await backend.readAll<StoredRow & { name: string }>("runs");
  expect(runs.find(({ name }) => name === "reconciler")).toMatchObject({
    status: "good",
    counts: run.counts,
  });
});

test("the nightly run does the same", async () => {
  await ledger.clicks(tenant.accountId, 5);
  await backend.action("reconciler:run", {});
  expect(await ledger.evidence()).toMatchObject([{ status: "repaired_and_confirmed", ledgerUnits: 5 }]);
});
