import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { DEFAULT_ALLOWANCES } from "../../lib/inbox/allowance.ts";
import { HOUR_MS, MINUTE_MS } from "../../lib/shared/durations.ts";
import { type Backend, type Calls, createBackend, START_MS, type StoredRow } from "../helpers/backend.ts";
import { customerEvent, deliver, FREE, PRO, settle } from "../helpers/inbox.ts";
import { createTenant, operatorOf } from "../helpers/tenant.ts";

interface Reminders {
  readonly reminders: { readonly id: string; readonly text: string; readonly status: string }[];
  readonly cursor: string | null;
}
interface EventView {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly planKey: string | null;
  readonly seenCount: number;
}
interface Events {
  readonly events: EventView[];
  readonly cursor: string | null;
}

let backend: Backend;
let me: Calls;
let stranger: Calls;
beforeEach(async () => {
  backend = await createBackend();
  for (const one of ["a", "b"]) {
    const ids = { kindeUserId: `kp_${one}`, customerId: `customer_${one}` };
    await backend.mutation("signIn:link", { ...ids, email: `${one}@example.org` });
  }
  me = backend.as({ subject: "kp_a" });
  stranger = backend.as({ subject: "kp_b" });
});
afterEach(() => backend.close());

async function remind(text: string, dueInMs: number): Promise<string> {
  const request = { key: text, text, dueAtMs: backend.nowMs() + dueInMs };
  return (await me.mutation<{ reminder: { id: string } }>("reminders:create", request)).reminder.id;
}

const AT = (offsetMs: number) => new Date(START_MS + offsetMs).toISOString();
const upgrade = customerEvent("plan_changed", "event_plan", AT(0), { plan: { key: PRO } });
const payment = customerEvent("payment_succeeded", "event_paid", AT(5), {});

describe("reminders of the screen", () => {
  const list = (args: object, calls = me) =>
    calls.query<Reminders>("screensReminders:recent", { isUnread: false, cursor: null, ...args });
  const texts = async (args: object, calls = me) =>
    (await list(args, calls)).reminders.map(({ text }) => text);

  test("filters by state, by what is unread and by a part of the text, own ones only", async () => {
    const read = await remind("Water the plants", 1_000);
    await remind("Call Ada", 2_000);
    await backend.advanceMs(3_000);
    await me.mutation("reminders:markRead", { reminderId: read });
    await remind("Later: plants again", 2 * HOUR_MS);
    await remind("Sooner", HOUR_MS);
    const gone = await remind("Never mind", HOUR_MS);
    await me.mutation("reminders:cancel", { reminderId: gone });
    expect(await texts({ status: "waiting" })).toEqual(["Sooner", "Later: plants again"]);
    expect(await texts({ status: "delivered" })).toEqual(["Call Ada", "Water the plants"]);
    expect(await texts({ status: "cancelled" })).toEqual(["Never mind"]);
    expect(await texts({ isUnread: true })).toEqual(["Call Ada"]);
    expect(await texts({ text: "PLANTS" })).toEqual(["Later: plants again", "Water the plants"]);
    expect(await texts({})).toHaveLength(5);
    expect(await texts({}, stranger)).toEqual([]);
  });

  test("pages show each once", async () => {
    await deliver(backend, upgrade);
    await settle(backend);
    for (let index = 0; index < 25; index += 1) await remind(`number ${index}`, HOUR_MS + index);
    const first = await list({ status: "waiting" });
    const second = await list({ status: "waiting", cursor: first.cursor });
    expect(first.reminders).toHaveLength(20);
    expect(new Set([...first.reminders, ...second.reminders].map(({ id }) => id)).size).toBe(25);
    expect(second.cursor).toBeNull();
  });

  test("arrivals are the newest delivered ones and the number of unread ones, of this account", async () => {
    const arrivals = (calls = me) =>
      calls.query<{ newest: { text: string }[]; unread: number }>("screensReminders:arrivals", {});
    for (let index = 0; index < 7; index += 1) await remind(`number ${index}`, 1_000 + index);
    expect(await arrivals()).toEqual({ newest: [], unread: 0 });
    await backend.advanceMs(2_000);
    const { newest, unread } = await arrivals();
    expect(newest.map(({ text }) => text)).toEqual([6, 5, 4, 3, 2].map((index) => `number ${index}`));
    expect(unread).toBe(7);
    expect(await arrivals(stranger)).toEqual({ newest: [], unread: 0 });
  });
});

describe("billing events of the screen", () => {
  const list = (args: object, calls = me) =>
    calls.query<Events>("screensEvents:recent", { cursor: null, ...args });
  const ids = async (args: object, calls = me) => (await list(args, calls)).events.map(({ type }) => type);

  beforeEach(async () => {
    await deliver(backend, upgrade);
    await settle(backend);
    await deliver(backend, payment);
    await deliver(backend, payment);
    await settle(backend);
  });

  test("tells the plan and the copies, and filters by status, type and text", async () => {
    expect((await list({})).events).toMatchObject([
      { type: "customer.payment_succeeded", status: "applied", planKey: null, seenCount: 2 },
      { type: "customer.plan_changed", status: "applied", planKey: PRO, seenCount: 1 },
    ]);
    expect(await ids({ type: "customer.plan_changed" })).toEqual(["customer.plan_changed"]);
    expect(await ids({ text: "EVENT_PAID" })).toEqual(["customer.payment_succeeded"]);
    expect(await ids({ status: "ignored" })).toEqual([]);
    expect(await ids({}, stranger)).toEqual([]);
  });

  test("the end of an agreement tells the plan that it was for, not that of the newer one", async () => {
    const old = { agreement_id: "agreement_old" };
    const made = customerEvent("agreement_created", "event_old", AT(-1_000), { ...old, plan: { key: FREE } });
    await deliver(backend, made);
    await settle(backend);
    await deliver(backend, customerEvent("agreement_cancelled", "event_end", AT(10), old));
    await settle(backend);
    expect((await list({ type: "customer.agreement_cancelled" })).events).toMatchObject([
      { status: "applied", planKey: FREE },
    ]);
  });

  test("one event has its body and receipts; another account's id is refused everywhere", async () => {
    const [paid] = (await list({})).events;
    const found = await me.query<{ payload: string; receipts: { isCopy: boolean }[] }>("screensEvents:get", {
      id: paid!.id,
    });
    expect(JSON.parse(found.payload)).toEqual(payment);
    expect(found.receipts.map(({ isCopy }) => isCopy)).toEqual([true, false]);
    expect(await stranger.query("screensEvents:get", { id: paid!.id })).toBeNull();
    expect(await stranger.query("screensEvents:get", { id: "nonsense" })).toBeNull();
    expect(await stranger.mutation("inboxEvents:replay", { id: paid!.id })).toEqual({ kind: "not_found" });
    const tenant = await createTenant(backend);
    expect(await tenant.query("screensEvents:get", { id: paid!.id })).toBeNull();
  });

  test("replays are told with who, when and what came of each; a stranger is told of none", async () => {
    const [paid] = (await list({})).events;
    const id = paid!.id;
    const replays = (calls: Calls) => calls.query<object[]>("screensEvents:replays", { id });
    expect(await replays(me)).toEqual([]);
    const firstAtMs = backend.nowMs();
    await me.mutation("inboxEvents:replay", { id });
    await settle(backend);
    await backend.advanceMs(MINUTE_MS);
    await operatorOf(backend).mutation("inboxEvents:replayAny", { id });
    await settle(backend);
    expect(await replays(me)).toEqual([
      { atMs: firstAtMs + MINUTE_MS, by: "operator", before: "applied", after: "applied" },
      { atMs: firstAtMs, by: "customer", before: "applied", after: "applied" },
    ]);
    expect(await replays(stranger)).toEqual([]);
    expect(await me.query("screensEvents:replays", { id: "nonsense" })).toEqual([]);
  });

  test("what a replay came to is what the next one found", async () => {
    const [row] = await backend.readAll<StoredRow>("inboxEvents");
    await backend.patchRow(row!._id, { status: "dead", error: "broken" });
    await me.mutation("inboxEvents:replay", { id: row!._id });
    await settle(backend);
    await me.mutation("inboxEvents:replay", { id: row!._id });
    await settle(backend);
    expect(await me.query("screensEvents:replays", { id: row!._id })).toMatchObject([
      { before: "applied", after: "applied" },
      { before: "dead", after: "applied" },
    ]);
  });

  test("a replay of an applied event leaves every row as it was", async () => {
    const tables = ["planChanges", "payments", "credits", "agreements", "accounts"];
    const rows = () => Promise.all(tables.map((table) => backend.readAll(table)));
    const before = await rows();
    for (const { id } of (await list({})).events) {
      expect(await me.mutation("inboxEvents:replay", { id })).toMatchObject({ kind: "queued" });
    }
    await settle(backend);
    expect(await rows()).toEqual(before);
    expect((await list({ status: "applied" })).events).toHaveLength(2);
  });
});

test("the plans are told with the reminder credits of a month that they have here", async () => {
  expect(await me.query("screensPlans:reminderCredits", {})).toEqual(DEFAULT_ALLOWANCES.unitsByPlan);
});

test("a cycle and a month whose end the reader's clock has passed are asked anew, by the server's own clock", async () => {
  await backend.close();
  backend = await createBackend({ startMs: Date.UTC(2026, 10, 1) - MINUTE_MS });
  await backend.mutation("signIn:link", { kindeUserId: "kp_a", customerId: null, email: null });
  const [account] = await backend.readAll("accounts");
  await backend.patchRow(account!._id, { cycleAnchorMs: Date.UTC(2026, 9, 1) });
  me = backend.as({ subject: "kp_a" });
  const ask = async (args: object) => ({
    usage: (await me.query<{ cycle: { endMs: number } }>("gate:usage", { ...args })).cycle.endMs,
    month: (await me.query<{ nextPeriodStartMs: number }>("credits:balance", { ...args })).nextPeriodStartMs,
  });
  const now = await ask({});
  expect(await ask({ afterMs: now.usage })).toEqual(now);
  await backend.advanceMs(MINUTE_MS);
  const next = await ask({ afterMs: now.usage });
  expect(next.usage).toBeGreaterThan(now.usage);
  expect(next.month).toBeGreaterThan(now.month);
});
