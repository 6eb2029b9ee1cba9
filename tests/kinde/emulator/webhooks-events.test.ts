import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseEventNs } from "../../../lib/inbox/event-time.ts";
import { readEvent } from "../../../lib/inbox/read-event.ts";
import { SENT_TYPES } from "../../../lib/kinde/emulator/webhooks-types.ts";
import { addCustomer, control, machine, signIn, type Caller, type Customer } from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";
import { openReceiver, settled, tell, verified, type Receiver } from "./webhook-receiver.ts";

let receiver: Receiver;
let emulator: TestEmulator;
let url: string;
let call: Caller;
let customer: Customer;
beforeEach(async () => {
  receiver = await openReceiver();
  emulator = await openEmulator({ env: { KINDE_EMULATOR_WEBHOOK_URL: receiver.url } });
  url = emulator.url;
  call = control(url);
  customer = await addCustomer(url, "grace@example.com");
  await settled(url, emulator.nowMs);
});
afterEach(async () => {
  await emulator.close();
  await receiver.close();
});

// The fields that a test names are those it expects.
// oxlint-disable-next-line typescript/no-explicit-any
type Claims = any;

/** What the receiver was sent since the call before, by event time. */
async function heard(): Promise<Claims[]> {
  await settled(url, emulator.nowMs);
  const claims: Claims[] = await Promise.all(
    receiver.received.splice(0).map((webhook) => verified(url, webhook)),
  );
  const atNs = (one: Claims) => parseEventNs(one.event_timestamp)!;
  return claims.toSorted((a, b) => Number(atNs(a) - atNs(b)));
}

const typesOf = (claims: Claims[]) => claims.map(({ type }) => type);

describe("the body", () => {
  test("is a token of the published key, with Kinde's claims and no iss", async () => {
    const [webhook] = receiver.received;
    expect(webhook!.contentType).toBe("application/jwt");
    expect(webhook!.path).toBe("/hook");
    expect(webhook!.webhookId).toMatch(/^webhook_event_[0-9a-f]{32}$/);
    const [created] = await heard();
    expect(Object.keys(created)).toEqual([
      "type",
      "event_id",
      "timestamp",
      "event_timestamp",
      "source",
      "data",
    ]);
    expect(created.event_id).toMatch(/^event_[0-9a-f]{32}$/);
    expect(created.event_timestamp).toMatch(/^2026-10-05T20:00:00\.\d{9}\+11:00$/);
    expect(parseEventNs(created.timestamp)!).toBeGreaterThan(parseEventNs(created.event_timestamp)!);
  });

  test("has the time of the test clock, and later events have later times also in one millisecond", async () => {
    await heard();
    emulator.moveTo("2031-01-31T00:00:00Z");
    for (let index = 0; index < 20; index += 1) await tell(url, customer.userId, "payment_succeeded");
    const claims = await heard();
    expect(claims[0].event_timestamp).toMatch(/^2031-01-31T11:00:00\./);
    const times = new Set(claims.map(({ event_timestamp }) => parseEventNs(event_timestamp)));
    expect(times.size).toBe(20);
    emulator.moveTo("2030-01-31T00:00:00Z");
    await tell(url, customer.userId, "payment_succeeded");
    expect((await heard())[0].event_timestamp).toMatch(/^2030-01-31T11:00:00\./);
  });
});

describe("a change is told", () => {
  test("sign-up: user, agreement, plan", async () => {
    const claims = await heard();
    expect(typesOf(claims)).toEqual(["user.created", "customer.agreement_created", "customer.plan_assigned"]);
    expect(claims[0].data.user).toMatchObject({
      id: customer.userId,
      email: "grace@example.com",
      first_name: "Grace",
      organizations: [{ code: "org_0000000000a" }],
    });
    for (const { data, source } of claims.slice(1)) {
      expect(source).toBe("admin");
      expect(data).toEqual({
        user_id: customer.userId,
        customer_id: customer.customerId,
        customer_type: "user",
        agreement_id: customer.agreementId,
        plan: { key: "customer_free_plan", name: "Free" },
      });
    }
  });

  test("sign-up at the sign-in page: the same, by the user, and that they signed in", async () => {
    await heard();
    await signIn(url);
    const claims = await heard();
    expect(typesOf(claims)).toEqual([
      "user.created",
      "customer.agreement_created",
      "customer.plan_assigned",
      "user.authenticated",
    ]);
    expect(new Set(claims.map(({ source }) => source))).toEqual(new Set(["user"]));
    expect(claims[3].data).toEqual({ user: { id: claims[0].data.user.id } });
  });

  test("plan change: new agreement, change, payment, and 5 ms later the end of the old one", async () => {
    await heard();
    await call(`/control/users/${customer.userId}/plan`, { planKey: "customer_pro_plan" });
    const claims = await heard();
    expect(typesOf(claims)).toEqual([
      "customer.agreement_created",
      "customer.plan_changed",
      "customer.payment_succeeded",
      "customer.agreement_cancelled",
    ]);
    const [created, changed, paid, cancelled] = claims;
    expect(changed.data.agreement_id).toBe(created.data.agreement_id);
    expect(changed.data.plan).toEqual({ key: "customer_pro_plan", name: "Pro" });
    expect(paid.data).toMatchObject({ amount: 2900, currency: "USD" });
    expect(cancelled.data).toMatchObject({
      agreement_id: customer.agreementId,
      plan: { key: "customer_free_plan" },
    });
    const afterNs = parseEventNs(cancelled.event_timestamp)! - parseEventNs(created.event_timestamp)!;
    expect(Number(afterNs) / 1e6).toBeGreaterThanOrEqual(5);
    expect(Number(afterNs) / 1e6).toBeLessThan(6);
  });

  test("a change to a free plan: no payment", async () => {
    await call(`/control/users/${customer.userId}/plan`, { planKey: "customer_pro_plan" });
    await heard();
    const asMachine = await machine(url);
    const body = { customer_id: customer.customerId, plan_code: "customer_free_plan" };
    await asMachine("/api/v1/billing/agreements", body);
    const claims = await heard();
    expect(typesOf(claims)).not.toContain("customer.payment_succeeded");
    expect(claims[0].source).toBe("api");
  });

  test("a cancelled agreement", async () => {
    await heard();
    const reply = await call(`/control/users/${customer.userId}/agreement`, undefined, "DELETE");
    expect(reply.json.agreement.endedAtMs).toBe(emulator.nowMs());
    const [cancelled] = await heard();
    expect(cancelled.type).toBe("customer.agreement_cancelled");
    expect(cancelled.data.agreement_id).toBe(customer.agreementId);
    const again = await call(`/control/users/${customer.userId}/agreement`, undefined, "DELETE");
    expect(again.status).toBe(404);
  });

  test("usage of a meter, with the live total", async () => {
    await heard();
    const delta = { agreementId: customer.agreementId, featureKey: "tokens", deltaUnits: 7 };
    await call("/control/meter", delta);
    await call("/control/meter", delta);
    const claims = await heard();
    expect(typesOf(claims)).toEqual(["customer.meter_usage_updated", "customer.meter_usage_updated"]);
    expect(claims[1].data).toMatchObject({ billing_feature_code: "tokens", quantity: 14 });
  });

  test("a changed user, whose email nobody else has", async () => {
    await heard();
    const path = `/control/users/${customer.userId}`;
    expect((await call(path, { email: "g@example.com" }, "PATCH")).json.user.email).toBe("g@example.com");
    const [updated] = await heard();
    expect(updated.type).toBe("user.updated");
    expect(updated.data.user).toMatchObject({ email: "g@example.com", first_name: "Grace" });
    await addCustomer(url, "b@example.com");
    expect((await call(path, { email: "B@example.com" }, "PATCH")).status).toBe(409);
    expect((await call(path, { email: "none" }, "PATCH")).status).toBe(400);
  });

  test("a deleted user, after the end of their agreement; nothing of them is left", async () => {
    await heard();
    const delta = { agreementId: customer.agreementId, featureKey: "tokens", deltaUnits: 7 };
    await call("/control/meter", delta);
    expect((await call(`/control/users/${customer.userId}`, undefined, "DELETE")).status).toBe(200);
    const claims = await heard();
    expect(typesOf(claims).slice(1)).toEqual(["customer.agreement_cancelled", "user.deleted"]);
    expect(claims[2].data).toEqual({ user: { id: customer.userId } });
    const state = (await call("/control/state")).json;
    expect([state.users, state.agreements, state.meters]).toEqual([[], [], []]);
    expect((await call(`/control/users/${customer.userId}`, undefined, "DELETE")).status).toBe(404);
    expect((await call("/control/meter", delta)).status).toBe(404);
    // The email is free again.
    expect((await addCustomer(url, "grace@example.com")).userId).not.toBe(customer.userId);
  });
});

describe("events told by hand", () => {
  test.each(SENT_TYPES)("%s is one that the inbox can read", async (type) => {
    await heard();
    const eventId = await tell(url, customer.userId, type);
    const [claims] = await heard();
    expect([claims.type, claims.event_id]).toEqual([type, eventId]);
    const read = readEvent(claims);
    expect(read.kind).not.toBe("permanent");
    const subject = type.startsWith("customer.") ? customer : { userId: customer.userId, customerId: null };
    const known = { kind: "read", subject: { userId: subject.userId, customerId: subject.customerId } };
    const isIgnored = type === "customer.meter_usage_updated" || type === "user.authenticated";
    expect(read).toMatchObject(isIgnored ? { kind: "ignored" } : known);
  });

  test("may be from another time, of another agreement, and say other things", async () => {
    await call(`/control/users/${customer.userId}/plan`, { planKey: "customer_pro_plan" });
    await heard();
    await tell(url, customer.userId, "agreement_cancelled", {
      agreementId: customer.agreementId,
      happenedAtMs: Date.parse("2026-10-05T08:57:00Z"),
      data: { plan: null, org_code: "org_1" },
    });
    const [claims] = await heard();
    expect(claims.event_timestamp).toMatch(/^2026-10-05T19:57:00\./);
    expect(claims.data).toEqual({
      user_id: customer.userId,
      customer_id: customer.customerId,
      customer_type: "user",
      agreement_id: customer.agreementId,
      org_code: "org_1",
    });
  });

  test.each([
    [{ type: "payment_lost" }, 400],
    [{ type: "organization.created" }, 400],
    [{ type: "payment_failed", agreementId: "agreement_0" }, 404],
    [{ type: "payment_failed", when: 1 }, 400],
  ])("%j is refused", async (body, status) => {
    expect((await call(`/control/users/${customer.userId}/events`, body)).status).toBe(status);
    expect((await call("/control/users/kp_0/events", { type: "payment_failed" })).status).toBe(404);
  });
});
