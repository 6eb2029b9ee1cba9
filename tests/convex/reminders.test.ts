import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";
import { type Backend, type Calls, createBackend, START_MS, type StoredRow } from "../helpers/backend.ts";
import { creditsByPeriod, customerEvent, deliver, PRO, settle, STARTER } from "../helpers/inbox.ts";
import { createTenant, operatorOf } from "../helpers/tenant.ts";

interface ReminderRow extends StoredRow {
  readonly accountId: string;
  readonly text: string;
  readonly dueAtMs: number;
  readonly status: string;
  readonly deliveredAtMs: number | null;
  readonly cancelledAtMs: number | null;
  readonly readAtMs: number | null;
  readonly deliveryId: string | null;
}

type ReminderView = Omit<ReminderRow, "_id" | "deliveryId"> & { readonly id: string; readonly key: string };

interface Answer {
  readonly kind: string;
  readonly reminder?: ReminderView;
  readonly replayed?: boolean;
  readonly [number: string]: unknown;
}

interface Balance {
  readonly period: string;
  readonly grantedUnits: number;
  readonly takenUnits: number;
  readonly returnedUnits: number;
  readonly leftUnits: number;
  readonly nextPeriodStartMs: number;
}

const NOVEMBER_MS = Date.UTC(2026, 10, 1);
const AT = (offsetMs: number): string => new Date(START_MS + offsetMs).toISOString();
const changed = (id: string, offsetMs: number, key: string) =>
  customerEvent("plan_changed", id, AT(offsetMs), { plan: { key } });

let backend: Backend;
let me: Calls;
let accountId: string;
const start = async (options: { concurrency?: number; startMs?: number } = {}) => {
  backend = await createBackend(options);
  me = backend.as({ subject: "kp_a" });
  accountId = await signIn("kp_a");
};
/** Another backend than the one that each test is given. */
const startAgain = async (options: { concurrency?: number; startMs?: number }) => {
  await backend.close();
  await start(options);
};
beforeEach(() => start());
afterEach(() => backend.close());

const signIn = (kindeUserId: string) => {
  const customerId = `customer_${kindeUserId.slice("kp_".length)}`;
  return backend.mutation<string>("signIn:link", { kindeUserId, customerId, email: null });
};
const reminders = () => backend.readAll<ReminderRow>("reminders");
const balance = () => me.query<Balance>("credits:balance", {});
const create = (key: string, dueInMs = HOUR_MS, calls = me) =>
  calls.mutation<Answer>("reminders:create", {
    key,
    text: `text of ${key}`,
    dueAtMs: backend.nowMs() + dueInMs,
  });
const cancel = (reminderId: string, calls = me) => calls.mutation<Answer>("reminders:cancel", { reminderId });
/** Creates and insists on it. */
async function written(key: string, dueInMs = HOUR_MS): Promise<ReminderView> {
  const answer = await create(key, dueInMs);
  if (answer.reminder === undefined) throw new Error(JSON.stringify(answer));
  return answer.reminder;
}
async function spend(count: number, from = 0): Promise<void> {
  for (let index = from; index < from + count; index += 1) await written(`spend ${index}`, 20 * DAY_MS);
}

describe("credits of a month", () => {
  test("a line whose key is there is not written again", async () => {
    await me.mutation("credits:ensure", {});
    const [grant] = await backend.readAll("credits");
    // A grant that was moved to another month: the next one would take its key.
    await backend.patchRow(grant!._id, { period: "2001-01" });
    await expect(me.mutation("credits:ensure", {})).rejects.toThrow("is already written");
    expect(await backend.readAll("credits")).toHaveLength(1);
  });

  test("Free has 10 before and after its grant is written, and is granted once", async () => {
    const full = { period: "2026-10", grantedUnits: 10, takenUnits: 0, returnedUnits: 0, leftUnits: 10 };
    expect(await balance()).toEqual({ ...full, nextPeriodStartMs: NOVEMBER_MS });
    expect(await backend.readAll("credits")).toEqual([]);
    for (let times = 0; times < 3; times += 1) {
      expect(await me.mutation("credits:ensure", {})).toEqual({ ...full, nextPeriodStartMs: NOVEMBER_MS });
    }
    expect(await backend.readAll("credits")).toMatchObject([{ reason: "grant", units: 10 }]);
    expect(await balance()).toEqual({ ...full, nextPeriodStartMs: NOVEMBER_MS });
  });

  test.each([
    [STARTER, 100],
    [PRO, 500],
  ])("%s has %i, and the one after the last is refused with the numbers", async (planKey, units) => {
    await deliver(backend, changed("event_1", 0, planKey));
    await settle(backend);
    expect(await balance()).toMatchObject({ grantedUnits: units, leftUnits: units });
    await spend(units);
    expect(await create("one more")).toEqual({
      kind: "refused",
      code: "no_credits",
      balanceUnits: 0,
      allowanceUnits: units,
      nextPeriodStartMs: NOVEMBER_MS,
    });
    expect(await reminders()).toHaveLength(units);
    expect(await balance()).toMatchObject({ takenUnits: units, leftUnits: 0 });
  });

  test("an upgrade in the middle of a month adds 490 to what is left", async () => {
    await spend(4);
    expect(await balance()).toMatchObject({ leftUnits: 6 });
    await deliver(backend, changed("event_1", 0, PRO));
    await settle(backend);
    expect(await balance()).toMatchObject({ grantedUnits: 500, takenUnits: 4, leftUnits: 496 });
    const grants = (await backend.readAll<StoredRow & { reason: string; units: number }>("credits")).filter(
      ({ reason }) => reason === "grant",
    );
    expect(grants.map(({ units }) => units)).toEqual([10, 490]);
  });

  test("the next month has its own, and what was left of the last one is gone", async () => {
    await startAgain({ startMs: NOVEMBER_MS - 10 * SECOND_MS });
    await spend(3);
    await backend.advanceMs(10 * SECOND_MS);
    expect(await balance()).toMatchObject({ period: "2026-11", grantedUnits: 10, leftUnits: 10 });
    await spend(10, 3);
    expect(await create("one more")).toMatchObject({
      kind: "refused",
      nextPeriodStartMs: Date.UTC(2026, 11, 1),
    });
    expect(await creditsByPeriod(backend, accountId)).toEqual({ "2026-10": 7, "2026-11": 0 });
  });

  test("an account of an operator has those of the free plan", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    expect(await tenant.query("credits:balance", {})).toMatchObject({ grantedUnits: 10, leftUnits: 10 });
    expect(await tenant.mutation("credits:ensure", {})).toMatchObject({ leftUnits: 10 });
  });
});

describe("writing one", () => {
  test("twenty at once with one credit left write exactly one", async () => {
    await startAgain({ concurrency: 8 });
    await spend(9);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_none, index) => {
        for (;;) {
          try {
            return await create(`at once ${index}`);
          } catch (error) {
            // The caller tries a lost conflict again, as our server does.
            if (!String(error).includes("changed while this mutation")) throw error;
          }
        }
      }),
    );
    expect(answers.filter(({ kind }) => kind === "created")).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === "refused")).toHaveLength(19);
    expect(await creditsByPeriod(backend, accountId)).toEqual({ "2026-10": 0 });
    expect(await reminders()).toHaveLength(10);
  });

  test("the same key is the same reminder for one credit, also after it ended; with another text it is a conflict", async () => {
    const request = { key: "k", text: "water the ferns", dueAtMs: START_MS + MINUTE_MS };
    const send = (more: object = {}) => me.mutation<Answer>("reminders:create", { ...request, ...more });
    const first = await send();
    expect(first).toMatchObject({ kind: "created", replayed: false, reminder: { status: "waiting" } });
    expect(await send()).toEqual({ ...first, replayed: true });
    expect(await send({ text: "water the fern" })).toEqual({ kind: "key_conflict" });
    expect(await send({ dueAtMs: request.dueAtMs + 1 })).toEqual({ kind: "key_conflict" });
    await backend.advanceMs(2 * MINUTE_MS);
    expect(await send()).toMatchObject({
      replayed: true,
      reminder: { id: first.reminder!.id, status: "delivered" },
    });
    expect(await balance()).toMatchObject({ takenUnits: 1 });
    await signIn("kp_b");
    expect(await create("k", HOUR_MS, backend.as({ subject: "kp_b" }))).toMatchObject({ replayed: false });
  });

  test.each<[string, { dueInMs?: number; text?: string; key?: string }, string]>([
    ["an empty text", { text: "" }, "text"],
    ["a blank text", { text: " \n " }, "text"],
    ["a text that is too long", { text: "x".repeat(1_001) }, "text"],
    ["a control character", { text: "a\u0007b" }, "text"],
    ["a carriage return", { text: "a\r\nb" }, "text"],
    ["an empty key", { key: "" }, "key"],
    ["a time that is too near", { dueInMs: SECOND_MS - 1 }, "dueAtMs"],
    ["a time that has passed", { dueInMs: -1 }, "dueAtMs"],
    ["a time that is too far", { dueInMs: 366 * DAY_MS + 1 }, "dueAtMs"],
    ["half a millisecond", { dueInMs: HOUR_MS + 0.5 }, "dueAtMs"],
    ["no number", { dueInMs: Number.NaN }, "dueAtMs"],
  ])("%s is refused by name and costs nothing", async (_what, { dueInMs = HOUR_MS, ...more }, path) => {
    const request = { key: "k", text: "a\nb", ...more, dueAtMs: backend.nowMs() + dueInMs };
    expect(await me.mutation("reminders:create", request)).toMatchObject({
      kind: "invalid",
      errors: [{ path }],
    });
    expect(await reminders()).toEqual([]);
    expect(await balance()).toMatchObject({ leftUnits: 10 });
  });

  test("the nearest and the farthest time and the longest text are taken", async () => {
    const send = (key: string, dueInMs: number) => {
      const dueAtMs = backend.nowMs() + dueInMs;
      return me.mutation<Answer>("reminders:create", { key, text: "x".repeat(1_000), dueAtMs });
    };
    expect(await send("near", SECOND_MS)).toMatchObject({ kind: "created" });
    expect(await send("far", 366 * DAY_MS)).toMatchObject({ kind: "created" });
  });

  test("a key without the scope may look and not write", async () => {
    const tenant = await createTenant(backend);
    await tenant.addKey("9".repeat(64), ["usage:read"]);
    const keys = { serverSecret: "a".repeat(64), keyHash: "9".repeat(64) };
    expect(await backend.query("reminders:list", { ...keys, cursor: null, limit: 10 })).toMatchObject({
      reminders: [],
    });
    const request = { ...keys, key: "k", text: "t", dueAtMs: START_MS + HOUR_MS };
    await expect(backend.mutation("reminders:create", request)).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
  });
});

describe("delivery", () => {
  test("comes at its time, once", async () => {
    await written("k", MINUTE_MS + 10);
    await backend.advanceMs(MINUTE_MS + 9);
    expect(await reminders()).toMatchObject([{ status: "waiting" }]);
    await backend.advanceMs(1);
    const delivered = await reminders();
    expect(delivered).toMatchObject([{ status: "delivered", deliveredAtMs: START_MS + MINUTE_MS + 10 }]);
    await backend.mutation("reminders:deliver", { reminderId: delivered[0]!._id });
    await backend.advanceMs(5 * MINUTE_MS);
    expect(await reminders()).toEqual(delivered);
  });

  test("one whose scheduled function is lost comes with the next run, and not again when it turns up", async () => {
    const { id } = await written("k", 10 * MINUTE_MS);
    // Due a while before the function that was scheduled for it.
    await backend.patchRow(id, { dueAtMs: START_MS + MINUTE_MS });
    await backend.advanceMs(3 * MINUTE_MS);
    const delivered = await reminders();
    expect(delivered).toMatchObject([{ status: "delivered" }]);
    expect(delivered[0]!.deliveredAtMs).toBeLessThanOrEqual(START_MS + 2 * MINUTE_MS);
    await backend.advanceMs(20 * MINUTE_MS);
    expect(await reminders()).toEqual(delivered);
    const runs = await backend.readAll<StoredRow & { name: string; status: string }>("runs");
    expect(runs.find(({ name }) => name === "reminders")).toMatchObject({ status: "good" });
  });

  test("more overdue ones than one batch all come with one run", async () => {
    await deliver(backend, changed("event_1", 0, PRO));
    await settle(backend);
    await spend(250);
    for (const { _id } of await reminders()) await backend.patchRow(_id, { dueAtMs: START_MS });
    await backend.action("reminders:run", {});
    expect(new Set((await reminders()).map(({ status }) => status))).toEqual(new Set(["delivered"]));
  });

  test("being read is noted once, and only of one that came", async () => {
    const { id } = await written("k", MINUTE_MS);
    const read = () => me.mutation<Answer>("reminders:markRead", { reminderId: id });
    expect(await read()).toMatchObject({ kind: "not_delivered" });
    await backend.advanceMs(2 * MINUTE_MS);
    const readAtMs = backend.nowMs();
    expect(await read()).toMatchObject({ kind: "read", reminder: { readAtMs } });
    await backend.advanceMs(MINUTE_MS);
    expect(await read()).toMatchObject({ reminder: { readAtMs } });
  });
});

describe("cancelling", () => {
  test("gives the credit back once and takes the scheduled function away", async () => {
    const { id } = await written("k");
    const [row] = await reminders();
    const cancelledAtMs = backend.nowMs();
    expect(await cancel(id)).toMatchObject({ kind: "cancelled", reminder: { cancelledAtMs } });
    await backend.advanceMs(MINUTE_MS);
    expect(await cancel(id)).toMatchObject({ kind: "cancelled", reminder: { cancelledAtMs } });
    expect(await balance()).toMatchObject({ takenUnits: 1, returnedUnits: 1, leftUnits: 10 });
    const jobs = await backend.readAll<StoredRow & { state: { kind: string } }>("_scheduled_functions");
    expect(jobs.find(({ _id }) => _id === row!.deliveryId)).toMatchObject({ state: { kind: "canceled" } });
    await backend.advanceMs(2 * HOUR_MS);
    expect(await reminders()).toMatchObject([{ status: "cancelled", deliveredAtMs: null }]);
  });

  test("in the next month it gives the credit back to the month it was taken from, and to no other", async () => {
    await startAgain({ startMs: NOVEMBER_MS - 10 * SECOND_MS });
    const { id } = await written("k", 15 * DAY_MS);
    await backend.advanceMs(20 * SECOND_MS);
    await spend(2);
    expect(await cancel(id)).toMatchObject({ kind: "cancelled", reminder: { period: "2026-10" } });
    expect(await creditsByPeriod(backend, accountId)).toEqual({ "2026-10": 10, "2026-11": 8 });
    expect(await balance()).toMatchObject({ period: "2026-11", returnedUnits: 0, leftUnits: 8 });
  });

  test("is too late from the instant it is due, also while it is not delivered yet", async () => {
    const { id } = await written("k", 10 * MINUTE_MS);
    await backend.patchRow(id, { dueAtMs: backend.nowMs() });
    expect(await cancel(id)).toMatchObject({ kind: "too_late", reminder: { status: "waiting" } });
    await backend.advanceMs(10 * MINUTE_MS);
    expect(await cancel(id)).toMatchObject({ kind: "too_late", reminder: { status: "delivered" } });
    expect(await balance()).toMatchObject({ returnedUnits: 0, leftUnits: 9 });
  });

  test("works when the scheduled function has ended or is gone", async () => {
    const one = await written("k", HOUR_MS);
    await backend.patchRow(one.id, { deliveryId: null });
    expect(await cancel(one.id)).toMatchObject({ kind: "cancelled" });
    await written("short", MINUTE_MS);
    const other = await written("long", HOUR_MS);
    const rows = await reminders();
    const short = rows.find(({ text }) => text === "text of short")!;
    await backend.advanceMs(2 * MINUTE_MS);
    await backend.patchRow(other.id, { deliveryId: short.deliveryId });
    expect(await cancel(other.id)).toMatchObject({ kind: "cancelled" });
  });

  test("and delivery at once end as one of both, with the credit where it belongs", async () => {
    await startAgain({ concurrency: 8 });
    await spend(5);
    const ids = (await reminders()).map(({ _id }) => _id);
    const clash = async (reminderId: string) => {
      const tries = [
        () => cancel(reminderId),
        () => backend.mutation("reminders:deliver", { reminderId }),
        () => cancel(reminderId),
        () => backend.mutation("reminders:deliver", { reminderId }),
      ];
      await Promise.allSettled(tries.map((attempt) => attempt()));
    };
    await Promise.all(ids.map(clash));
    const rows = await reminders();
    const cancelled = rows.filter(({ status }) => status === "cancelled").length;
    expect(rows.every(({ status }) => status === "cancelled" || status === "delivered")).toBe(true);
    for (const { deliveredAtMs, cancelledAtMs } of rows) {
      expect([deliveredAtMs, cancelledAtMs].filter((ms) => ms === null)).toHaveLength(1);
    }
    expect(await balance()).toMatchObject({ takenUnits: 5, returnedUnits: cancelled });
  });

  test("of a deleted customer, all that wait, and none of them is delivered", async () => {
    await deliver(backend, changed("event_1", 0, PRO));
    await settle(backend);
    await spend(230);
    await written("soon", SECOND_MS);
    await backend.advanceMs(SECOND_MS);
    const at = AT(1_000);
    const data = { user: { id: "kp_a" } };
    await deliver(backend, {
      type: "user.deleted",
      event_id: "event_2",
      timestamp: at,
      event_timestamp: at,
      data,
    });
    await settle(backend);
    const rows = await reminders();
    expect(rows.filter(({ status }) => status === "cancelled")).toHaveLength(230);
    expect(rows.filter(({ status }) => status === "delivered")).toHaveLength(1);
    await expect(balance()).rejects.toMatchObject({ data: { code: "forbidden" } });
  });

  test("one that falls due before the batch of a deleted customer reaches it is cancelled", async () => {
    const { id } = await written("k");
    await backend.patchRow(accountId, { deletedAtMs: START_MS });
    await backend.mutation("reminders:deliver", { reminderId: id });
    expect(await reminders()).toMatchObject([{ status: "cancelled", deliveredAtMs: null }]);
  });
});

describe("lists and other people", () => {
  test("pages of all, and of one status", async () => {
    await written("late", 3 * MINUTE_MS);
    await written("soon", MINUTE_MS);
    await written("later", 5 * MINUTE_MS);
    const list = (args: object) =>
      me.query<{ reminders: ReminderView[]; cursor: string | null }>("reminders:list", {
        cursor: null,
        limit: 10,
        ...args,
      });
    const keys = async (args: object) => (await list(args)).reminders.map(({ key }) => key);
    expect(await keys({ status: "waiting" })).toEqual(["soon", "late", "later"]);
    await backend.advanceMs(4 * MINUTE_MS);
    expect(await keys({ status: "delivered" })).toEqual(["late", "soon"]);
    expect(await keys({ status: "cancelled" })).toEqual([]);
    const first = await list({ limit: 2 });
    expect(first.reminders.map(({ key }) => key)).toEqual(["later", "late"]);
    expect(await keys({ limit: 2, cursor: first.cursor })).toEqual(["soon"]);
    await expect(list({ limit: 101 })).rejects.toMatchObject({ data: { code: "invalid" } });
  });

  test("somebody else's reminder is not there, nor is an id of another table", async () => {
    const { id } = await written("k");
    await signIn("kp_b");
    const other = backend.as({ subject: "kp_b" });
    for (const reminderId of [id, accountId, "nonsense"]) {
      expect(await cancel(reminderId, other)).toEqual({ kind: "not_found" });
      expect(await other.mutation("reminders:markRead", { reminderId })).toEqual({ kind: "not_found" });
    }
    expect(await other.query("reminders:list", { cursor: null, limit: 10 })).toMatchObject({ reminders: [] });
    expect(await other.query("credits:balance", {})).toMatchObject({ leftUnits: 10 });
    expect(await reminders()).toMatchObject([{ status: "waiting" }]);
  });
});

describe("replay of events", () => {
  const replay = (id: string, calls = me) => calls.mutation<Answer>("inboxEvents:replay", { id });
  interface Row extends StoredRow {
    readonly status: string;
    readonly attempts: number;
    readonly fence: number;
    readonly nextAttemptAtMs: number | null;
  }
  const events = () => backend.readAll<Row>("inboxEvents");

  test("an own one is applied again and changes nothing; somebody else's is not there", async () => {
    await deliver(backend, changed("event_1", 0, PRO));
    await settle(backend);
    const [row] = await events();
    const credits = await backend.readAll("credits");
    expect(await replay(row!._id)).toMatchObject({ kind: "queued", event: { status: "received" } });
    await settle(backend);
    expect(await events()).toMatchObject([{ status: "applied", attempts: 1 }]);
    expect(await backend.readAll("credits")).toEqual(credits);
    await signIn("kp_b");
    for (const id of [row!._id, accountId, "nonsense"]) {
      expect(await replay(id, backend.as({ subject: "kp_b" }))).toEqual({ kind: "not_found" });
    }
  });

  test("a quarantined one is for an operator", async () => {
    await deliver(backend, changed("event_1", -8 * DAY_MS, PRO));
    await settle(backend);
    const [row] = await events();
    expect(await replay(row!._id)).toMatchObject({ kind: "forbidden", event: { status: "quarantined" } });
    const operator = operatorOf(backend);
    expect(await operator.mutation("inboxEvents:replayAny", { id: row!._id })).toMatchObject({
      kind: "queued",
    });
    await settle(backend);
    expect(await events()).toMatchObject([{ status: "applied" }]);
    expect(await operator.mutation("inboxEvents:replayAny", { id: "nonsense" })).toEqual({
      kind: "not_found",
    });
  });

  test("one that a worker has is running, until its lease ends", async () => {
    await deliver(backend, changed("event_1", 0, PRO));
    await settle(backend);
    const [row] = await events();
    const leaseEndMs = backend.nowMs() + 10 * SECOND_MS;
    await backend.patchRow(row!._id, { status: "processing", nextAttemptAtMs: leaseEndMs });
    const before = await events();
    expect(await replay(row!._id)).toMatchObject({ kind: "running", event: { status: "processing" } });
    expect(await events()).toEqual(before);
    await backend.patchRow(row!._id, { nextAttemptAtMs: backend.nowMs() });
    expect(await replay(row!._id)).toMatchObject({ kind: "queued" });
  });

  describe("C12: pressed while the retry timer fires it is one attempt", () => {
    /** An event that waits after its second failure, and is due again now. */
    const waiting = async (): Promise<Row> => {
      await deliver(backend, changed("event_1", 0, PRO));
      await settle(backend);
      const [row] = await events();
      const fields = { status: "failed", attempts: 2, fence: 2, appliedAtMs: null };
      await backend.patchRow(row!._id, { ...fields, nextAttemptAtMs: backend.nowMs() });
      return row!;
    };

    test("the timer first: the press finds it running", async () => {
      const { _id: id } = await waiting();
      expect(await backend.mutation("inboxWorker:claim", {})).toEqual([{ inboxEventId: id, fence: 3 }]);
      expect(await replay(id)).toMatchObject({ kind: "running" });
      expect(await backend.mutation("inboxWorker:claim", {})).toEqual([]);
      await backend.mutation("inboxWorker:apply", { inboxEventId: id, fence: 3 });
      await settle(backend);
      expect(await events()).toMatchObject([{ status: "applied", fence: 3 }]);
    });

    test("the press first: its kick and the timer find one thing to do", async () => {
      const { _id: id } = await waiting();
      expect(await replay(id)).toMatchObject({ kind: "queued" });
      await Promise.all([backend.action("inboxWorker:kick", {}), backend.action("inboxWorker:run", {})]);
      await settle(backend);
      expect(await events()).toMatchObject([{ status: "applied", attempts: 1, fence: 3 }]);
    });

    test("both at one time", async () => {
      await startAgain({ concurrency: 8 });
      const { _id: id } = await waiting();
      const kick = () => backend.action("inboxWorker:kick", {});
      const [pressed] = await Promise.all([replay(id), kick(), kick(), kick()]);
      await settle(backend);
      expect(["queued", "running"]).toContain(pressed.kind);
      expect(await events()).toMatchObject([{ status: "applied", nextAttemptAtMs: null }]);
      expect(await creditsByPeriod(backend, accountId)).toEqual({ "2026-10": 500 });
      expect(await backend.readAll("planChanges")).toHaveLength(1);
    });
  });
});
