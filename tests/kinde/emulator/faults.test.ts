import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  addCustomer,
  bearer,
  control,
  machine,
  machineToken,
  send,
  type Caller,
  type Customer,
} from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";

const METER = "/api/v1/billing/meter_usage";
const USERS = "/api/v1/users";

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

async function setFault(
  fault: string,
  endpoint: string,
  change: Record<string, unknown> = {},
): Promise<string> {
  const reply = await control(url)("/control/faults", { fault, endpoint, ...change });
  expect(reply.status).toBe(201);
  return reply.json.id;
}

const write = (value: string) =>
  call(METER, {
    customer_agreement_id: customer.agreementId,
    billing_feature_code: "tokens",
    meter_value: value,
    meter_type_code: "absolute",
  });

const total = async (): Promise<string> =>
  (await call(`${METER}?customer_agreement_id=${customer.agreementId}&billing_feature_code=tokens`)).json
    .usage.current_total;

const entitlements = async (query = "") =>
  (await call(`/api/v1/billing/entitlements?customer_id=${customer.customerId}${query}`)).json;

describe("answers instead of the endpoint's", () => {
  test("429 with the seconds to wait, and without", async () => {
    await setFault("rate_limited", USERS, { count: 1, resetSeconds: 7 });
    await setFault("rate_limited_without_reset", USERS, { count: 1 });
    const [first, second, third] = [await call(USERS), await call(USERS), await call(USERS)];
    expect([first.status, first.headers.get("ratelimit-reset")]).toEqual([429, "7"]);
    expect([second.status, second.headers.get("ratelimit-reset")]).toEqual([429, null]);
    expect(third.status).toBe(200);
  });

  test.each([
    ["status_500", 500],
    ["status_502", 502],
    ["status_503", 503],
    ["unauthorized", 401],
    ["forbidden", 403],
  ])("%s: nothing is done", async (fault, status) => {
    await setFault(fault, `POST ${METER}`, { count: 1 });
    const reply = await write("5");
    expect(reply.status).toBe(status);
    expect(await total()).toBe("0");
    expect((await write("5")).status).toBe(200);
  });

  test("a refusal has Kinde's list of errors", async () => {
    await setFault("forbidden", USERS, { count: 1 });
    expect((await call(USERS)).json.errors[0].code).toBe("SCOPE_MISSING");
  });

  test("the token endpoint fails in OAuth's words", async () => {
    await setFault("unauthorized", "/oauth2/token", { count: 1 });
    const reply = await machineToken(url);
    expect([reply.status, reply.json.error]).toEqual([401, "invalid_client"]);
  });

  test("malformed JSON comes with 200, and what it did is done", async () => {
    await setFault("malformed_json", METER, { count: 1 });
    const reply = await write("5");
    expect([reply.status, reply.json]).toEqual([200, undefined]);
    expect(reply.headers.get("content-type")).toContain("application/json");
    expect(await total()).toBe("5");
  });
});

describe("on the wire", () => {
  test("timeout: no answer until the client gives up, and nothing is done", async () => {
    await setFault("timeout", METER, { count: 1 });
    const reply = send(url + METER, { method: "POST", body: "{}", signal: AbortSignal.timeout(150) });
    await expect(reply).rejects.toThrow("timeout");
    expect(await total()).toBe("0");
  });

  test("slow: the answer is held back", async () => {
    await setFault("slow", USERS, { delayMs: 300, count: 1 });
    const impatient = send(url + USERS, { signal: AbortSignal.timeout(50) });
    await expect(impatient).rejects.toThrow("timeout");
    await setFault("slow", USERS, { delayMs: 20, count: 1 });
    expect((await call(USERS)).status).toBe(200);
  });

  test("lost reply: the write is done, the connection is gone", async () => {
    await setFault("lost_reply", `POST ${METER}`, { count: 1 });
    await expect(write("5")).rejects.toThrow("fetch failed");
    expect(await total()).toBe("5");
  });

  test("late write: the connection is gone at once, the write lands later, over a newer one", async () => {
    await setFault("late_write", `POST ${METER}`, { count: 1, lateMs: 150 });
    await expect(write("5")).rejects.toThrow("fetch failed");
    expect(await total()).toBe("0");
    await write("8");
    expect(await total()).toBe("8");
    await expect.poll(total).toBe("5");
  });
});

describe("in what an endpoint says or does", () => {
  test("already exists: refused in words, yet the write is there once", async () => {
    await setFault("already_exists", METER, { count: 1 });
    const reply = await write("5");
    expect(reply.status).toBe(400);
    expect(reply.json.errors[0]).toEqual({
      code: "METER_USAGE_ALREADY_EXISTS",
      message: "The meter usage already exists.",
    });
    expect(await total()).toBe("5");
  });

  test("a second writer adds its delta after ours", async () => {
    await setFault("second_writer", `POST ${METER}`, { count: 1, deltaUnits: 3 });
    expect((await write("5")).status).toBe(200);
    expect(await total()).toBe("8");
  });

  test("unlimited is spelled as null, missing or 2147483647", async () => {
    const path = "/api/v1/billing/entitlements";
    await setFault("unlimited_null", path, { count: 1 });
    await setFault("unlimited_missing", path, { count: 1 });
    expect((await entitlements()).entitlements[1]).not.toHaveProperty("entitlement_limit_max");
    expect((await entitlements()).entitlements[1].entitlement_limit_max).toBeNull();
    await setFault("unlimited_max_int", path, { count: 1 });
    const { entitlements: rows } = await entitlements();
    expect(rows.map((row: { entitlement_limit_max: number }) => row.entitlement_limit_max)).toEqual([
      10_000, 2_147_483_647,
    ]);
  });

  test("no entitlements at all", async () => {
    await setFault("empty_entitlements", "/api/v1/billing/*", { count: 1 });
    expect(await entitlements()).toMatchObject({ entitlements: [], has_more: false });
    expect((await entitlements()).entitlements).toHaveLength(2);
  });

  test("timestamps with a two-digit offset name the same instant", async () => {
    await setFault("two_digit_offset", "*", { count: 2 });
    expect((await entitlements("&expand=plans")).plans[0].subscribed_on).toBe("2026-10-05T20:00:00.000+11");
    expect((await call(USERS)).json.users[0].created_on).toBe("2026-10-05T20:00:00.000+11");
  });

  test("the key is rotated before the answer", async () => {
    await setFault("key_rotation", "/oauth2/token", { count: 1, retireOld: true });
    const before = (await call("/.well-known/jwks")).json.keys[0].kid;
    const { json } = await machineToken(url);
    const after = (await call("/.well-known/jwks")).json.keys;
    expect(after).toHaveLength(1);
    expect(after[0].kid).not.toBe(before);
    expect((await call(USERS)).status).toBe(401);
    expect((await bearer(url, json.access_token)(USERS)).status).toBe(200);
  });
});

describe("when a fault strikes", () => {
  const statuses = async (count: number) => {
    const seen: number[] = [];
    for (let index = 0; index < count; index += 1) seen.push((await call(USERS)).status);
    return seen;
  };

  test("the same seed gives the same hits and misses, another seed others", async () => {
    const run = async (seed: number) => {
      const id = await setFault("status_503", USERS, { probability: 0.5, seed });
      const seen = await statuses(24);
      await control(url)(`/control/faults?id=${id}`, undefined, "DELETE");
      return seen;
    };
    const first = await run(42);
    expect(first).toContain(200);
    expect(first).toContain(503);
    expect(await run(42)).toEqual(first);
    expect(await run(43)).not.toEqual(first);
  });

  test("a count ends it, and so does its time", async () => {
    await setFault("status_503", USERS, { count: 2 });
    expect(await statuses(4)).toEqual([503, 503, 200, 200]);
    await setFault("status_503", USERS, { durationMs: 1_000 });
    emulator.advance(999);
    expect(await statuses(2)).toEqual([503, 503]);
    emulator.advance(1);
    expect(await statuses(1)).toEqual([200]);
  });

  test("only its endpoint is struck; * at the end takes all below", async () => {
    await setFault("status_503", `GET ${METER}`);
    expect((await write("1")).status).toBe(200);
    expect((await call(`${METER}?x=1`)).status).toBe(503);
    await setFault("status_500", "/api/v1/billing/*");
    expect((await write("1")).status).toBe(500);
    expect((await call(USERS)).status).toBe(200);
  });

  test("the control API is never struck, and the list says what struck how often", async () => {
    await setFault("status_503", "*", { probability: 0.5, seed: 1 });
    const seen = await statuses(10);
    const { json } = await control(url)("/control/state");
    expect(json.faults).toMatchObject([
      { settings: { fault: "status_503" }, seen: 10, hits: seen.filter((status) => status === 503).length },
    ]);
    expect((await control(url)("/control/faults", undefined, "DELETE")).json.removed).toBe(1);
    expect(await statuses(1)).toEqual([200]);
  });
});
