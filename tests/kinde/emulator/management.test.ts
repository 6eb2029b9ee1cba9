import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Catalogue } from "../../../lib/kinde/emulator/catalogue.ts";
import { addCustomer, bearer, control, machine, signIn, type Caller, type Customer } from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";

let emulator: TestEmulator;
let url: string;
let call: Caller;
let customer: Customer;
beforeEach(async () => {
  emulator = await openEmulator();
  url = emulator.url;
  call = await machine(url);
  customer = await addCustomer(url, "grace@example.com");
});
afterEach(() => emulator.close());

describe("users", () => {
  test("a user is found by id, with the billing customer when asked for", async () => {
    const plain = await call(`/api/v1/user?id=${customer.userId}`);
    expect(plain.json).toMatchObject({ id: customer.userId, preferred_email: "grace@example.com" });
    expect(plain.json.billing).toBeUndefined();
    const { json } = await call(`/api/v1/user?id=${customer.userId}&expand=billing`);
    expect(json.billing).toEqual({ customer_id: customer.customerId });
  });

  test("an unknown user is 404, with errors as an object", async () => {
    const { status, json } = await call("/api/v1/user?id=kp_0");
    expect([status, json.errors.code]).toEqual([404, "USER_NOT_FOUND"]);
  });

  test("the list comes in pages of 10 until there are no more", async () => {
    for (let index = 0; index < 22; index += 1) await addCustomer(url, `user${index}@example.com`);
    const seen: string[] = [];
    let token: string | null = "";
    while (token !== null) {
      const { json } = await call(`/api/v1/users?expand=billing&next_token=${token}`);
      seen.push(...json.users.map((user: { billing: { customer_id: string } }) => user.billing.customer_id));
      token = json.next_token;
    }
    expect(new Set(seen).size).toBe(23);
    const one = await call("/api/v1/users?email=user7@example.com");
    expect(one.json.users).toHaveLength(1);
  });
});

describe("entitlements", () => {
  const read = async (query = "") =>
    (await call(`/api/v1/billing/entitlements?customer_id=${customer.customerId}${query}`)).json;

  test("hold the limits of the plan; no maximum is null", async () => {
    const json = await read("&expand=plans");
    expect(json).toMatchObject({ code: "OK", message: "Success", has_more: false });
    expect(json.plans).toEqual([{ code: "customer_free_plan", subscribed_on: "2026-10-05T09:00:00.000Z" }]);
    expect(json.entitlements).toMatchObject([
      { feature_code: "tokens", entitlement_limit_max: 10_000, entitlement_limit_min: 0 },
      { feature_code: "clicks", entitlement_limit_max: null },
    ]);
    expect((await read()).plans).toBeUndefined();
  });

  test("max_value stands in for no maximum", async () => {
    const limits = (await read("&max_value=5")).entitlements.map(
      (row: { entitlement_limit_max: number }) => row.entitlement_limit_max,
    );
    expect(limits).toEqual([10_000, 5]);
  });

  test("after a plan change the new limit is there at once, and the sign-up date stays", async () => {
    emulator.moveTo("2026-10-20T00:00:00Z");
    const body = { customer_id: customer.customerId, plan_code: "customer_pro_plan" };
    expect((await call("/api/v1/billing/agreements", body)).json).toEqual({ message: "Success", code: "OK" });
    const json = await read("&expand=plans");
    expect(json.plans).toEqual([{ code: "customer_pro_plan", subscribed_on: "2026-10-05T09:00:00.000Z" }]);
    expect(json.entitlements[0].entitlement_limit_max).toBe(100_000);
  });

  test("an unknown customer is 404, none is 400", async () => {
    expect((await call("/api/v1/billing/entitlements?customer_id=customer_0")).status).toBe(404);
    expect((await call("/api/v1/billing/entitlements")).json.errors[0].message).toContain("customer_id");
  });
});

describe("pages of entitlements", () => {
  const features = Array.from({ length: 25 }, (_, index) => ({
    key: `feature_${String(index).padStart(2, "0")}`,
    name: "Feature",
    limit: index,
    metered: true,
    unitAmountCents: 0,
  }));
  const catalogue: Catalogue = {
    signUpPlan: "wide",
    plans: [{ key: "wide", name: "Wide", monthlyPriceCents: 0, features }],
  };
  let wide: TestEmulator;
  let read: (query: string) => Promise<{ status: number; keys: string[]; ids: string[]; hasMore: boolean }>;
  beforeEach(async () => {
    wide = await openEmulator({ catalogue });
    const reader = await machine(wide.url);
    const { customerId } = await addCustomer(wide.url, "wide@example.com");
    read = async (query) => {
      const { status, json } = await reader(`/api/v1/billing/entitlements?customer_id=${customerId}${query}`);
      const rows: { id: string; feature_code: string }[] = json.entitlements ?? [];
      return {
        status,
        keys: rows.map((row) => row.feature_code),
        ids: rows.map((row) => row.id),
        hasMore: json.has_more,
      };
    };
  });
  afterEach(() => wide.close());

  test("tile the list: 10, 10, 5", async () => {
    const first = await read("");
    const second = await read(`&starting_after=${first.ids.at(-1)}`);
    const third = await read(`&starting_after=${second.ids.at(-1)}`);
    expect([first.hasMore, second.hasMore, third.hasMore]).toEqual([true, true, false]);
    expect([...first.keys, ...second.keys, ...third.keys]).toEqual(features.map(({ key }) => key));
    const back = await read(`&ending_before=${third.ids[0]}`);
    expect([back.keys, back.hasMore]).toEqual([second.keys, true]);
  });

  test("take a size, at most 500", async () => {
    expect((await read("&page_size=3")).keys).toHaveLength(3);
    expect((await read("&page_size=25")).hasMore).toBe(false);
    expect((await read("&page_size=9999")).keys).toHaveLength(25);
    for (const bad of ["0", "-1", "1.5", "ten"]) expect((await read(`&page_size=${bad}`)).status).toBe(400);
    expect((await read("&starting_after=entitlement_0")).status).toBe(400);
  });
});

describe("agreements", () => {
  const read = async () =>
    (await call(`/api/v1/billing/agreements?customer_id=${customer.customerId}`)).json.agreements;

  test("a plan change makes a new id and ends the old agreement", async () => {
    emulator.advance(3_600_000);
    const body = { customer_id: customer.customerId, plan_code: "customer_starter_plan", is_prorate: true };
    expect((await call("/api/v1/billing/agreements", body)).json.id).toBeUndefined();
    const [current, old, ...more] = await read();
    expect(more).toEqual([]);
    expect(current).toMatchObject({ plan_code: "customer_starter_plan", expires_on: null });
    expect(current.id).not.toBe(customer.agreementId);
    expect(old).toMatchObject({ id: customer.agreementId, expires_on: "2026-10-05T10:00:00.000Z" });
    expect(current.entitlements.map((row: { feature_code: string }) => row.feature_code)).toEqual([
      "tokens",
      "clicks",
    ]);
  });

  test("cancelling one, by query or body, leaves nothing to be entitled to", async () => {
    const cancelled = await call(
      `/api/v1/billing/agreements?agreement_id=${customer.agreementId}`,
      undefined,
      "DELETE",
    );
    expect(cancelled.status).toBe(200);
    expect((await read())[0].expires_on).not.toBeNull();
    const { json } = await call(
      `/api/v1/billing/entitlements?customer_id=${customer.customerId}&expand=plans`,
    );
    expect([json.entitlements, json.plans]).toEqual([[], []]);
    const again = await call("/api/v1/billing/agreements", { agreement_id: customer.agreementId }, "DELETE");
    expect(again.status).toBe(404);
  });

  test("an unknown plan changes nothing", async () => {
    const reply = await call("/api/v1/billing/agreements", {
      customer_id: customer.customerId,
      plan_code: "gold",
    });
    expect([reply.status, reply.json.errors[0].code]).toEqual([400, "PLAN_NOT_FOUND"]);
    expect(await read()).toHaveLength(1);
  });

  test("feature_code narrows the list", async () => {
    const path = `/api/v1/billing/agreements?customer_id=${customer.customerId}&feature_code=`;
    expect((await call(`${path}tokens`)).json.agreements).toHaveLength(1);
    expect((await call(`${path}storage`)).json.agreements).toEqual([]);
  });
});

describe("access", () => {
  test.each([
    ["read:users", "GET", "/api/v1/user?id=x"],
    ["read:users", "GET", "/api/v1/users"],
    ["read:billing_entitlements", "GET", "/api/v1/billing/entitlements"],
    ["read:billing_agreements", "GET", "/api/v1/billing/agreements"],
    ["create:billing_agreements", "POST", "/api/v1/billing/agreements"],
    ["delete:billing_agreements", "DELETE", "/api/v1/billing/agreements"],
    ["create:meter_usage", "POST", "/api/v1/billing/meter_usage"],
    ["read:meter_usage", "GET", "/api/v1/billing/meter_usage"],
    ["read:event_types", "GET", "/api/v1/event_types"],
    ["read:events", "GET", "/api/v1/events/event_0"],
    ["read:webhooks", "GET", "/api/v1/webhooks"],
    ["create:webhooks", "POST", "/api/v1/webhooks"],
    ["update:webhooks", "PATCH", "/api/v1/webhooks/webhook_0"],
    ["delete:webhooks", "DELETE", "/api/v1/webhooks/webhook_0"],
  ])("%s is needed for %s %s", async (scope, method, path) => {
    const others = scope === "read:users" ? "read:event_types" : "read:users";
    const body = method === "GET" ? undefined : {};
    const refused = await (await machine(url, others))(path, body, method);
    expect([refused.status, refused.json.errors[0].code]).toEqual([403, "SCOPE_MISSING"]);
    const allowed = await (await machine(url, scope))(path, body, method);
    expect([401, 403]).not.toContain(allowed.status);
  });

  test("no token is 401, a user's token is refused even when it is for this API", async () => {
    expect((await bearer(url, "")("/api/v1/users")).status).toBe(401);
    const mine = await signIn(url);
    expect((await bearer(url, mine.access_token)("/api/v1/users")).status).toBe(401);
    const form = { new: "1", given_name: "B", family_name: "C", email: "b@example.com" };
    const forApi = await signIn(url, form, { audience: `${url}/api` });
    expect((await bearer(url, forApi.access_token)("/api/v1/users")).status).toBe(403);
  });

  test("an unknown path is 404, a wrong method is 405 and names the right one", async () => {
    expect((await call("/api/v1/nothing")).status).toBe(404);
    const reply = await call("/api/v1/users", {});
    expect([reply.status, reply.headers.get("allow")]).toEqual([405, "GET"]);
  });
});

test("the event types name the billing events", async () => {
  const { json } = await call("/api/v1/event_types");
  const codes = json.event_types.map((row: { code: string }) => row.code);
  expect(codes).toContain("customer.plan_changed");
  expect(codes).toContain("customer.meter_usage_updated");
});

test("what happened is kept in order", async () => {
  await call("/api/v1/billing/agreements", {
    customer_id: customer.customerId,
    plan_code: "customer_pro_plan",
  });
  const { json } = await control(url)("/control/changes");
  expect(json.changes.map((change: { kind: string }) => change.kind)).toEqual([
    "user_created",
    "agreement_created",
    "plan_assigned",
    "agreement_created",
    "plan_changed",
    "payment_succeeded",
    "agreement_ended",
  ]);
  const changed = json.changes[4];
  expect(changed.body).toMatchObject({ planKey: "customer_pro_plan", oldPlanKey: "customer_free_plan" });
  const last = json.changes.at(-1);
  expect((await control(url)(`/control/changes?after=${last.seq}`)).json.changes).toEqual([]);
});
