import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { RETENTION } from "../../lib/retention/rules.ts";
import { DAY_MS } from "../../lib/shared/durations.ts";
import { type Backend, createBackend, START_MS, type StoredRow } from "../helpers/backend.ts";
import { creditsByPeriod, customerEvent, deliver, type EventRow, PRO, settle } from "../helpers/inbox.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, operatorOf } from "../helpers/tenant.ts";

const TOLD_AT = new Date(START_MS).toISOString();
const KEPT_MS = RETENTION.inboxEvents.keptMs;

let folder: string;
let opened: Backend;
/** Whichever backend is open now. */
const backend = new Proxy({} as Backend, { get: (_, name) => Reflect.get(opened, name) as unknown });

const open = (startMs: number) =>
  createBackend({ startMs, testFunctions: true, dataFile: join(folder, "data.sqlite") });
/** The same rows at another time, as after a long sleep of the machine: what was due meanwhile runs once. */
async function sleepUntil(atMs: number): Promise<void> {
  await opened.close();
  opened = await open(atMs);
}
const clean = () => backend.action("retention:run", {});
const events = () => backend.readAll<EventRow>("inboxEvents");
const plant = (table: string, row: object, times = 1) =>
  backend.mutation<string[]>("testRows:insert", { table, row, times });
async function counts(...tables: string[]): Promise<Record<string, number>> {
  const rows = await Promise.all(tables.map((table) => backend.readAll(table)));
  return Object.fromEntries(tables.map((table, index) => [table, rows[index]!.length]));
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-retention-"));
  opened = await open(START_MS);
});
afterEach(async () => {
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("rows that are for looking back at", () => {
  test("refusals stay for 30 days to the millisecond, and then go", async () => {
    const { keptMs } = RETENTION.refusals;
    const tenant = await createTenant(backend, { limitUnits: 10 });
    await tenant.admit({ key: "first", units: 11 });
    await backend.advanceMs(1);
    await tenant.admit({ key: "second", units: 11 });
    const keys = async () =>
      (await backend.readAll<StoredRow & { key: string }>("refusals")).map(({ key }) => key);
    await sleepUntil(START_MS + keptMs);
    await clean();
    expect(await keys()).toEqual(["first", "second"]);
    await backend.advanceMs(1);
    await clean();
    expect(await keys()).toEqual(["second"]);
    await backend.advanceMs(1);
    await clean();
    expect(await keys()).toEqual([]);
  });

  test("sent and given up alerts go after 90 days, waiting ones never", async () => {
    const statuses = ["waiting", "sent", "given_up"];
    for (const status of statuses) {
      const alert = { kind: "dead_event", subject: status, detail: "", attempts: 1, error: null };
      await plant("alerts", {
        ...alert,
        status,
        nextAttemptAtMs: null,
        createdAtMs: START_MS,
        sentAtMs: null,
      });
    }
    const [oldest] = (await backend.readAll("alerts")).map(({ _creationTime }) => _creationTime);
    expect(oldest).toBeLessThan(START_MS + 1);
    await sleepUntil(START_MS + RETENTION.alerts.keptMs);
    await clean();
    expect(await counts("alerts")).toEqual({ alerts: 3 });
    await backend.advanceMs(1);
    await clean();
    expect(await backend.readAll("alerts")).toMatchObject([{ status: "waiting" }]);
  });

  test("a match goes 90 days after a newer result took its place; differences and newest results stay", async () => {
    const ledger = ledgerOf(backend);
    const { accountId } = await createTenant(backend);
    const booked = async (units: number) => {
      await ledger.clicks(accountId, units);
      await ledger.report();
      await ledger.reconcile();
    };
    await booked(1);
    await booked(2);
    const [total] = await backend.readAll("fixedTotals");
    await backend.patchRow(total!._id, { totalUnits: 1 });
    await ledger.reconcile();
    await booked(4);
    const verdicts = async () =>
      (await ledger.evidence()).map(({ verdict, ledgerUnits }) => [verdict, ledgerUnits]);
    const all = [
      ["match", 1],
      ["match", 3],
      ["under_billed", 3],
      ["match", 7],
    ];
    expect(await verdicts()).toEqual(all);
    await sleepUntil(START_MS + RETENTION.evidence.keptMs);
    await clean();
    expect(await verdicts()).toEqual(all);
    await backend.advanceMs(1_000);
    await clean();
    expect(await verdicts()).toEqual(all.slice(2));
  });

  test("more than one run takes are removed by runs that follow at once, in batches that a transaction can bear", async () => {
    const { accountId } = await createTenant(backend);
    const refusal = { code: "rate_limited", retryAfterMs: 1, limitPerMinute: 1 };
    const numbers = { requestedUnits: 1, refusal, atMs: START_MS, ordinal: 1, times: 1 };
    const row = { accountId, key: "k", kind: "", ...numbers };
    for (let batch = 0; batch < 16; batch += 1) await plant("refusals", row, 2_000);
    await sleepUntil(START_MS + RETENTION.refusals.keptMs + 1);
    await settle(backend);
    expect(await counts("refusals")).toEqual({ refusals: 0 });
    const [run] = (await backend.readAll<StoredRow & { name: string }>("runs")).filter(
      ({ name }) => name === "retention",
    );
    // The last of two runs, which found what the first had left.
    expect(run).toMatchObject({ status: "good", counts: { refusals: 2_000 } });
  }, 120_000);
});

describe("billing events", () => {
  const upgrade = (eventId: string, at = TOLD_AT) =>
    customerEvent("plan_changed", eventId, at, { plan: { key: PRO } });

  test("that are done go after 90 days with body and receipts, and what they told stays", async () => {
    await deliver(backend, upgrade("event_1"));
    await settle(backend);
    await deliver(backend, upgrade("event_1"));
    await backend.advanceMs(1);
    await deliver(backend, upgrade("event_2"));
    await settle(backend);
    expect((await events()).map(({ status }) => status)).toEqual(["applied", "applied"]);
    const facts = await backend.readAll("planChanges");
    const tables = ["inboxEvents", "inboxPayloads", "receipts"];

    await sleepUntil(START_MS + KEPT_MS);
    await clean();
    expect(await counts(...tables)).toEqual({ inboxEvents: 2, inboxPayloads: 2, receipts: 3 });
    await backend.advanceMs(1);
    await clean();
    expect(await counts(...tables)).toEqual({ inboxEvents: 1, inboxPayloads: 1, receipts: 1 });
    expect(await events()).toMatchObject([{ eventKey: "event:event_2" }]);
    await backend.advanceMs(1);
    await clean();
    expect(await counts(...tables)).toEqual({ inboxEvents: 0, inboxPayloads: 0, receipts: 0 });
    expect(await backend.readAll("planChanges")).toEqual(facts);
  });

  test("a copy after that is quarantined, and replaying it by hand counts nothing twice", async () => {
    await deliver(backend, upgrade("event_1"));
    await deliver(backend, customerEvent("payment_succeeded", "event_2", TOLD_AT));
    await settle(backend);
    const [account] = await backend.readAll<StoredRow & { planKey: string }>("accounts");
    await sleepUntil(START_MS + KEPT_MS + 1);
    await clean();
    await settle(backend);
    const state = async () => ({
      account: (await backend.readAll<StoredRow>("accounts"))[0],
      credits: await creditsByPeriod(backend, account!._id),
      facts: await counts("planChanges", "payments", "agreements", "credits"),
    });
    const before = await state();
    expect(before).toMatchObject({ account: { planKey: PRO }, facts: { planChanges: 1, payments: 1 } });

    await deliver(backend, upgrade("event_1"));
    await deliver(backend, customerEvent("payment_succeeded", "event_2", TOLD_AT));
    await settle(backend);
    const again = await events();
    expect(again.map(({ status }) => status)).toEqual(["quarantined", "quarantined"]);
    expect(await state()).toEqual(before);
    for (const { _id: id } of again) await operatorOf(backend).mutation("inboxEvents:replayAny", { id });
    await settle(backend);
    expect((await events()).map(({ status }) => status)).toEqual(["applied", "applied"]);
    expect(await state()).toEqual(before);
  });

  test("that wait for a person, a worker or their own time stay", async () => {
    const dayOf = (days: number) => new Date(START_MS + days * DAY_MS).toISOString();
    await deliver(backend, "no event");
    await deliver(backend, upgrade("event_old", dayOf(-8)));
    await deliver(backend, upgrade("event_ahead", dayOf(100)));
    const ahead = (await events()).find(({ eventKey }) => eventKey === "event:event_ahead");
    await operatorOf(backend).mutation("inboxEvents:replayAny", { id: ahead!._id });
    await settle(backend);
    const seen = async () =>
      (await events()).map(({ eventKey, status }) => `${eventKey.slice(0, 11)} ${status}`);
    const [dead, old] = [expect.stringMatching(/ dead$/), "event:event quarantined"];
    await sleepUntil(START_MS + KEPT_MS + 1);
    await clean();
    expect(await seen()).toEqual([dead, old, "event:event applied"]);
    // Seven days after its own time a copy of it would be quarantined for good.
    await sleepUntil(START_MS + 107 * DAY_MS);
    await clean();
    expect(await seen()).toEqual([dead, old, "event:event applied"]);
    await backend.advanceMs(1);
    await clean();
    expect(await seen()).toEqual([dead, old]);
  });

  test("an old one that stays does not hold up those behind it, and those of the Engine Room stay with their run", async () => {
    await operatorOf(backend).mutation("engineRoom:start", {});
    await backend.advanceMs(20_000);
    const ofLab = await counts("inboxEvents", "inboxPayloads");
    expect(ofLab["inboxEvents"]).toBeGreaterThan(0);
    for (let number = 0; number < 130; number += 1) await deliver(backend, upgrade(`event_${number}`));
    await settle(backend);
    await sleepUntil(START_MS + KEPT_MS + 60_000);
    await clean();
    expect(await counts("inboxEvents", "inboxPayloads")).toEqual(ofLab);
  });

  test("that are seen again stay until 90 days after that, so that no receipt goes before its time", async () => {
    await deliver(backend, upgrade("event_1"));
    await settle(backend);
    await sleepUntil(START_MS + 50 * DAY_MS);
    await deliver(backend, upgrade("event_1"));
    await sleepUntil(START_MS + 50 * DAY_MS + KEPT_MS);
    await clean();
    expect(await counts("inboxEvents", "receipts")).toEqual({ inboxEvents: 1, receipts: 1 });
    await backend.advanceMs(1);
    await clean();
    expect(await counts("inboxEvents", "receipts")).toEqual({ inboxEvents: 0, receipts: 0 });
  });

  test("one with more copies than a transaction can remove goes over several", async () => {
    await deliver(backend, upgrade("event_1"));
    await settle(backend);
    const [event] = await events();
    // Late copies: their receipts are young, and go because their event does.
    const receipt = { inboxEventId: event!._id, webhookId: null, kid: "key-1", isCopy: true, flags: [] };
    for (let batch = 0; batch < 2; batch += 1) {
      await plant("receipts", { ...receipt, atMs: START_MS + KEPT_MS }, 2_000);
    }
    await sleepUntil(START_MS + KEPT_MS + 1);
    await clean();
    expect(await counts("inboxEvents", "inboxPayloads", "receipts")).toEqual({
      inboxEvents: 0,
      inboxPayloads: 0,
      receipts: 0,
    });
  });

  test("long bodies go, few at a time", async () => {
    for (let number = 0; number < 6; number += 1) {
      await deliver(backend, { ...upgrade(`event_${number}`), padding: "x".repeat(1_900_000) });
    }
    await settle(backend);
    await sleepUntil(START_MS + KEPT_MS + 1);
    await clean();
    expect(await counts("inboxEvents", "inboxPayloads")).toEqual({ inboxEvents: 0, inboxPayloads: 0 });
  });
});

test("the books are as they were: balances, entries, keys of jobs and clicks, after everything old has gone", async () => {
  const tenant = await createTenant(backend, { limitUnits: 100 });
  const request = { key: "job-1", units: 40 };
  const job = await tenant.start(request);
  await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 30, fence: job.fence });
  await tenant.admit({ key: "job-2", units: 1_000 });
  const click = () =>
    backend.mutation<number>("testLedger:clicks", { accountId: tenant.accountId, prefix: "click", count: 3 });
  expect(await click()).toBe(3);
  const books = ["jobs", "entries", "budgets", "meters", "shards", "links"];
  const before = await counts(...books);

  await sleepUntil(START_MS + 400 * DAY_MS);
  await clean();
  expect(await counts("refusals")).toEqual({ refusals: 0 });
  expect(await operatorOf(backend).audit()).toMatchObject({ repaired: 0 });
  expect(await tenant.admit(request)).toMatchObject({
    kind: "admitted",
    replayed: true,
    job: { id: job.id },
  });
  expect(await click()).toBe(0);
  expect(await counts(...books)).toEqual(before);
});
