import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../lib/shared/durations.ts";
import { addCustomer, control, machine, type Caller, type Customer } from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";
import {
  addWebhook,
  deliveriesOf,
  kidOf,
  openReceiver,
  settled,
  tell,
  typeOf,
  verified,
  type Receiver,
} from "./webhook-receiver.ts";

let receiver: Receiver;
let emulator: TestEmulator;
let url: string;
let call: Caller;
let asMachine: Caller;
let customer: Customer;
beforeEach(async () => {
  receiver = await openReceiver();
  emulator = await openEmulator({ env: { KINDE_EMULATOR_WEBHOOK_TIMEOUT_SECONDS: "1" } });
  url = emulator.url;
  call = control(url);
  asMachine = await machine(url);
  customer = await addCustomer(url, "grace@example.com");
});
afterEach(async () => {
  await emulator.close();
  await receiver.close();
});

const PAID = "customer.payment_succeeded";
const addPaid = (endpoint = receiver.url) => addWebhook(asMachine, endpoint, [PAID]);
const pay = () => tell(url, customer.userId, PAID);
const settle = (query?: string) => settled(url, emulator.nowMs, query);
const endpoints = async () => (await call("/control/webhooks")).json.endpoints;

describe("a delivery", () => {
  test("is tried at once and at the documented waits, the last time after 36 hours, always under one id", async () => {
    receiver.answer = () => 503;
    await addPaid();
    await pay();
    const waitsMs: number[] = [];
    let [delivery] = await settle();
    while (delivery!.status === "pending") {
      const waitMs = delivery!.nextAttemptAtMs! - emulator.nowMs();
      waitsMs.push(waitMs);
      emulator.advance(waitMs - 1);
      expect((await settle())[0]!.attemptsMade).toBe(waitsMs.length);
      emulator.advance(1);
      [delivery] = await settle();
      expect(delivery!.attemptsMade).toBe(waitsMs.length + 1);
    }
    const lastsMs = waitsMs.reduce((sum, waitMs) => sum + waitMs, 0);
    expect(waitsMs.slice(0, -1)).toEqual([
      5 * SECOND_MS,
      30 * SECOND_MS,
      2 * MINUTE_MS,
      10 * MINUTE_MS,
      HOUR_MS,
      4 * HOUR_MS,
      12 * HOUR_MS,
      12 * HOUR_MS,
    ]);
    expect(lastsMs).toBe(36 * HOUR_MS);
    expect(delivery).toMatchObject({ status: "given_up", attemptsMade: 10, nextAttemptAtMs: null });
    expect(delivery!.attempts.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 503));
    expect(receiver.received).toHaveLength(10);
    expect(new Set(receiver.received.map(({ webhookId }) => webhookId))).toEqual(new Set([delivery!.id]));
  });

  test.each([201, 202, 204, 302, 400, 401, 404, 429, 500, 503])(
    "answered with %i is tried again, with 200 it is done",
    async (status) => {
      receiver.answer = () => (receiver.received.length === 1 ? status : 200);
      await addPaid();
      await pay();
      expect(await settle()).toMatchObject([{ status: "pending", attempts: [{ status, failure: null }] }]);
      emulator.advance(5 * SECOND_MS);
      expect(await settle()).toMatchObject([
        { status: "delivered", attempts: [{ status }, { status: 200 }] },
      ]);
      expect(receiver.received.map(({ path }) => path)).toEqual(["/hook", "/hook"]);
    },
  );

  test("without an answer is tried again: too late, broken off, refused", async () => {
    const answers = ["hang", "reset", 200] as const;
    receiver.answer = () => answers[receiver.received.length - 1]!;
    await addPaid();
    await pay();
    await settle();
    emulator.advance(5 * SECOND_MS);
    await settle();
    emulator.advance(30 * SECOND_MS);
    const [delivery] = await settle();
    expect(delivery).toMatchObject({
      status: "delivered",
      attempts: [
        { status: null, failure: "no answer in 1000 ms" },
        { failure: "ECONNRESET" },
        { status: 200 },
      ],
    });
    await receiver.close();
    await pay();
    expect((await settle())[1]).toMatchObject({ attempts: [{ failure: "ECONNREFUSED" }] });
  });

  test("is signed again for each attempt, with the key of then and the same claims", async () => {
    receiver.answer = () => 500;
    await addPaid();
    await pay();
    await settle();
    const { kid } = (await call("/control/keys/rotate", { retireOld: true })).json;
    emulator.advance(5 * SECOND_MS);
    await settle();
    const [first, second] = receiver.received;
    expect(kidOf(second!)).toBe(kid);
    expect(kidOf(first!)).not.toBe(kid);
    expect(second!.token.split(".")[1]).toBe(first!.token.split(".")[1]);
    expect(second!.webhookId).toBe(first!.webhookId);
    expect(await verified(url, second!)).toMatchObject({ type: PAID });
  });

  test("can be sent again at any time, by hand", async () => {
    await addPaid();
    await pay();
    const [delivery] = await settle();
    expect((await call(`/control/webhooks/${delivery!.id}/send`, {})).status).toBe(200);
    expect(await settle()).toMatchObject([{ status: "delivered", attemptsMade: 2 }]);
    expect(receiver.received[1]!.webhookId).toBe(receiver.received[0]!.webhookId);
    expect((await call("/control/webhooks/webhook_event_0/send", {})).status).toBe(404);
    let letGo = (): void => undefined;
    receiver.answer = () => new Promise((resolve) => (letGo = () => resolve(200)));
    await call(`/control/webhooks/${delivery!.id}/send`, {});
    await expect.poll(() => receiver.received.length).toBe(3);
    expect((await call(`/control/webhooks/${delivery!.id}/send`, {})).status).toBe(409);
    letGo();
    await settle();
  });

  test("is listed with every attempt, by event, user, type and status, in pages", async () => {
    await addWebhook(asMachine, receiver.url, [PAID, "user.updated"]);
    const eventIds = [await pay(), await pay(), await pay()];
    await tell(url, customer.userId, "user.updated");
    await settle();
    expect(await deliveriesOf(url, `&event=${eventIds[1]}`)).toMatchObject([{ eventId: eventIds[1] }]);
    expect(await deliveriesOf(url, "&type=user.updated")).toHaveLength(1);
    expect(await deliveriesOf(url, "&user=kp_0")).toHaveLength(0);
    expect(await deliveriesOf(url, `&user=${customer.userId}&status=delivered`)).toHaveLength(4);
    expect(await deliveriesOf(url, "&status=pending")).toHaveLength(0);
    const first = (await call("/control/webhooks?limit=3")).json;
    const second = (await call(`/control/webhooks?limit=3&before=${first.nextBefore}`)).json;
    expect([first.deliveries.length, second.deliveries.length, second.nextBefore]).toEqual([3, 1, null]);
    expect(second.deliveries[0].eventId).toBe(eventIds[0]);
    for (const query of ["status=late", "limit=0", "limit=501", "before=x"]) {
      expect((await call(`/control/webhooks?${query}`)).status).toBe(400);
    }
  });

  test("is forgotten 7 days after it was delivered; what is pending is kept", async () => {
    await addPaid();
    const oldEvent = await pay();
    await settle();
    receiver.answer = () => 500;
    const pendingEvent = await pay();
    await settle();
    await call("/control/webhooks/scale", { scale: 1 });
    emulator.advance(7 * DAY_MS);
    await settle();
    emulator.advance(HOUR_MS);
    await expect
      .poll(async () => (await deliveriesOf(url)).map(({ eventId }) => eventId))
      .toEqual([pendingEvent]);
    const asLater = await machine(url);
    expect((await asLater(`/api/v1/events/${oldEvent}`)).status).toBe(404);
    expect((await asLater(`/api/v1/events/${pendingEvent}`)).status).toBe(200);
  });
});

describe("an endpoint", () => {
  test("is sent only what it asked for, and everything of a change that was kept", async () => {
    await addWebhook(asMachine, `${receiver.url}?all`, ["customer.plan_changed", PAID]);
    await call(`/control/users/${customer.userId}/plan`, { planKey: "customer_pro_plan" });
    await call(`/control/users/${customer.userId}/plan`, { planKey: "gold" });
    await settle();
    expect(receiver.received.map(typeOf).toSorted()).toEqual([PAID, "customer.plan_changed"].toSorted());
    expect(receiver.received[0]!.path).toBe("/hook?all");
  });

  test("that is slow holds up no other, and gets eight at a time", async () => {
    const slow = await openReceiver();
    slow.answer = () => "hang";
    await addPaid(slow.url);
    await addPaid();
    for (let index = 0; index < 20; index += 1) await pay();
    await expect.poll(() => receiver.received.length).toBe(20);
    expect(slow.received.length).toBeLessThanOrEqual(8);
    await slow.close();
  });

  test("that fails for 72 hours is disabled, with the reason; enabled again, its deliveries go on", async () => {
    receiver.answer = () => 500;
    const id = await addPaid();
    await pay();
    await settle();
    emulator.advance(72 * HOUR_MS - 1);
    await pay();
    await settle();
    expect((await endpoints())[0].disabledAtMs).toBeNull();
    emulator.advance(1);
    await pay();
    await settle("&status=given_up");
    await expect.poll(async () => (await endpoints())[0].disabledAtMs).toBe(emulator.nowMs());
    expect((await endpoints())[0].disabledReason).toContain("72 hours");
    const listed = (await (await machine(url))("/api/v1/webhooks")).json.webhooks[0];
    expect(listed).toMatchObject({ id, is_disabled: true });

    const before = await deliveriesOf(url);
    await pay();
    expect(await deliveriesOf(url)).toHaveLength(before.length);
    expect((await call(`/control/webhooks/${before[0]!.id}/send`, {})).status).toBe(409);
    receiver.answer = () => 200;
    emulator.advance(12 * HOUR_MS);
    expect((await call("/control/webhooks/enable", { endpointId: "webhook_0" })).status).toBe(404);
    expect((await call("/control/webhooks/enable", {})).json).toEqual({ enabled: 1 });
    const after = await settle();
    expect(after.map(({ status }) => status)).toEqual(["delivered", "delivered", "delivered"]);
    expect((await endpoints())[0]).toMatchObject({ disabledAtMs: null, disabledReason: null });
  });

  test("that answers once in 72 hours stays enabled", async () => {
    receiver.answer = () => 500;
    await addPaid();
    await pay();
    await settle();
    emulator.advance(71 * HOUR_MS);
    receiver.answer = () => 200;
    await pay();
    await settle();
    receiver.answer = () => 500;
    emulator.advance(HOUR_MS);
    await pay();
    await settle();
    expect((await endpoints())[0].disabledAtMs).toBeNull();
  });
});

describe("the pace", () => {
  test("changes at run time: what has been waited for stays so, the rest passes faster", async () => {
    receiver.answer = () => 500;
    await addPaid();
    await pay();
    await settle();
    emulator.advance(2 * SECOND_MS);
    expect((await call("/control/webhooks/scale", { scale: 0.001 })).json).toEqual({ timeScale: 0.001 });
    const [delivery] = await deliveriesOf(url);
    expect(delivery!.nextAttemptAtMs).toBe(emulator.nowMs() + 3);
    emulator.advance(3);
    expect((await settle())[0]).toMatchObject({ attemptsMade: 2, nextAttemptAtMs: emulator.nowMs() + 30 });
  });

  test.each([0, -1, 1.5, 0.000_000_1, "1", null])("%j is refused", async (scale) => {
    expect((await call("/control/webhooks/scale", { scale })).status).toBe(400);
  });
});
