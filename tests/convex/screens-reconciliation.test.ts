import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { MeterStanding } from "../../convex/meterStandings";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { type KindeLedger, openKindeLedger } from "../helpers/kinde-ledger.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface Page {
  readonly accounts: { readonly id: string; readonly name: string; readonly meters: MeterStanding[] }[];
  readonly cursor: string | null;
}

interface Running {
  readonly startedAtMs: number;
  readonly progressAtMs: number;
  readonly counts: Record<string, number>;
}

interface Runs {
  readonly running: Running | null;
  readonly lastGoodAtMs: number | null;
  readonly ended: { readonly status: string; readonly counts: Record<string, number> }[];
}

let backend: Backend;
let operator: ReturnType<typeof operatorOf>;
let ledger: ReturnType<typeof ledgerOf>;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true });
  operator = operatorOf(backend);
  ledger = ledgerOf(backend);
  tenant = await createTenant(backend);
});
afterEach(() => backend.close());

/** Within half a second: the clock of one of the engines goes on a little with each transaction. */
const about = (atMs: number): unknown => expect.closeTo(atMs, -3);

const list = (args: object = {}): Promise<Page> =>
  operator.query("screensReconciliation:accounts", { cursor: null, ...args });

async function meterOf(by: ReturnType<typeof operatorOf>, accountId: string): Promise<MeterStanding> {
  const answer = await by.query<Page["accounts"][number]>("screensReconciliation:account", { accountId });
  expect(answer.meters).toHaveLength(1);
  return answer.meters[0]!;
}

describe("a meter on the screen", () => {
  let kinde: KindeLedger;
  beforeEach(async () => {
    kinde = await openKindeLedger();
  });
  afterEach(() => kinde.close());
  const clicks = (count: number) => kinde.ledger.clicks(kinde.accountId, count);
  const meterThere = () => meterOf(operatorOf(kinde.backend), kinde.accountId);

  test("goes from on its way to reported, to proven, and says when it was read", async () => {
    await kinde.signIn();
    await clicks(5);
    expect(await meterThere()).toMatchObject({
      standing: "on_its_way",
      isAtProvider: true,
      ledgerUnits: 5,
      sent: null,
      reading: null,
    });
    await kinde.ledger.report();
    const reported = { standing: "confirmed", sent: { totalUnits: 5 }, reading: null };
    expect(await meterThere()).toMatchObject(reported);
    await kinde.ledger.reconcile();
    const provenAtMs = kinde.backend.nowMs();
    expect(await meterThere()).toMatchObject({
      standing: "proven",
      reading: { meterUnits: 5, atMs: about(provenAtMs) },
    });
    await kinde.advance(10_000);
    await kinde.ledger.reconcile();
    const seenAtMs = about(kinde.backend.nowMs());
    expect(await meterThere()).toMatchObject({ standing: "proven", reading: { atMs: seenAtMs } });
    await clicks(1);
    expect(await meterThere()).toMatchObject({
      standing: "on_its_way",
      ledgerUnits: 6,
      reading: { ledgerUnits: 5 },
    });
  });

  test("that was repaired is so until a later run proves it; the evidence says when that was", async () => {
    const there = operatorOf(kinde.backend);
    await kinde.signIn();
    await clicks(5);
    await kinde.ledger.report();
    await kinde.write(9);
    await kinde.ledger.reconcile();
    expect(await meterThere()).toMatchObject({ standing: "repaired", reading: { meterUnits: 5 } });
    const repaired = await there.query("screensReconciliation:accounts", { cursor: null, only: "repaired" });
    expect(repaired).toMatchObject({ accounts: [{ id: kinde.accountId }] });
    await kinde.advance(10_000);
    await kinde.ledger.reconcile();
    expect(await meterThere()).toMatchObject({ standing: "proven" });
    const args = { accountId: kinde.accountId, cursor: null, limit: 10 };
    const { evidence } = await there.query<{ evidence: { atMs: number; seenAtMs: number }[] }>(
      "evidence:list",
      args,
    );
    expect(evidence).toHaveLength(1);
    expect(evidence[0]).toMatchObject({ isAtProvider: true });
    expect(evidence[0]!.seenAtMs - evidence[0]!.atMs).toEqual(about(10_000));
  });
});

test("an account without a customer at the provider has no meter there, and none is called proven", async () => {
  await ledger.clicks(tenant.accountId, 5);
  const kept = { standing: "kept_here", isAtProvider: false, ledgerUnits: 5 };
  const shown = () => meterOf(operator, tenant.accountId);
  expect(await shown()).toMatchObject(kept);
  await ledger.report();
  expect(await shown()).toMatchObject(kept);
  expect((await ledger.reconcile()).counts).toMatchObject({ kept_here: 1 });
  expect((await ledger.reconcile()).counts).not.toHaveProperty("match");
  expect(await shown()).toMatchObject(kept);
  const args = { accountId: tenant.accountId, cursor: null, limit: 10 };
  const found = { verdict: "match", status: "kept_here", isAtProvider: false };
  expect(await operator.query("evidence:list", args)).toMatchObject({ evidence: [found] });
  expect((await list({ only: "unproven" })).accounts).toEqual([]);
});

describe("the list", () => {
  test("has accounts with a meter only, the newest first, by name and by what is wanted", async () => {
    const other = await createTenant(backend);
    await createTenant(backend);
    await ledger.clicks(tenant.accountId, 1);
    await ledger.clicks(other.accountId, 1);
    const all = await list();
    expect(all.accounts.map(({ id }) => id)).toEqual([other.accountId, tenant.accountId]);
    expect((await list({ text: tenant.accountId })).accounts).toMatchObject([{ id: tenant.accountId }]);
    expect((await list({ text: "TENANT" })).accounts).toHaveLength(2);
    expect((await list({ text: "nobody" })).accounts).toEqual([]);
    expect((await list({ only: "trouble" })).accounts).toEqual([]);
  });

  test("gives each account once over its pages", async () => {
    const ids = [];
    for (let count = 0; count < 12; count += 1) {
      const { accountId } = await createTenant(backend);
      await ledger.clicks(accountId, 1);
      ids.unshift(accountId);
    }
    const first = await list();
    const second = await list({ cursor: first.cursor });
    expect([...first.accounts, ...second.accounts].map(({ id }) => id)).toEqual(ids);
    expect(second.cursor).toBeNull();
  });
});

test("runs are kept, the newest first, and no more than fifty", async () => {
  const read = () => operator.query<Runs>("screensReconciliation:runs", { name: "reconciler" });
  expect(await read()).toEqual({ running: null, lastGoodAtMs: null, ended: [] });
  await ledger.clicks(tenant.accountId, 3);
  await ledger.reconcile();
  await ledger.reconcile();
  const runs = await read();
  expect(runs.lastGoodAtMs).toEqual(about(backend.nowMs()));
  expect(runs.ended.map(({ counts }) => counts["repaired"])).toEqual([0, 1]);
  for (let count = 0; count < 50; count += 1) await ledger.reconcile();
  const rows = await backend.readAll<StoredRow & { name: string }>("runHistory");
  expect(rows.filter(({ name }) => name === "reconciler")).toHaveLength(50);
});

test("a run under way shows when it last said how far it has come, however long ago it began", async () => {
  const running = async () =>
    (await operator.query<Runs>("screensReconciliation:runs", { name: "reconciler" })).running;
  const startedAtMs = backend.nowMs();
  await backend.mutation("runs:begin", { name: "reconciler" });
  expect(await running()).toEqual({
    startedAtMs: about(startedAtMs),
    progressAtMs: about(startedAtMs),
    counts: {},
  });
  await backend.advanceMs(3_600_000);
  await backend.mutation("runs:progress", { name: "reconciler", counts: { accounts: 7 } });
  expect(await running()).toEqual({
    startedAtMs: about(startedAtMs),
    progressAtMs: about(startedAtMs + 3_600_000),
    counts: { accounts: 7 },
  });
});
