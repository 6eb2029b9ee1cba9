import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { LEASE_MS, RETRY_WAITS_MS } from "../../lib/inbox/worker.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";
import { type Backend, type BackendOptions, createBackend, START_MS } from "../helpers/backend.ts";
import type { LocalBackend } from "../helpers/local-backend.ts";
import { customerEvent, type CustomerRow, deliver, type EventRow, PRO, settle } from "../helpers/inbox.ts";
import { operatorOf } from "../helpers/tenant.ts";

interface Claimed {
  readonly inboxEventId: string;
  readonly fence: number;
}

let backend: Backend;
/**
 * The write that fails: the n-th to this table from now on, the first being 0; once, or for ever. With `dies` the worker
 * is gone after it and does not tell of the failure.
 */
let failing: {
  readonly table: string;
  skip: number;
  readonly always?: boolean;
  readonly dies?: boolean;
} | null;
let isDying: boolean;
/** How long each application takes, by the clock of the engine. */
let slowMs: number;
const open = async (options: BackendOptions = {}): Promise<void> => {
  failing = null;
  isDying = false;
  slowMs = 0;
  backend = await createBackend({
    beforeWrite: (table) => {
      if (table === "planChanges" && slowMs > 0) local().clock.advanceMs(slowMs);
      if (isDying && table === "inboxEvents") {
        isDying = false;
        throw new Error("the worker is gone");
      }
      if (failing === null || failing.table !== table) return;
      failing.skip -= 1;
      if (failing.skip >= 0) return;
      isDying = failing.dies === true;
      if (failing.always !== true) failing = null;
      throw new Error(`no write to ${table}`);
    },
    ...options,
  });
};
beforeEach(() => open());
afterEach(() => backend.close());
/** This file runs on our own engine only (engine-only.ts), whose clock a slow step moves. */
const local = (): LocalBackend => backend as Backend & LocalBackend;

const AT = new Date(START_MS).toISOString();
const toPro = (customer = "a") =>
  customerEvent("plan_changed", `event_${customer}`, AT, {
    user_id: `kp_${customer}`,
    customer_id: `customer_${customer}`,
    plan: { key: PRO },
    agreement_id: `agreement_${customer}`,
  });
const events = () => backend.readAll<EventRow>("inboxEvents");
const onlyEvent = async (): Promise<EventRow> => (await events())[0]!;
const accounts = () => backend.readAll<CustomerRow>("accounts");
const claim = () => backend.mutation<Claimed[]>("inboxWorker:claim", {});
const renew = (...claimed: Claimed[]) => backend.mutation<number>("inboxWorker:renew", { claimed });
const apply = (claimed: Claimed) => backend.mutation<{ kind: string }>("inboxWorker:apply", { ...claimed });

const EFFECT_TABLES = ["accounts", "billing", "planChanges", "agreements", "credits"];
const effects = async () => {
  const rows = await Promise.all(EFFECT_TABLES.map((table) => backend.readAll(table)));
  return rows.map(({ length }) => length);
};
const NONE = [0, 0, 0, 0, 0];
const ALL = [1, 1, 1, 1, 1];

describe("C05: writes that fail", () => {
  test.each(["inboxEvents", "inboxPayloads", "receipts"])(
    "C05: in the store, to %s, nothing is stored and the sender is told; its next delivery is the first",
    async (table) => {
      failing = { table, skip: 0 };
      await expect(deliver(backend, toPro())).rejects.toThrow(`no write to ${table}`);
      await settle(backend);
      for (const name of ["inboxEvents", "inboxPayloads", "receipts", "accounts"]) {
        expect(await backend.readAll(name)).toEqual([]);
      }
      expect(await deliver(backend, toPro())).toEqual({ kind: "stored", flags: [] });
      await settle(backend);
      expect(await events()).toMatchObject([{ status: "applied", attempts: 1, seenCount: 1 }]);
      expect(await effects()).toEqual(ALL);
    },
  );

  // The event is written when it is stored and when it is claimed; the third time is its mark.
  test.each([...EFFECT_TABLES.map((table) => ({ table, skip: 0 })), { table: "inboxEvents", skip: 2 }])(
    "C05: in the handler, to $table, nothing of the attempt stays, and we try again by ourselves",
    async ({ table, skip }) => {
      failing = { table, skip };
      expect(await deliver(backend, toPro())).toMatchObject({ kind: "stored" });
      await settle(backend);
      expect(await events()).toMatchObject([
        { status: "failed", attempts: 1, error: expect.stringContaining(`no write to ${table}`) },
      ]);
      expect(await effects()).toEqual(NONE);
      await backend.advanceMs(5 * SECOND_MS);
      expect(await events()).toMatchObject([{ status: "applied", attempts: 2, error: null }]);
      expect(await effects()).toEqual(ALL);
      expect(await accounts()).toMatchObject([{ planKey: PRO, planSetBy: "event_a" }]);
    },
  );
});

describe("attempts and waits", () => {
  test("six failures are the end: waits of 5 s, 30 s, 2 min, 10 min and 1 h, then dead, and a person is told", async () => {
    failing = { table: "credits", skip: 0, always: true };
    await deliver(backend, toPro());
    await settle(backend);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const { status, attempts, nextAttemptAtMs } = await onlyEvent();
      expect({ status, attempts }).toEqual({ status: "failed", attempts: attempt });
      const waitMs = nextAttemptAtMs! - backend.nowMs();
      waits.push(waitMs);
      await backend.advanceMs(waitMs - 1);
      expect((await onlyEvent()).attempts).toBe(attempt);
      await backend.advanceMs(1);
    }
    expect(waits).toEqual([5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS]);
    expect(waits).toEqual([...RETRY_WAITS_MS]);
    expect(await onlyEvent()).toMatchObject({ status: "dead", attempts: 6, nextAttemptAtMs: null });
    expect(await backend.readAll("reviews")).toMatchObject([
      { kind: "dead_event", subject: "event:event_a", status: "open" },
    ]);
    expect(await effects()).toEqual(NONE);

    failing = null;
    await backend.advanceMs(HOUR_MS);
    expect(await onlyEvent()).toMatchObject({ status: "dead", attempts: 6 });
    await operatorOf(backend).mutation("inboxEvents:replayAny", { id: (await onlyEvent())._id });
    await settle(backend);
    expect(await onlyEvent()).toMatchObject({ status: "applied", attempts: 1 });
    expect(await effects()).toEqual(ALL);
  });

  test("a worker that dies in each of its attempts uses them up like one that fails", async () => {
    failing = { table: "credits", skip: 0, always: true, dies: true };
    await deliver(backend, toPro());
    await settle(backend);
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      const row = await onlyEvent();
      expect(row).toMatchObject({ status: "processing", attempts: attempt, fence: attempt });
      await backend.advanceMs(row.nextAttemptAtMs! - 1 - backend.nowMs());
      expect((await onlyEvent()).attempts).toBe(attempt);
      // The next run of the cron after the end of the lease takes it.
      await backend.advanceMs(1 + 15 * SECOND_MS);
    }
    expect(await onlyEvent()).toMatchObject({
      status: "dead",
      attempts: 6,
      error: expect.stringContaining("the worker stopped"),
    });
    expect(await effects()).toEqual(NONE);
    expect(await backend.readAll("reviews")).toMatchObject([{ kind: "dead_event", status: "open" }]);
  });
});

describe("poison", () => {
  test("thirty events that can never be applied do not hold up the others, and die one by one", async () => {
    await deliver(backend, toPro("owner"));
    await settle(backend);
    for (let count = 0; count < 30; count += 1) {
      // It takes the agreement of another customer for its own, which is refused each time.
      const poisoned = toPro(`p${count}`);
      const data = { ...(poisoned["data"] as object), agreement_id: "agreement_owner" };
      await deliver(backend, { ...poisoned, data });
      await deliver(backend, toPro(`good${count}`));
    }
    await settle(backend);
    const good = (await accounts()).filter(({ kindeUserId }) => kindeUserId?.startsWith("kp_good"));
    expect(good).toHaveLength(30);
    expect(good.every(({ planKey }) => planKey === PRO)).toBe(true);
    const failed = (await events()).filter(({ status }) => status === "failed");
    expect(failed).toHaveLength(30);
    await backend.advanceMs(2 * HOUR_MS);
    const dead = (await events()).filter(({ status }) => status === "dead");
    expect(dead.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 30 }, () => 6));
    expect(await accounts()).toHaveLength(31);
    expect(await backend.readAll("reviews")).toHaveLength(30);
  });
});

describe("leases", () => {
  /** An event that the first of two workers has claimed: it failed once, so that the live worker lets go of it. */
  async function claimedEvent(): Promise<Claimed> {
    failing = { table: "accounts", skip: 0 };
    await deliver(backend, toPro());
    await settle(backend);
    const row = await onlyEvent();
    await backend.patchRow(row._id, { status: "received", attempts: 0, nextAttemptAtMs: backend.nowMs() });
    const [claimed] = await claim();
    return claimed!;
  }

  test("C30: an attempt that outlives its lease writes nothing, and cannot say what became of the event either", async () => {
    const slow = await claimedEvent();
    failing = { table: "accounts", skip: 0 };
    // The lease ends; the next worker fails, so that what the slow one would write is still to be written.
    await backend.advanceMs(LEASE_MS);
    await backend.action("inboxWorker:kick", {});
    expect(await onlyEvent()).toMatchObject({ status: "failed", fence: slow.fence + 1 });
    expect(await apply(slow)).toEqual({ kind: "lost" });
    expect(await backend.mutation("inboxWorker:fail", { ...slow, error: "slow" })).toBeNull();
    expect(await effects()).toEqual(NONE);
    await backend.advanceMs(MINUTE_MS);
    expect(await onlyEvent()).toMatchObject({ status: "applied", error: null });
    expect(await apply(slow)).toEqual({ kind: "lost" });
    expect(await effects()).toEqual(ALL);
  });

  test("C30: of attempts at the same moment one writes, and the others are rolled back", async () => {
    await backend.close();
    await open({ concurrency: 8 });
    const claimed = await claimedEvent();
    const answers = await Promise.all(Array.from({ length: 6 }, () => apply(claimed)));
    const kinds = answers.map(({ kind }) => kind).toSorted();
    expect(kinds).toEqual(["finished", "lost", "lost", "lost", "lost", "lost"]);
    expect(await effects()).toEqual(ALL);
    expect(backend.conflictCount()).toBeGreaterThan(0);
  });

  test("C31: a lease that was renewed is not taken over before its new end", async () => {
    const claimed = await claimedEvent();
    await backend.advanceMs(LEASE_MS - SECOND_MS);
    expect(await renew(claimed)).toBe(1);
    await backend.advanceMs(LEASE_MS - 1);
    expect(await claim()).toEqual([]);
    expect(await onlyEvent()).toMatchObject({ status: "processing", fence: claimed.fence });
    expect(await apply(claimed)).toEqual({ kind: "finished" });
    expect(await effects()).toEqual(ALL);
  });

  test("C31: a lease that has ended, or that another worker has, is not renewed", async () => {
    const claimed = await claimedEvent();
    await backend.advanceMs(LEASE_MS - 1);
    expect(await renew({ ...claimed, fence: claimed.fence + 1 })).toBe(0);
    await backend.advanceMs(1);
    expect(await renew(claimed)).toBe(0);
  });

  test("C31: events of a claim whose turn comes late are still this worker's, whoever comes meanwhile", async () => {
    const customers = ["a", "b", "c", "d", "e", "f", "g"];
    failing = { table: "planChanges", skip: 0, always: true };
    for (const customer of customers) await deliver(backend, toPro(customer));
    await settle(backend);
    failing = null;
    // Together they take longer than the lease with which all of them are claimed, and the cron looks in between.
    slowMs = 7 * SECOND_MS;
    local().clock.advanceMs(5 * SECOND_MS);
    await local().engine.settled();
    expect((await events()).map(({ status, attempts }) => [status, attempts])).toEqual(
      customers.map(() => ["applied", 2]),
    );
    expect(backend.nowMs() - START_MS).toBeGreaterThan(LEASE_MS + 5 * SECOND_MS);
  });
});
