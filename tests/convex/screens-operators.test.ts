import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface Named {
  readonly account: { readonly id: string; readonly name: string } | null;
}

interface Line extends Named {
  readonly action: string;
}

let backend: Backend;
let operator: ReturnType<typeof operatorOf>;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  operator = operatorOf(backend);
  tenant = await createTenant(backend, { limitUnits: 1000 });
});
afterEach(() => backend.close());

const lines = async (args: object = {}): Promise<Line[]> =>
  (await operator.query<{ lines: Line[] }>("screensOperators:audit", { cursor: null, ...args })).lines;

describe("the audit log", () => {
  test("is listed newest first, by act and by words, with the name of the account", async () => {
    const { accountId } = tenant;
    await operator.mutation("accounts:setRate", { accountId, jobsPerMinute: 7 });
    const [newest] = await lines();
    expect(newest).toMatchObject({ action: "rate_set", account: { id: accountId, name: "tenant" } });
    expect(await lines({ action: "account_created" })).toHaveLength(1);
    expect(await lines({ text: 'AFTER":7' })).toMatchObject([{ action: "rate_set" }]);
    expect(await lines({ text: "nobody at all" })).toEqual([]);
  });

  test("gives each line once over its pages", async () => {
    const { accountId } = tenant;
    for (let rate = 1; rate <= 45; rate += 1) {
      await operator.mutation("accounts:setRate", { accountId, jobsPerMinute: rate });
    }
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: { lines: { details: { after: number } }[]; cursor: string | null } = await operator.query(
        "screensOperators:audit",
        { cursor, action: "rate_set" },
      );
      seen.push(...page.lines.map(({ details }) => details.after));
      ({ cursor } = page);
    } while (cursor !== null);
    expect(seen).toEqual(Array.from({ length: 45 }, (_, index) => 45 - index));
  });
});

describe("accounts", () => {
  test("tell plan, limit and use of the cycle, and are found by name and id", async () => {
    const { accountId } = tenant;
    const job = await tenant.start({ key: "a", units: 300 });
    await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 120, fence: job.fence });
    await tenant.start({ key: "b", units: 50 });
    const found = await operator.query<{ accounts: object[] }>("screensAccounts:list", {
      cursor: null,
      text: accountId,
    });
    expect(found.accounts).toMatchObject([
      { id: accountId, usedUnits: 120, heldUnits: 50, limit: { limitUnits: 1000 } },
    ]);
    expect(await operator.query("screensAccounts:get", { accountId })).toMatchObject({
      freeUnits: 830,
      limitFailure: null,
      cycle: { name: "2026-10" },
    });
    expect(await operator.query("screensAccounts:get", { accountId: "nobody" })).toBeNull();
    for (const only of ["overdue", "deleted", "lab"]) {
      expect(await operator.query("screensAccounts:list", { cursor: null, only })).toMatchObject({
        accounts: [],
      });
    }
  });

  test("a limit is read again on demand", async () => {
    const { accountId } = tenant;
    await backend.advanceMs(120_000);
    expect(await operator.action("screensAccounts:readLimit", { accountId })).toEqual({ kind: "refreshed" });
    expect(await operator.query("screensAccounts:get", { accountId })).toMatchObject({
      limit: { readAtMs: expect.closeTo(backend.nowMs(), -3) },
    });
    expect(await operator.action("screensAccounts:readLimit", { accountId: "nobody" })).toEqual({
      kind: "not_found",
    });
  });
});

test("what waits is nothing at first", async () => {
  expect(await operator.query("screensOverview:waiting", {})).toEqual({
    countedMax: 100,
    openReviews: 0,
    deadEvents: 0,
    quarantinedEvents: 0,
    failingEvents: 0,
    alertsWaiting: 0,
    alertsGivenUp: 0,
    isAlertConfigured: false,
    driftSightings: 0,
  });
});

test("none of it is for a customer", async () => {
  const customer = backend.as({ subject: "kp_customer" });
  const refused = expect.objectContaining({ data: expect.objectContaining({ code: "forbidden" }) });
  const cursor = null;
  for (const [path, args] of [
    ["screensOverview:waiting", {}],
    ["screensOperators:reviews", { status: "open", cursor }],
    ["screensOperators:events", { cursor }],
    ["screensOperators:audit", { cursor }],
    ["screensOperators:drift", { cursor }],
    ["screensOperators:sightings", {}],
    ["screensAccounts:list", { cursor }],
    ["screensAccounts:get", { accountId: tenant.accountId }],
    ["screensReconciliation:accounts", { cursor }],
    ["screensReconciliation:account", { accountId: tenant.accountId }],
    ["screensReconciliation:runs", { name: "audit" }],
    ["screensReconciliation:accountCount", {}],
  ] as const) {
    await expect(customer.query(path, args)).rejects.toEqual(refused);
  }
  await expect(customer.action("screensAccounts:readLimit", { accountId: tenant.accountId })).rejects.toEqual(
    refused,
  );
});

describe("what a customer was told", () => {
  const FOREIGN = { accountId: "x", entryId: "x" };

  test("an operator sees the holds, the refusal and the entry with its reason, as the customer does", async () => {
    const { accountId } = tenant;
    const job = await tenant.start({ key: "runs", units: 600 });
    const answer = await tenant.admit({ key: "too-much", units: 500 });
    if (answer.kind !== "refused") throw new Error("it was admitted");
    const ended = await tenant.start({ key: "ended", units: 10 });
    await tenant.charge({ jobId: ended.id, step: 1, units: 7, fence: ended.fence });
    await tenant.settle({ jobId: ended.id, outcome: "completed", fence: ended.fence });

    const { running } = await tenant.query<{ running: unknown[] }>("gate:usage", {});
    expect(await operator.query("screensAccounts:holds", { accountId })).toEqual(running);
    expect(running).toMatchObject([{ id: job.id, heldUnits: 600 }]);

    const refused = await operator.query("screensRefusals:ofAccount", { accountId, cursor: null });
    expect(refused).toEqual(await tenant.query("screensRefusals:recent", { cursor: null }));
    expect(refused).toMatchObject({ refused: [{ key: "too-much", refusal: answer.refusal }] });

    const listed = { accountId, all: true, cursor: null };
    const { entries } = await operator.query<{ entries: { id: string }[] }>(
      "screensEntries:ofAccount",
      listed,
    );
    expect(entries).toMatchObject([{ units: 7, origin: { kind: "job", jobKey: "ended" } }]);
    const entryId = entries[0]?.id ?? "";
    const why = await operator.query("entries:whyForOperator", { entryId });
    expect(why).toMatchObject({ entry: { id: entryId }, facts: { job: { usedUnits: 7 } } });
    expect(why).toEqual(await tenant.query("entries:why", { entryId }));
  });

  test("of another account there is nothing of it, and of an id that is none nothing", async () => {
    const other = await createTenant(backend, { limitUnits: 1 });
    await tenant.start({ key: "runs", units: 600 });
    await tenant.admit({ key: "too-much", units: 5_000 });
    for (const accountId of [other.accountId, FOREIGN.accountId]) {
      expect(await operator.query("screensAccounts:holds", { accountId })).toEqual([]);
      const page = { accountId, cursor: null };
      expect(await operator.query("screensRefusals:ofAccount", page)).toEqual({ refused: [], cursor: null });
      expect(await operator.query("screensEntries:ofAccount", { ...page, all: true })).toEqual({
        entries: [],
        cursor: null,
      });
    }
    expect(await operator.query("entries:whyForOperator", { entryId: FOREIGN.entryId })).toBeNull();
  });

  test("it is for operators alone, also for the account that asks about itself", async () => {
    const { accountId } = tenant;
    const calls: [string, object][] = [
      ["screensAccounts:holds", { accountId }],
      ["screensRefusals:ofAccount", { accountId, cursor: null }],
      ["screensEntries:ofAccount", { accountId, all: true, cursor: null }],
      ["entries:whyForOperator", { entryId: FOREIGN.entryId }],
    ];
    for (const [path, args] of calls) {
      await expect(tenant.query(path, args)).rejects.toMatchObject({ data: { code: "forbidden" } });
    }
  });
});
