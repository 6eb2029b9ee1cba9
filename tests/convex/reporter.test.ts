import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ReportState } from "../../lib/ledger/report-state.ts";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true });
  tenant = await createTenant(backend);
});
afterEach(() => backend.close());

describe("a marked meter", () => {
  test("is sent to the provider's meter as one absolute total", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 8);
    await ledger.clicks(tenant.accountId, 3);
    expect(await ledger.report()).toMatchObject({ meters: 1, sent: 1, failed: 0 });
    expect(await ledger.fixedTotals()).toEqual([11]);
    expect(await ledger.marks()).toEqual([]);
    expect(await ledger.report()).toMatchObject({ meters: 0, sent: 0 });
  });

  test("keeps its place in the row, however much is booked meanwhile", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 1);
    const marks = await ledger.marks();
    await backend.advanceMs(10_000);
    await ledger.clicks(tenant.accountId, 1);
    expect(await ledger.marks()).toEqual(marks);
    expect(marks).toHaveLength(1);
  });

  test("stays marked when something is booked while it is read back", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 5);
    await ledger.report();
    const [report] = await backend.readAll<StoredRow & { state: ReportState }>("reports");
    const nowMs = backend.nowMs();
    const unsure = { sinceMs: nowMs - 100_000, readNotBeforeMs: 0, seenAtMs: nowMs - 50_000 };
    await backend.patchRow(report!._id, { state: { ...report!.state, unsure } });
    const [meter] = await ledger.meters();
    const meterId = meter!._id;
    const claimed = await backend.mutation("reports:claim", { meterId, learnt: null });
    expect(claimed).toMatchObject({ kind: "read_back", version: 1 });
    await ledger.clicks(tenant.accountId, 3);
    const reading = { kind: "read", totalUnits: 5 };
    const read = { meterId, version: 1, sentAtMs: nowMs, reading };
    expect(await backend.mutation("reports:settleReadBack", read)).toBe(true);
    expect(await ledger.states()).toMatchObject([{ unsure: null }]);
    expect(await ledger.marks()).toHaveLength(1);
    await ledger.report();
    expect(await ledger.fixedTotals()).toEqual([8]);
  });

  test("is reported every minute by itself", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 5);
    await backend.advanceMs(60_000);
    expect(await ledger.fixedTotals()).toEqual([5]);
  });

  test("is sent before its owner changes the plan, those of others are not, and the run's row stays", async () => {
    const ledger = ledgerOf(backend);
    const other = await createTenant(backend);
    await ledger.clicks(tenant.accountId, 5);
    await ledger.clicks(other.accountId, 7);
    const runs = await backend.readAll("runs");
    await backend.patchRow(tenant.accountId, { kindeUserId: "kp_owner" });
    await backend.as({ subject: "kp_owner" }).action("reporter:sendOwn", {});
    expect(await ledger.fixedTotals()).toEqual([5]);
    expect(await ledger.marks()).toHaveLength(1);
    expect(await backend.readAll("runs")).toEqual(runs);
  });

  test("that cannot be added up keeps no other from being sent, and the run is a failed one", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 4);
    const [counter] = await backend.readAll("shards");
    await backend.patchRow(counter!._id, { units: -4 });
    const others = 12;
    for (let index = 0; index < others; index += 1) {
      const other = await createTenant(backend);
      await ledger.clicks(other.accountId, 7);
    }
    await expect(ledger.report()).rejects.toThrow("the counters add up to -4");
    expect(await ledger.fixedTotals()).toEqual(Array.from({ length: others }, () => 7));
    expect(await backend.readAll("runs")).toContainEqual(
      expect.objectContaining({ name: "reporter", status: "failed" }),
    );
  });

  test("that is below zero is put before a person, once, and again only with other numbers", async () => {
    const ledger = ledgerOf(backend);
    await ledger.clicks(tenant.accountId, 4);
    const [counter] = await backend.readAll("shards");
    await backend.patchRow(counter!._id, { units: -4 });
    const [meter] = await ledger.meters();
    for (let runs = 0; runs < 3; runs += 1)
      await expect(ledger.report()).rejects.toThrow("the counters add up to");
    const found = { kind: "repeated_failure", subject: meter!._id, status: "open" };
    const reviews = await ledger.reviews();
    expect(reviews).toMatchObject([{ ...found, detail: expect.stringContaining("-4 units") }]);
    const args = { reviewId: reviews[0]!._id, decision: "accept", note: "somebody takes care of it" };
    await ledger.operator.mutation("reviews:decide", args);
    await expect(ledger.report()).rejects.toThrow("the counters add up to");
    expect(await ledger.reviews()).toMatchObject([{ status: "decided" }]);
    await backend.patchRow(counter!._id, { units: -5 });
    await expect(ledger.report()).rejects.toThrow("the counters add up to");
    expect(await ledger.reviews()).toMatchObject([
      { status: "decided" },
      { ...found, detail: expect.stringContaining("-5 units") },
    ]);
    // What a person decides, or a counter that is rebuilt, sets it going again.
    await ledger.reconcile();
    expect(await ledger.report()).toMatchObject({ failed: 0 });
    expect(await ledger.fixedTotals()).toEqual([4]);
  });

  test("of a throw-away account is counted and sent nowhere", async () => {
    const ledger = ledgerOf(backend);
    const [agreement] = await backend.readAll("agreements");
    await backend.mutation("testLedger:deleteRow", { id: agreement!._id });
    await backend.patchRow(tenant.accountId, { source: "lab" });
    await ledger.clicks(tenant.accountId, 5);
    expect(await ledger.report()).toMatchObject({ meters: 1, sent: 0, unmetered: 1 });
    expect(await ledger.marks()).toEqual([]);
  });

  test("of an account from before agreements were kept gets its fixed one", async () => {
    const ledger = ledgerOf(backend);
    const [agreement] = await backend.readAll("agreements");
    await backend.mutation("testLedger:deleteRow", { id: agreement!._id });
    await ledger.clicks(tenant.accountId, 5);
    await ledger.report();
    await ledger.report();
    expect(await ledger.fixedTotals()).toEqual([5]);
    expect(await ledger.meters()).toMatchObject([
      { agreementId: null },
      { agreementId: `fixed:${tenant.accountId}` },
    ]);
  });

  test("of a settled job is sent as tokens", async () => {
    const ledger = ledgerOf(backend);
    const other = await createTenant(backend, { limitUnits: 100 });
    const job = await other.start({ key: "k", units: 10 });
    await other.settle({ jobId: job.id, outcome: "completed", usedUnits: 6, fence: job.fence });
    expect(await ledger.report(other.accountId)).toMatchObject({ sent: 1 });
    expect(await ledger.fixedTotals()).toEqual([6]);
  });

  test("of one account is sent without touching the others", async () => {
    const ledger = ledgerOf(backend);
    const other = await createTenant(backend);
    await ledger.clicks(tenant.accountId, 5);
    await ledger.clicks(other.accountId, 6);
    expect(await ledger.report(other.accountId)).toMatchObject({ meters: 1, sent: 1 });
    expect(await ledger.fixedTotals()).toEqual([6]);
  });
});

test("B47: 1,000 accounts marked at once are all sent in one run, oldest first", async () => {
  const ledger = ledgerOf(backend);
  await backend.mutation("testLedger:manyMeters", { accountId: tenant.accountId, count: 1_000 });
  expect(await ledger.report()).toMatchObject({ meters: 1_000, sent: 1_000 });
  expect(await ledger.marks()).toEqual([]);
  const totals = await ledger.fixedTotals();
  expect(totals).toHaveLength(1_000);
  // Ten at a time are under way, so one may pass another by that much and no more.
  for (const [index, units] of totals.entries()) expect(Math.abs(units - (index + 1))).toBeLessThan(100);
});
