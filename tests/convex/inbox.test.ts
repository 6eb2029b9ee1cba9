import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, START_MS, type StoredRow } from "../helpers/backend.ts";
import {
  creditsByPeriod,
  customerEvent,
  type CustomerRow,
  deliver,
  type EventRow,
  FREE,
  PRO,
  settle,
  STARTER,
} from "../helpers/inbox.ts";

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

const AT = (offsetMs: number): string => new Date(START_MS + offsetMs).toISOString();
const changed = (id: string, offsetMs: number, key: string, more: Record<string, unknown> = {}) =>
  customerEvent("plan_changed", id, AT(offsetMs), { plan: { key }, ...more });
const paid = (id: string, offsetMs: number) => customerEvent("payment_succeeded", id, AT(offsetMs));
const events = () => backend.readAll<EventRow>("inboxEvents");
const accounts = () => backend.readAll<CustomerRow>("accounts");
const receipts = () => backend.readAll<StoredRow & { isCopy: boolean; flags: string[] }>("receipts");

describe("deliveries", () => {
  test("C13, S12: copies of an applied event change nothing but the count and the receipts", async () => {
    const event = changed("event_1", 0, PRO);
    expect(await deliver(backend, event, "wh_1")).toEqual({ kind: "stored", flags: [] });
    await settle(backend);
    const before = { accounts: await accounts(), facts: await backend.readAll("planChanges") };
    const credits = await backend.readAll("credits");
    for (let copy = 0; copy < 8; copy += 1) {
      expect(await deliver(backend, event, "wh_1")).toEqual({ kind: "copy", flags: [] });
      await settle(backend);
    }
    expect({ accounts: await accounts(), facts: await backend.readAll("planChanges") }).toEqual(before);
    expect(await backend.readAll("credits")).toEqual(credits);
    expect(await events()).toMatchObject([{ status: "applied", seenCount: 9, attempts: 1 }]);
    const all = await receipts();
    expect(all.map(({ isCopy }) => isCopy)).toEqual([false, ...Array.from({ length: 8 }, () => true)]);
  });

  test("C09: one event to ten processes at once is one row and ten receipts", async () => {
    const event = changed("event_1", 0, PRO);
    const answers = await Promise.all(Array.from({ length: 10 }, () => deliver(backend, event, "wh_1")));
    expect(answers.filter(({ kind }) => kind === "stored")).toHaveLength(1);
    await settle(backend);
    expect(await events()).toMatchObject([{ status: "applied", seenCount: 10 }]);
    expect(await backend.readAll("planChanges")).toHaveLength(1);
    expect(await receipts()).toHaveLength(10);
  });

  test("a burst wakes the worker and all of it is applied, without the cron", async () => {
    const burst = Array.from({ length: 60 }, (_, index) =>
      changed(`event_${index}`, index, PRO, { customer_id: `customer_${index}`, user_id: `kp_${index}` }),
    );
    const rounds = [burst.slice(0, 20), burst.slice(20, 40), burst.slice(40)];
    for (const round of rounds) await Promise.all(round.map((event) => deliver(backend, event)));
    await settle(backend);
    expect(new Set((await events()).map(({ status }) => status))).toEqual(new Set(["applied"]));
    expect(await events()).toHaveLength(60);
  });

  test("an event stored while one that is waiting has lost its worker wakes the worker itself", async () => {
    await deliver(backend, changed("event_1", 0, PRO));
    // Its kick is gone: claimed by a worker that stopped.
    expect(await backend.mutation("inboxWorker:claim", {})).toHaveLength(1);
    await deliver(backend, changed("event_2", 1, STARTER));
    await settle(backend);
    const byKey = Object.fromEntries((await events()).map(({ eventKey, status }) => [eventKey, status]));
    expect(byKey).toEqual({ "event:event_1": "processing", "event:event_2": "applied" });
  });

  test("C28: another webhook-id or none is a copy; another event under one webhook-id is its own, and flagged", async () => {
    const event = paid("event_1", 0);
    await deliver(backend, event, "wh_1");
    expect(await deliver(backend, event, "wh_2")).toEqual({ kind: "copy", flags: [] });
    expect(await deliver(backend, event)).toEqual({ kind: "copy", flags: [] });
    expect(await deliver(backend, paid("event_2", 1), "wh_1")).toEqual({
      kind: "stored",
      flags: ["webhook_id_reused"],
    });
    await settle(backend);
    expect(await events()).toMatchObject([{ status: "applied", seenCount: 3 }, { status: "applied" }]);
    expect(await backend.readAll("payments")).toHaveLength(2);
  });

  test("the first body of an event stays, and another one is flagged", async () => {
    await deliver(backend, changed("event_1", 0, PRO));
    const identity = async () => {
      const rows = await backend.readAll<StoredRow & { payloadHash: string }>("inboxEvents");
      const hashes = rows.map(({ payloadHash }) => payloadHash);
      return { hashes, parts: await backend.readAll("inboxPayloads") };
    };
    const first = await identity();
    const other = await deliver(backend, changed("event_1", 0, STARTER));
    expect(other).toEqual({ kind: "copy", flags: ["other_body"] });
    // The same other body again differs from the first one still.
    expect(await deliver(backend, changed("event_1", 0, STARTER))).toEqual(other);
    await settle(backend);
    expect(await accounts()).toMatchObject([{ planKey: PRO }]);
    expect(await identity()).toEqual(first);
  });

  test("C29: 35 hours old and 2 minutes ahead are applied, 8 days old waits for an operator", async () => {
    await deliver(backend, changed("event_old", -35 * 3_600_000, PRO));
    await deliver(backend, paid("event_ahead", 120_000));
    await deliver(backend, changed("event_ancient", -8 * 86_400_000, STARTER));
    await settle(backend);
    const rows = await events();
    expect(rows).toMatchObject([{ status: "applied" }, { status: "applied" }, { status: "quarantined" }]);
    expect(rows[2]!.result).toContain("8.0 days");
  });

  test("C35: bodies that are no event are stored dead, missing fields are dead with their path, an unknown type is ignored", async () => {
    const bodies: unknown[] = [
      "null",
      "[]",
      "7",
      { type: 5, event_id: "e" },
      { ...changed("event_1", 0, PRO), data: { user_id: "kp_a" } },
      { ...changed("event_2", 0, PRO), type: "customer.sneezed" },
      { ...changed("event_3", 0, PRO), event_timestamp: "yesterday", timestamp: undefined },
      { ...paid("event_4", 0), data: { user_id: "kp_a", note: "x".repeat(1_000_000) } },
    ];
    for (const body of bodies) await deliver(backend, body);
    await settle(backend);
    const rows = await events();
    expect(rows.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 5 }, () => "dead"),
      "ignored",
      "dead",
      "applied",
    ]);
    expect(rows[4]!.error).toContain("data.plan");
    expect(rows[5]!.result).toContain("customer.sneezed");
    expect(rows[6]!.error).toContain("event_timestamp");
    const reviews = await backend.readAll<StoredRow & { kind: string }>("reviews");
    expect(reviews.filter(({ kind }) => kind === "dead_event")).toHaveLength(6);
  });

  test("a body longer than a row is kept whole, characters outside the basic plane too", async () => {
    const note = "\u{1F600}".repeat(300_000);
    await deliver(backend, { ...paid("event_1", 0), data: { user_id: "kp_a", note } });
    await settle(backend);
    const parts = await backend.readAll<StoredRow & { text: string }>("inboxPayloads");
    expect(parts.length).toBeGreaterThan(2);
    expect(JSON.parse(parts.map(({ text }) => text).join("")).data.note).toBe(note);
    expect(await events()).toMatchObject([{ status: "applied" }]);
  });
});

describe("what events come to", () => {
  test("C07: two events at once that make the same unknown customer end in one row", async () => {
    await Promise.all([
      deliver(backend, changed("event_1", 0, PRO)),
      deliver(backend, paid("event_2", 1)),
      deliver(backend, customerEvent("agreement_created", "event_3", AT(2), { agreement_id: "agreement_1" })),
    ]);
    await settle(backend);
    expect(await accounts()).toMatchObject([{ kindeUserId: "kp_a", customerId: "customer_a", planKey: PRO }]);
    expect((await events()).map(({ status }) => status)).toEqual(["applied", "applied", "applied"]);
  });

  test("C10, C11: a payment three times and a plan change of one month are one Pro grant", async () => {
    for (let copy = 0; copy < 3; copy += 1) await deliver(backend, paid("event_1", 1_000));
    await deliver(backend, changed("event_2", 0, PRO));
    await settle(backend);
    for (const row of await events()) {
      await backend.mutation("inboxEvents:replayAny", { ...operator(), id: row._id });
      await settle(backend);
    }
    const [account] = await accounts();
    expect(await creditsByPeriod(backend, account!._id)).toEqual({ "2026-10": 500 });
    const credits = await backend.readAll<StoredRow & { planKey: string }>("credits");
    expect(credits.filter(({ planKey }) => planKey === PRO)).toHaveLength(1);
  });

  test("C02b, C03, C04: the newer state stays, whatever arrives last, and says why", async () => {
    await deliver(backend, changed("event_2", 2_000, STARTER));
    await settle(backend);
    await deliver(backend, changed("event_1", 1_000, PRO));
    await settle(backend);
    expect(await accounts()).toMatchObject([{ planKey: STARTER, planSetBy: "event_2" }]);
    const [account] = await accounts();
    // For a second Pro was in force in this month, so its credits are due all the same.
    expect(await creditsByPeriod(backend, account!._id)).toEqual({ "2026-10": 500 });
    await deliver(backend, changed("event_0", 500, STARTER));
    await settle(backend);
    expect((await events())[2]).toMatchObject({
      status: "ignored",
      result: expect.stringContaining("newer plan change"),
    });
  });

  test("C04b: a cancellation of the replaced agreement, 5 ms after the change, leaves Pro", async () => {
    const old = { agreement_id: "agreement_old" };
    const next = { agreement_id: "agreement_new" };
    await deliver(
      backend,
      customerEvent("agreement_created", "event_1", AT(-86_400_000), { ...old, plan: { key: FREE } }),
    );
    await deliver(backend, changed("event_2", 0, PRO, next));
    await deliver(backend, customerEvent("agreement_cancelled", "event_3", AT(5), old));
    await settle(backend);
    expect(await accounts()).toMatchObject([{ planKey: PRO }]);
    expect(await backend.readAll("agreements")).toMatchObject([
      { agreementId: "agreement_old", untilMs: START_MS + 5 },
      { agreementId: "agreement_new", untilMs: null },
    ]);
  });

  test("user.deleted: the email goes, keys are revoked, links disabled, and events of before do not bring it back", async () => {
    const user = (type: string, id: string, offsetMs: number, more: object) => {
      const at = AT(offsetMs);
      return {
        type,
        event_id: id,
        timestamp: at,
        event_timestamp: at,
        data: { user: { id: "kp_a", ...more } },
      };
    };
    await deliver(backend, user("user.created", "event_1", 0, { email: "a@example.org" }));
    await settle(backend);
    expect(await accounts()).toMatchObject([{ email: "a@example.org" }]);
    await deliver(backend, user("user.deleted", "event_2", 5_000, {}));
    await settle(backend);
    await deliver(backend, user("user.updated", "event_3", 9_000, { email: "b@example.org" }));
    await settle(backend);
    expect(await accounts()).toMatchObject([{ email: null, deletedAtMs: START_MS + 5_000 }]);
    const calls = backend.as({ subject: "kp_a" });
    await expect(calls.query("inboxEvents:list", { cursor: null, limit: 10 })).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
  });

  test("a plan change asks for a limit read that is sent after it", async () => {
    const accountId = await backend.mutation<string>("signIn:link", {
      kindeUserId: "kp_a",
      customerId: "customer_a",
      email: null,
    });
    await backend.mutation("limits:requireAndGrant", { accountId });
    const [limit] = await backend.readAll("limits");
    await backend.patchRow(limit!._id, { refreshRequiredAtMs: null });
    await backend.advanceMs(1_000);
    await deliver(backend, changed("event_1", 0, PRO));
    await settle(backend);
    expect(await backend.readAll("limits")).toMatchObject([{ refreshRequiredAtMs: START_MS + 1_000 }]);
  });

  test("an unknown plan is set, worth nothing, and put before a person", async () => {
    await deliver(backend, changed("event_1", 0, "customer_gold_plan"));
    await settle(backend);
    expect(await accounts()).toMatchObject([{ planKey: "customer_gold_plan" }]);
    expect(await backend.readAll("reviews")).toMatchObject([
      { kind: "unknown_plan", subject: "customer_gold_plan", status: "open" },
    ]);
  });

  test("two rows of one customer are merged, and the facts of both count", async () => {
    await deliver(backend, {
      ...changed("event_1", 0, PRO),
      data: { customer_id: "customer_a", plan: { key: PRO } },
    });
    await settle(backend);
    const accountId = await backend.mutation<string>("signIn:link", {
      kindeUserId: "kp_a",
      customerId: null,
      email: "a@example.org",
    });
    expect(await accounts()).toHaveLength(2);
    await deliver(backend, paid("event_2", 1_000));
    await settle(backend);
    const survivor = (await accounts()).find(({ _id }) => _id === accountId);
    expect(survivor).toMatchObject({ planKey: PRO, customerId: "customer_a", mergedIntoAccountId: null });
    expect(await creditsByPeriod(backend, accountId)).toEqual({ "2026-10": 500 });
    const mine = await backend
      .as({ subject: "kp_a" })
      .query<{ events: { eventId: string }[] }>("inboxEvents:list", { cursor: null, limit: 10 });
    expect(mine.events.map(({ eventId }) => eventId)).toEqual(["event_2", "event_1"]);
  });
});

function operator() {
  return { serverSecret: "a".repeat(64), keyHash: "0f".repeat(32) };
}
