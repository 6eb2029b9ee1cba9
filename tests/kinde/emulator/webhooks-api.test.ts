import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addCustomer, machine, type Caller } from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";
import { addWebhook, openReceiver, settled, tell, type Receiver } from "./webhook-receiver.ts";

const WEBHOOKS = "/api/v1/webhooks";
const PAID = "customer.payment_succeeded";
const TARGET = "http://127.0.0.1:9/hook";

let emulator: TestEmulator;
let url: string;
let call: Caller;
beforeEach(async () => {
  emulator = await openEmulator();
  url = emulator.url;
  call = await machine(url);
});
afterEach(() => emulator.close());

const listed = async () => (await call(WEBHOOKS)).json.webhooks;

describe("webhooks", () => {
  test("are made, listed, changed and deleted", async () => {
    expect(await listed()).toEqual([]);
    const made = await call(WEBHOOKS, { endpoint: TARGET, event_types: [PAID], name: "Mine" });
    expect(made.json).toMatchObject({ code: "OK", webhook: { endpoint: TARGET } });
    const { id } = made.json.webhook;
    const expected = { id, name: "Mine", endpoint: TARGET, description: "", event_types: [PAID] };
    expect(await listed()).toMatchObject([{ ...expected, created_on: "2026-10-05T09:00:00.000Z" }]);
    const change = { event_types: ["user.created"], description: "told of users" };
    expect((await call(`${WEBHOOKS}/${id}`, change, "PATCH")).json.webhook).toEqual({ id });
    expect(await listed()).toMatchObject([{ ...expected, ...change }]);
    await call(`${WEBHOOKS}/${id}`, { name: "Ours", description: null }, "PATCH");
    expect(await listed()).toMatchObject([{ ...expected, ...change, name: "Ours", description: "" }]);
    expect((await call(`${WEBHOOKS}/${id}`, undefined, "DELETE")).json.webhook).toEqual({ id });
    expect(await listed()).toEqual([]);
    expect((await call(`${WEBHOOKS}/${id}`, undefined, "DELETE")).status).toBe(404);
    expect((await call(`${WEBHOOKS}/${id}`, change, "PATCH")).status).toBe(404);
  });

  test.each([
    [{ event_types: [PAID], name: "x" }, "endpoint"],
    [{ endpoint: TARGET, name: "x" }, "event_types"],
    [{ endpoint: TARGET, event_types: [], name: "x" }, "event_types"],
    [{ endpoint: TARGET, event_types: ["customer.paid"], name: "x" }, "event_types"],
    [{ endpoint: TARGET, event_types: [PAID] }, "name"],
  ])("%j is refused with the field", async (body, field) => {
    const reply = await call(WEBHOOKS, body);
    expect(reply.status).toBe(400);
    expect(reply.json.errors[0].message).toContain(field);
    expect(await listed()).toEqual([]);
  });

  test.each([
    "https://127.0.0.1:9/",
    "http://example.com/",
    "http://127.0.0.1.example.com/",
    "http://user@127.0.0.1:9/",
    "http://10.0.0.1/",
    "http://[::2]/",
    "file:///etc/hosts",
    "hook",
  ])("%s is not of this machine: refused", async (endpoint) => {
    const reply = await call(WEBHOOKS, { endpoint, event_types: [PAID], name: "x" });
    expect([reply.status, reply.json.errors[0].code]).toEqual([400, "INVALID_ENDPOINT"]);
  });

  test("there are 20 at most, and the address of one stays", async () => {
    const id = await addWebhook(call, TARGET, [PAID]);
    const moved = await call(`${WEBHOOKS}/${id}`, { endpoint: "http://127.0.0.1:10/" }, "PATCH");
    expect([moved.status, moved.json.errors[0].message]).toEqual([400, "endpoint: cannot be changed"]);
    for (let index = 1; index < 20; index += 1) await addWebhook(call, TARGET, [PAID]);
    expect((await call(WEBHOOKS, { endpoint: TARGET, event_types: [PAID], name: "x" })).status).toBe(400);
  });

  test("what was to be sent to a deleted one is given up", async () => {
    const id = await addWebhook(call, TARGET, [PAID]);
    const { userId } = await addCustomer(url, "grace@example.com");
    await tell(url, userId, PAID);
    expect(await settled(url, emulator.nowMs)).toMatchObject([{ status: "pending" }]);
    await call(`${WEBHOOKS}/${id}`, undefined, "DELETE");
    expect(await settled(url, emulator.nowMs)).toMatchObject([{ status: "given_up" }]);
  });
});

describe("the default endpoint", () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await openReceiver();
  });
  afterEach(() => receiver.close());

  test("takes all types", async () => {
    const withDefault = await openEmulator({ env: { KINDE_EMULATOR_WEBHOOK_URL: receiver.url } });
    const asMachine = await machine(withDefault.url);
    const [webhook] = (await asMachine(WEBHOOKS)).json.webhooks;
    const codes = (await asMachine("/api/v1/event_types")).json.event_types.map(
      ({ code }: { code: string }) => code,
    );
    expect(webhook).toMatchObject({ name: "Holdfast", endpoint: receiver.url, event_types: codes });
    expect(codes).toEqual(expect.arrayContaining([PAID, "user.deleted", "organization.created"]));
    await withDefault.close();
  });
});

test("an event is read by its id, as it was sent", async () => {
  const { userId, customerId } = await addCustomer(url, "grace@example.com");
  const eventId = await tell(url, userId, "payment_failed");
  const { event } = (await call(`/api/v1/events/${eventId}`)).json;
  expect(event).toMatchObject({
    event_id: eventId,
    type: "customer.payment_failed",
    source: "admin",
    data: { user_id: userId, customer_id: customerId },
  });
  expect(Math.abs(event.timestamp - emulator.nowMs())).toBeLessThan(1_000);
  const missing = await call("/api/v1/events/event_0");
  expect([missing.status, missing.json.errors.code]).toEqual([404, "EVENT_NOT_FOUND"]);
});
