import { errors } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MINUTE_MS, SECOND_MS } from "../../../lib/shared/durations.ts";
import { addCustomer, control, machine } from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";
import {
  addWebhook,
  claimsOf,
  kidOf,
  openReceiver,
  settled,
  tell,
  typeOf,
  verified,
  type Receiver,
} from "./webhook-receiver.ts";

const PAID = "customer.payment_succeeded";
const FAILED = "customer.payment_failed";

/** An emulator and one who is told of payments. */
async function open(env: Record<string, string> = {}) {
  const receiver = await openReceiver();
  const emulator = await openEmulator({ env });
  await addWebhook(await machine(emulator.url), receiver.url, [PAID, FAILED]);
  const { userId } = await addCustomer(emulator.url, "grace@example.com");
  return {
    receiver,
    emulator,
    pay: (type = PAID) => tell(emulator.url, userId, type),
    settle: () => settled(emulator.url, emulator.nowMs),
    fault: async (fault: string, change: Record<string, unknown> = {}) => {
      const reply = await control(emulator.url)("/control/faults", { fault, endpoint: "*", ...change });
      expect(reply.status).toBe(201);
    },
    endFaults: () => control(emulator.url)("/control/faults", undefined, "DELETE"),
    async close() {
      await emulator.close();
      await receiver.close();
    },
  };
}

let world: Awaited<ReturnType<typeof open>>;
let receiver: Receiver;
let emulator: TestEmulator;
beforeEach(async () => {
  world = await open();
  ({ receiver, emulator } = world);
});
afterEach(() => world.close());

/** Answers as a receiver that checks: 401 for what no published key has signed. */
function answerStrictly(): void {
  receiver.answer = (webhook) =>
    verified(emulator.url, webhook).then(
      () => 200,
      () => 401,
    );
}

describe("on the way", () => {
  test("webhook_loss: never sent, and listed as lost; by hand it goes out all the same", async () => {
    await world.fault("webhook_loss", { count: 1 });
    await world.pay();
    await world.pay();
    const deliveries = await world.settle();
    expect(deliveries).toMatchObject([
      { status: "lost", attemptsMade: 0, faults: ["webhook_loss"] },
      { status: "delivered", faults: [] },
    ]);
    expect(receiver.received).toHaveLength(1);
    await control(emulator.url)(`/control/webhooks/${deliveries[0]!.id}/send`, {});
    expect((await world.settle())[0]!.status).toBe("delivered");
  });

  test("webhook_delay: the first attempt comes later", async () => {
    await world.fault("webhook_delay", { count: 1, delayMs: MINUTE_MS });
    await world.pay();
    const [delivery] = await world.settle();
    expect(delivery).toMatchObject({ attemptsMade: 0, nextAttemptAtMs: emulator.nowMs() + MINUTE_MS });
    emulator.advance(MINUTE_MS);
    expect(await world.settle()).toMatchObject([{ status: "delivered", faults: ["webhook_delay"] }]);
  });

  test("webhook_reorder: each waits another while, so they overtake; a seed gives one order", async () => {
    const orderOf = async ({ fault, pay, settle, receiver: to, emulator: from }: typeof world) => {
      await fault("webhook_reorder", { seed: 5, delayMs: MINUTE_MS });
      const eventIds: unknown[] = [];
      for (let index = 0; index < 6; index += 1) eventIds.push(await pay());
      // The next one due goes out, until none is left.
      for (;;) {
        const dueMs = (await settle()).flatMap(({ nextAttemptAtMs }) => nextAttemptAtMs ?? []);
        if (dueMs.length === 0) break;
        from.advance(Math.min(...dueMs) - from.nowMs());
      }
      return to.received.map((webhook) => eventIds.indexOf(claimsOf(webhook)["event_id"]));
    };
    const order = await orderOf(world);
    expect(order.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(order).not.toEqual([0, 1, 2, 3, 4, 5]);
    const other = await open();
    expect(await orderOf(other)).toEqual(order);
    await other.close();
  });
});

describe("in an attempt", () => {
  test("webhook_duplicate: as many copies at the same time, under one id", async () => {
    await world.fault("webhook_duplicate", { count: 1, copies: 2 });
    await world.pay();
    const [delivery] = await world.settle();
    expect(delivery).toMatchObject({ status: "delivered", attemptsMade: 1 });
    expect(delivery!.attempts.map(({ faults }) => faults)).toEqual(
      Array.from({ length: 3 }, () => ["webhook_duplicate"]),
    );
    expect(receiver.received.map(({ webhookId }) => webhookId)).toEqual(
      Array.from({ length: 3 }, () => delivery!.id),
    );
    expect(new Set(receiver.received.map(({ token }) => token)).size).toBe(1);
  });

  test.each([
    ["webhook_bad_signature", errors.JWSSignatureVerificationFailed],
    ["webhook_unknown_kid", errors.JWKSNoMatchingKey],
  ])("%s: does not verify; the retry does", async (fault, kind) => {
    answerStrictly();
    await world.fault(fault, { count: 1 });
    await world.pay();
    expect(await world.settle()).toMatchObject([{ attempts: [{ status: 401, faults: [fault] }] }]);
    await expect(verified(emulator.url, receiver.received[0]!)).rejects.toThrow(kind);
    emulator.advance(5 * SECOND_MS);
    expect(await world.settle()).toMatchObject([{ status: "delivered" }]);
  });

  test("webhook_own_iss and webhook_foreign_iss add one, where there is none by itself", async () => {
    await world.fault("webhook_own_iss", { count: 1 });
    await world.pay();
    await world.settle();
    await world.fault("webhook_foreign_iss", { count: 1 });
    await world.pay();
    await world.settle();
    await world.pay();
    await world.settle();
    const issuers = await Promise.all(
      receiver.received.map(async (webhook) => (await verified(emulator.url, webhook))["iss"]),
    );
    expect(issuers).toEqual([emulator.url, "https://another-tenant.kinde.com", undefined]);
  });

  test("webhook_missing_iss takes it away, where the setting adds one", async () => {
    const strict = await open({ KINDE_EMULATOR_WEBHOOK_ISS: "tenant" });
    await strict.pay();
    await strict.settle();
    await strict.fault("webhook_missing_iss");
    await strict.pay();
    await strict.settle();
    const issuers = strict.receiver.received.map((webhook) => claimsOf(webhook)["iss"]);
    expect(issuers).toEqual([strict.emulator.url, undefined]);
    await strict.close();
  });

  test("webhook_key_rotation: signed with a new key from then on", async () => {
    await world.pay();
    await world.settle();
    await world.fault("webhook_key_rotation", { count: 1 });
    await world.pay();
    await world.settle();
    await world.pay();
    await world.settle();
    const [before, at, after] = receiver.received;
    expect(kidOf(at!)).not.toBe(kidOf(before!));
    expect(kidOf(after!)).toBe(kidOf(at!));
    expect(await verified(emulator.url, before!)).toMatchObject({ type: PAID });
  });

  test("webhook_outage: unreachable while it lasts, and nothing is lost", async () => {
    await world.fault("webhook_outage");
    await world.pay();
    await world.settle();
    emulator.advance(5 * SECOND_MS);
    const unreachable = { status: null, failure: "unreachable", faults: ["webhook_outage"] };
    expect(await world.settle()).toMatchObject([{ status: "pending", attempts: [unreachable, unreachable] }]);
    expect(receiver.received).toEqual([]);
    await world.endFaults();
    emulator.advance(30 * SECOND_MS);
    expect(await world.settle()).toMatchObject([{ status: "delivered", attemptsMade: 3 }]);
  });
});

describe("a fault of webhooks", () => {
  test("strikes the types and the path that it names, and no request", async () => {
    await world.fault("webhook_loss", { eventTypes: [FAILED] });
    await world.fault("webhook_loss", { endpoint: "/other/*" });
    await world.fault("webhook_loss", { endpoint: "GET /hook" });
    await world.pay(FAILED);
    await world.pay(PAID);
    await world.settle();
    expect(receiver.received.map(typeOf)).toEqual([PAID]);
    await world.fault("webhook_loss", { endpoint: "POST /hook" });
    await world.pay(PAID);
    await world.settle();
    expect(receiver.received).toHaveLength(1);
    const { faults } = (await control(emulator.url)("/control/state")).json;
    expect(faults.map(({ seen }: { seen: number }) => seen)).toEqual([1, 0, 0, 1]);
  });

  test("strikes as often as its probability says, the same with the same seed", async () => {
    await world.fault("webhook_loss", { probability: 0.5, seed: 3 });
    const lost = async ({ pay, settle }: typeof world) => {
      for (let index = 0; index < 12; index += 1) {
        await pay();
        await settle();
      }
      return (await settle()).map(({ status }) => status === "lost");
    };
    const first = await lost(world);
    expect(new Set(first)).toEqual(new Set([true, false]));
    const other = await open();
    await other.fault("webhook_loss", { probability: 0.5, seed: 3 });
    expect(await lost(other)).toEqual(first);
    await other.close();
  });

  test("is none of requests, and those of requests are none of webhooks", async () => {
    const asMachine = await machine(emulator.url);
    await world.fault("status_500");
    await world.fault("webhook_outage");
    expect((await asMachine("/api/v1/users")).status).toBe(500);
    await world.pay();
    expect(await world.settle()).toMatchObject([{ attempts: [{ faults: ["webhook_outage"] }] }]);
    const { faults } = (await control(emulator.url)("/control/state")).json;
    expect(faults.map(({ hits }: { hits: number }) => hits)).toEqual([1, 1]);
  });

  test("on the way is asked for once, however often it is tried", async () => {
    await world.fault("webhook_loss", { probability: 0.000_001 });
    receiver.answer = () => 500;
    await world.pay();
    await world.settle();
    emulator.advance(5 * SECOND_MS);
    await world.settle();
    expect(receiver.received).toHaveLength(2);
    const [fault] = (await control(emulator.url)("/control/state")).json.faults;
    expect(fault).toMatchObject({ seen: 1, hits: 0 });
  });

  test.each([
    [{ fault: "webhook_duplicate", copies: 0 }, "copies"],
    [{ fault: "webhook_loss", eventTypes: ["customer.paid"] }, "eventTypes"],
    [{ fault: "webhook_loss", eventTypes: [] }, "eventTypes"],
  ])("%j is refused", async (body, word) => {
    const reply = await control(emulator.url)("/control/faults", { endpoint: "*", ...body });
    expect([reply.status, JSON.stringify(reply.json)]).toEqual([400, expect.stringContaining(word)]);
  });
});
