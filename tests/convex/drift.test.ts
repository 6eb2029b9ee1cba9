import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Backend, StoredRow } from "../helpers/backend.ts";
import {
  creditsByPeriod,
  customerEvent,
  type CustomerRow,
  deliver,
  FREE,
  PRO,
  settle,
  STARTER,
} from "../helpers/inbox.ts";
import { openKindeLedger, type KindeLedger } from "../helpers/kinde-ledger.ts";
import { addCustomer, control, type Customer } from "../kinde/emulator/calls.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const AGREEMENTS_READ = "GET /api/v1/billing/agreements";
const ENTITLEMENTS_READ = "GET /api/v1/billing/entitlements";

interface Checked {
  readonly kind: string;
  readonly status: string;
  readonly counts: Record<string, number>;
  readonly accounts: { accountId: string; outcome: string; error: string | null }[];
}

interface EvidenceRow extends StoredRow {
  readonly accountId: string;
  readonly outcome: string;
  readonly firstSentAtMs: number;
  readonly secondSentAtMs: number;
}

interface RunRow extends StoredRow {
  readonly name: string;
  readonly status: string;
  readonly lastStartedAtMs: number;
  readonly lastGoodAtMs: number | null;
  readonly counts: Record<string, number>;
}

let kinde: KindeLedger;
let backend: Backend;
beforeEach(async () => {
  kinde = await openKindeLedger();
  ({ backend } = kinde);
});
afterEach(() => kinde.close());

const check = (accountId?: string) =>
  kinde.ledger.operator.action<Checked>("drift:check", accountId === undefined ? {} : { accountId });
const outcome = async () => (await check(kinde.accountId)).accounts[0]!.outcome;
const evidence = () => backend.readAll<EvidenceRow>("driftEvidence");
const sightings = () => backend.readAll("driftSightings");
const facts = () => backend.readAll("planChanges");
const alarms = async () => (await kinde.ledger.reviews()).filter(({ kind }) => kind === "missed_webhooks");

async function account(accountId: string = kinde.accountId): Promise<CustomerRow> {
  const rows = await backend.readAll<CustomerRow>("accounts");
  return rows.find(({ _id }) => _id === accountId)!;
}

async function driftRun(): Promise<RunRow> {
  const rows = await backend.readAll<RunRow>("runs");
  return rows.find(({ name }) => name === "drift")!;
}

/** Hands over an event of the customer as of now. */
async function tell(type: string, eventId: string, data: Record<string, unknown>): Promise<void> {
  const at = new Date(backend.nowMs()).toISOString();
  const { userId: user_id, customerId: customer_id } = kinde.customer;
  await deliver(backend, customerEvent(type, eventId, at, { user_id, customer_id, ...data }));
  await settle(backend);
}

async function signUp(email: string, planKey?: string): Promise<Customer & { accountId: string }> {
  const customer = await addCustomer(kinde.emulator.url, email, planKey);
  const { userId: kindeUserId, customerId } = customer;
  const accountId = await backend.mutation<string>("signIn:link", { kindeUserId, customerId, email });
  return { ...customer, accountId };
}

describe("C33: events that never came", () => {
  test("a plan change of an outage is found within the hour, repaired, proven and put before a person", async () => {
    await kinde.signIn();
    await kinde.advance(MINUTE_MS);
    await kinde.changePlan(PRO);
    await kinde.advance(HOUR_MS + 6 * MINUTE_MS);
    const [repair, ...more] = await evidence();
    expect(more).toEqual([]);
    expect(repair).toMatchObject({
      accountId: kinde.accountId,
      beforePlanKey: FREE,
      providerPlanKey: PRO,
      outcome: "repaired",
    });
    expect(repair!.secondSentAtMs - repair!.firstSentAtMs).toBeGreaterThanOrEqual(5 * MINUTE_MS);
    const { firstSentAtMs } = repair!;
    expect(await account()).toMatchObject({
      planKey: PRO,
      planSetBy: `drift:${kinde.accountId}:${firstSentAtMs}`,
    });
    expect(await facts()).toMatchObject([
      { kind: "provider_read", planKey: PRO, atNs: BigInt(firstSentAtMs) * 1_000_000n },
    ]);
    const month = new Date(firstSentAtMs).toISOString().slice(0, 7);
    expect(await creditsByPeriod(backend, kinde.accountId)).toEqual({ [month]: 500 });
    const limits = await backend.readAll<StoredRow & { refreshRequiredAtMs: number }>("limits");
    expect(limits[0]!.refreshRequiredAtMs).toBeGreaterThan(firstSentAtMs);
    expect(await sightings()).toEqual([]);
    expect(await alarms()).toMatchObject([{ subject: kinde.emulator.url, status: "open" }]);
    expect(await driftRun()).toMatchObject({ status: "good" });
  });

  test("the end of an agreement is found too, and the plan falls back with it", async () => {
    await kinde.changePlan(PRO);
    const [pro] = await agreementsAtProvider();
    await tell("agreement_created", "event_1", { agreement_id: pro, plan: { key: PRO } });
    expect(await account()).toMatchObject({ planKey: PRO });
    await kinde.advance(11 * MINUTE_MS);
    await kinde.changePlan(FREE);
    await kinde.advance(HOUR_MS);
    expect(await account()).toMatchObject({ planKey: FREE });
    const [repair] = await evidence();
    expect(repair).toMatchObject({ endedAgreementIds: [pro], beforePlanKey: PRO, providerPlanKey: FREE });
    const rows = await backend.readAll<StoredRow & { agreementId: string; untilMs: number | null }>(
      "agreements",
    );
    const spans = Object.fromEntries(rows.map(({ agreementId, untilMs }) => [agreementId, untilMs]));
    expect(spans[pro!]).toBe(repair!.firstSentAtMs - 1);
    // What goes on was learnt from the provider right after the repair.
    const [current] = await agreementsAtProvider();
    expect(spans[current!]).toBeNull();
  });

  test("nothing is repaired twice, however many checks there are and whatever comes late", async () => {
    await kinde.changePlan(PRO);
    const change = new Date(backend.nowMs()).toISOString();
    await check();
    await kinde.advance(5 * MINUTE_MS);
    await Promise.all([check(), check(kinde.accountId), check()]);
    await kinde.advance(11 * MINUTE_MS);
    await check();
    expect(await evidence()).toHaveLength(1);
    expect(await facts()).toHaveLength(1);
    const { userId: user_id, customerId: customer_id } = kinde.customer;
    await deliver(
      backend,
      customerEvent("plan_changed", "event_late", change, { user_id, customer_id, plan: { key: PRO } }),
    );
    await settle(backend);
    expect(await account()).toMatchObject({ planKey: PRO });
    expect(Object.values(await creditsByPeriod(backend, kinde.accountId))).toEqual([500]);
    expect(await outcome()).toBe("same");
  });

  test("what was told by the second reading is gone, and kept as evidence", async () => {
    await kinde.changePlan(PRO);
    expect(await outcome()).toBe("sighted");
    await tell("plan_changed", "event_1", { plan: { key: PRO } });
    await kinde.advance(5 * MINUTE_MS);
    expect(await evidence()).toMatchObject([{ outcome: "gone", beforePlanKey: PRO, providerPlanKey: PRO }]);
    expect(await sightings()).toEqual([]);
    expect(await alarms()).toEqual([]);
  });
});

describe("C33b: the provider lags behind an event", () => {
  test("an event that was just applied stands, however often it is checked", async () => {
    await tell("plan_changed", "event_1", { plan: { key: PRO } });
    for (let minute = 0; minute < 10; minute += 1) {
      expect(await outcome()).toBe("waiting");
      await kinde.advance(MINUTE_MS);
    }
    expect(await account()).toMatchObject({ planKey: PRO });
    expect(await sightings()).toEqual([]);
    // The provider has caught up.
    await kinde.changePlan(PRO);
    expect(await outcome()).toBe("same");
    await kinde.advance(HOUR_MS);
    expect(await facts()).toHaveLength(1);
    expect(await evidence()).toEqual([]);
  });

  test("an event between two readings makes the first one worthless", async () => {
    await kinde.changePlan(PRO);
    expect(await outcome()).toBe("sighted");
    await kinde.advance(4 * MINUTE_MS);
    await tell("plan_changed", "event_1", { plan: { key: STARTER } });
    await kinde.advance(2 * MINUTE_MS);
    expect(await outcome()).toBe("waiting");
    expect(await account()).toMatchObject({ planKey: STARTER });
    await kinde.advance(9 * MINUTE_MS);
    expect(await outcome()).toBe("sighted");
    await kinde.advance(5 * MINUTE_MS);
    expect(await account()).toMatchObject({ planKey: PRO });
  });
});

describe("C32: a run that fails half-way", () => {
  test("is marked, tells how old the last good one is, and is tried again at once and then later each time", async () => {
    await signUp("ada@example.com");
    await check();
    const goodAtMs = backend.nowMs();
    expect(await driftRun()).toMatchObject({ status: "good", lastGoodAtMs: goodAtMs, counts: { same: 2 } });
    await kinde.advance(MINUTE_MS);
    // Each run asks for the agreements of two accounts; one of the two is refused.
    await kinde.fault("forbidden", { endpoint: AGREEMENTS_READ });
    const failed = await check();
    expect(failed).toMatchObject({ status: "failed", counts: { failed: 1, same: 1, accounts: 2 } });
    expect(failed.accounts).toMatchObject([{ outcome: "failed", error: expect.stringContaining("403") }]);
    expect(await driftRun()).toMatchObject({ status: "failed", lastGoodAtMs: goodAtMs });
    await kinde.advance(MINUTE_MS - 1);
    expect(await driftRun()).toMatchObject({ status: "failed" });
    await kinde.advance(1);
    expect(await driftRun()).toMatchObject({
      status: "good",
      lastGoodAtMs: backend.nowMs(),
      counts: { same: 2, accounts: 2 },
    });
  });

  test("waits a minute, four and sixteen, and then for the cron", async () => {
    await kinde.fault("forbidden", { endpoint: ENTITLEMENTS_READ, count: 1_000 });
    const startMs = backend.nowMs();
    await check();
    const starts = new Set<number>();
    for (let minute = 0; minute < 59; minute += 1) {
      await kinde.advance(MINUTE_MS);
      starts.add(((await driftRun()).lastStartedAtMs - startMs) / MINUTE_MS);
    }
    expect([...starts]).toEqual([1, 5, 21]);
    await kinde.endFaults();
    await kinde.advance(MINUTE_MS);
    expect(await driftRun()).toMatchObject({ status: "good", counts: { accounts: 1 } });
    expect(await facts()).toEqual([]);
  });

  test("a reading that fails between two that agree changes nothing", async () => {
    await kinde.changePlan(PRO);
    expect(await outcome()).toBe("sighted");
    const before = await sightings();
    await kinde.fault("forbidden", { endpoint: ENTITLEMENTS_READ });
    await kinde.advance(4 * MINUTE_MS);
    expect(await outcome()).toBe("failed");
    expect(await sightings()).toEqual(before);
    await kinde.advance(MINUTE_MS);
    expect(await account()).toMatchObject({ planKey: PRO });
  });
});

describe("a customer who was deleted at the provider without an event", () => {
  const gone = async () => (await kinde.ledger.reviews()).filter(({ kind }) => kind === "customer_gone");

  test("is a state: runs are good, and a person is told once, also after deciding", async () => {
    await signUp("ada@example.com");
    await kinde.ledger.clicks(kinde.accountId, 3);
    await kinde.ledger.report();
    await kinde.advance(11 * MINUTE_MS);
    await kinde.removeCustomer();
    const ran = await check();
    expect(ran).toMatchObject({ status: "good", counts: { gone: 1, same: 1, accounts: 2 } });
    expect(ran.accounts).toMatchObject([{ outcome: "gone", error: expect.stringContaining("404") }]);
    expect(await driftRun()).toMatchObject({ status: "good", lastGoodAtMs: backend.nowMs() });
    const [review] = await gone();
    expect(review).toMatchObject({ subject: kinde.accountId, status: "open" });
    const decision = { reviewId: review!._id, decision: "accept", note: "left" };
    await kinde.ledger.operator.mutation("reviews:decide", decision);
    await check();
    expect(await gone()).toHaveLength(1);
    expect(await account()).toMatchObject({ deletedAtMs: null });
    expect(await kinde.ledger.reconcile()).toMatchObject({ status: "good", counts: { unreadable: 1 } });
  });

  test("who has just signed up is not told of: the provider may not find them yet", async () => {
    await kinde.removeCustomer();
    expect(await outcome()).toBe("gone");
    expect(await gone()).toEqual([]);
  });

  test("is not believed while the provider still has the user", async () => {
    await kinde.advance(11 * MINUTE_MS);
    await backend.patchRow(kinde.accountId, { customerId: "customer_of_nobody" });
    expect(await outcome()).toBe("unclear");
    expect(await gone()).toEqual([]);
  });
});

test("a customer of before is checked at the first sign-in, and that nobody told of the past is no alarm", async () => {
  const customer = await addCustomer(kinde.emulator.url, "ada@example.com", PRO);
  await kinde.advance(MINUTE_MS);
  const user = backend.as({ subject: customer.userId });
  const { accountId } = await user.action<{ accountId: string }>("signIn:enter", {});
  await settle(backend);
  expect(await sightings()).toHaveLength(1);
  await kinde.advance(5 * MINUTE_MS);
  expect(await account(accountId)).toMatchObject({ planKey: PRO });
  expect(await alarms()).toEqual([]);
});

test("deleted and merged accounts and those of operators are left alone", async () => {
  await kinde.changePlan(PRO);
  await backend.patchRow(kinde.accountId, { deletedAtMs: backend.nowMs() });
  const merged = await signUp("ada@example.com", PRO);
  await backend.patchRow(merged.accountId, { customerId: null, mergedIntoAccountId: kinde.accountId });
  expect(await check()).toMatchObject({ status: "good", counts: {}, accounts: [] });
  expect(await outcome()).toBe("skipped");
  expect(await check(kinde.accountId.slice(0, -1))).toEqual({ kind: "not_found" });
});

test("an account that was deleted between question and answer is left alone too", async () => {
  await backend.patchRow(kinde.accountId, { deletedAtMs: backend.nowMs() });
  const reading = { sentAtMs: backend.nowMs(), planKey: PRO, subscribedAtMs: null, inForceIds: [] };
  const judged = await backend.mutation("driftRows:judge", { accountId: kinde.accountId, reading });
  expect(judged).toMatchObject({ kind: "skipped" });
  expect(await sightings()).toEqual([]);
});

test("more customers than a page holds are all checked", async () => {
  for (let customer = 0; customer < 60; customer += 1) await signUp(`user${customer}@example.com`);
  expect(await check()).toMatchObject({ status: "good", counts: { accounts: 61, same: 61 } });
});

test("evidence is listed for operators alone, of one account or of all", async () => {
  await kinde.changePlan(PRO);
  await check();
  await kinde.advance(5 * MINUTE_MS);
  const { operator } = kinde.ledger;
  const page = { cursor: null, limit: 10 };
  const found = { evidence: [{ accountId: kinde.accountId, outcome: "repaired" }], cursor: null };
  expect(await operator.query("driftRows:list", page)).toMatchObject(found);
  expect(await operator.query("driftRows:list", { ...page, accountId: kinde.accountId })).toMatchObject(
    found,
  );
  const none = await operator.query("driftRows:list", { ...page, accountId: "nobody" });
  expect(none).toEqual({ evidence: [], cursor: null });
  const customer = backend.as({ subject: kinde.customer.userId });
  const forbidden = expect.objectContaining({ data: expect.objectContaining({ code: "forbidden" }) });
  await expect(customer.query("driftRows:list", page)).rejects.toEqual(forbidden);
  await expect(customer.action("drift:check", {})).rejects.toEqual(forbidden);
});

/** Their ids, the one in force first. */
async function agreementsAtProvider(): Promise<string[]> {
  const { json } = await control(kinde.emulator.url)("/control/state");
  const mine = json.agreements.filter(
    ({ customerId }: { customerId: string }) => customerId === kinde.customer.customerId,
  );
  return mine.map(({ id }: { id: string }) => id);
}
