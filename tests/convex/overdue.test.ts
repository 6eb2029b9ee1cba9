import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { overdueBlock } from "../../lib/gate/overdue.ts";
import { type Backend, createBackend, START_MS, type StoredRow } from "../helpers/backend.ts";
import { customerEvent, deliver, settle } from "../helpers/inbox.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

const DAY_MS = 86_400_000;
const DAYS = 14;

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 1_000 });
});
afterEach(() => backend.close());

const set = (days: number | null) =>
  operatorOf(backend).mutation<object>("settings:setOverdueBlockDays", { days });
const get = () => operatorOf(backend).query("settings:get", {});
const owe = (sinceMs: number | null) => backend.patchRow(tenant.accountId, { overdueSinceMs: sinceMs });
const preview = () => tenant.query<{ kind: string; refusal?: object }>("gate:preview", { units: 10 });
const invalid = expect.objectContaining({ data: expect.objectContaining({ code: "invalid" }) });

const overdueSinceMs = START_MS - DAYS * DAY_MS;
const refusal = { code: "payment_overdue", overdueSinceMs, blockedSinceMs: START_MS };

describe("an overdue invoice", () => {
  test("blocks nothing until an operator says so", async () => {
    await owe(overdueSinceMs);
    expect(await get()).toEqual({ overdueBlockDays: null });
    expect(await tenant.admit({ key: "a", units: 10 })).toMatchObject({ kind: "admitted" });
  });

  test("refuses new jobs from the day on that is set, and preview says the same", async () => {
    await set(DAYS);
    await owe(overdueSinceMs + 1);
    expect(await preview()).toMatchObject({ kind: "would_admit" });
    expect(await tenant.admit({ key: "a", units: 10 })).toMatchObject({ kind: "admitted" });
    await backend.advanceMs(1);
    const later = { ...refusal, overdueSinceMs: overdueSinceMs + 1, blockedSinceMs: START_MS + 1 };
    expect(await preview()).toEqual({ kind: "would_refuse", refusal: later });
    expect(await tenant.admit({ key: "b", units: 10 })).toEqual({ kind: "refused", refusal: later });
    const kept = await backend.readAll<StoredRow & { key: string; refusal: object }>("refusals");
    expect(kept).toMatchObject([{ key: "b", requestedUnits: 10, refusal: later }]);
    expect(await backend.readAll("jobs")).toHaveLength(1);
  });

  test("touches no job that runs: it is charged, extended, renewed, settled, and its start is answered again", async () => {
    const job = await tenant.start({ key: "a", units: 10 });
    await set(0);
    await owe(START_MS);
    const fence = job.fence;
    expect(await tenant.admit({ key: "a", units: 10 })).toMatchObject({ kind: "admitted", replayed: true });
    expect(await tenant.charge({ jobId: job.id, step: 1, units: 4, fence })).toMatchObject({
      kind: "charged",
    });
    expect(await tenant.extend({ jobId: job.id, units: 5, fence })).toMatchObject({ kind: "extended" });
    expect(await tenant.heartbeat({ jobId: job.id, fence })).toMatchObject({ kind: "renewed" });
    const settled = await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 2, fence });
    expect(settled).toMatchObject({ kind: "settled" });
    expect(await tenant.admit({ key: "b", units: 10 })).toMatchObject({
      refusal: { code: "payment_overdue" },
    });
  });

  test("is over with the payment, and the block with the setting", async () => {
    await set(DAYS);
    await owe(overdueSinceMs);
    expect(await tenant.admit({ key: "a", units: 10 })).toEqual({ kind: "refused", refusal });
    await set(null);
    expect(await tenant.admit({ key: "a", units: 10 })).toMatchObject({ kind: "admitted" });
    await set(DAYS);
    await owe(null);
    expect(await tenant.admit({ key: "b", units: 10 })).toMatchObject({ kind: "admitted" });
  });

  test("is what events tell: a notice, and the payment after it", async () => {
    await backend.patchRow(tenant.accountId, { kindeUserId: "kp_a", customerId: "customer_a" });
    await set(0);
    const at = (ms: number) => new Date(START_MS + ms).toISOString();
    await deliver(backend, customerEvent("invoice_overdue", "event_1", at(-1_000)));
    await settle(backend);
    expect(await tenant.admit({ key: "a", units: 10 })).toMatchObject({
      refusal: { code: "payment_overdue", overdueSinceMs: START_MS - 1_000 },
    });
    await deliver(backend, customerEvent("payment_succeeded", "event_2", at(0)));
    await settle(backend);
    expect(await tenant.admit({ key: "a", units: 10 })).toMatchObject({ kind: "admitted" });
  });
});

test("the setting is an operator's, bounded, and each change is in the audit", async () => {
  expect(await set(DAYS)).toEqual({ overdueBlockDays: DAYS });
  expect(await set(null)).toEqual({ overdueBlockDays: null });
  for (const days of [-1, 0.5, 366, Number.NaN]) await expect(set(days)).rejects.toEqual(invalid);
  expect(await get()).toEqual({ overdueBlockDays: null });
  expect(await backend.readAll("settings")).toHaveLength(1);
  const acts = await backend.readAll<StoredRow & { action: string; details: object }>("audit");
  expect(acts.filter(({ action }) => action === "overdue_block_set")).toMatchObject([
    { actor: "operator key", details: { before: null, after: DAYS } },
    { actor: "operator key", details: { before: DAYS, after: null } },
  ]);
  await expect(tenant.mutation("settings:setOverdueBlockDays", { days: 1 })).rejects.toEqual(
    expect.objectContaining({ data: expect.objectContaining({ code: "forbidden" }) }),
  );
});

test.each([
  [null, 0, false],
  [0, null, false],
  [0, 0, true],
  [1, 0, false],
])("overdue since %s with %s days: blocked at 0 is %s", (sinceMs, days, isBlocked) => {
  expect(overdueBlock(sinceMs, days, 0) !== null).toBe(isBlocked);
});
