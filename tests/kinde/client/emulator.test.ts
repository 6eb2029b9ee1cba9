import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { DAY_MS } from "../../../lib/shared/durations.ts";
import type { Failure } from "../../../lib/kinde/failure.ts";
import { ENDING_FAULTS, PASSING_FAULTS, SHAPE_FAULTS } from "../../../lib/kinde/emulator/fault-kinds.ts";
import { EMAIL, useEmulator } from "./emulator-bench.ts";
import { AGREEMENTS_PATH, ENTITLEMENTS_PATH, METER_PATH, TOKEN_PATH, USER_PATH } from "./fixtures.ts";

/** The client against the emulator over HTTP: every fault that the emulator knows, where it can strike the client. */

const bench = useEmulator();

const GET_ENTITLEMENTS = `GET ${ENTITLEMENTS_PATH}`;
const POST_METER = `POST ${METER_PATH}`;
const POST_TOKEN = `POST ${TOKEN_PATH}`;

const readEntitlements = (client = bench.client()) =>
  client.readEntitlements({ customerId: bench.customer.customerId });
const meter = () => ({ agreementId: bench.customer.agreementId, featureKey: "clicks" });
const write = (totalUnits: number, client = bench.client()) => client.writeMeter({ ...meter(), totalUnits });
async function total(): Promise<number> {
  const answer = await bench.client().readMeter(meter());
  if (answer.kind === "failed") throw new Error(answer.message);
  return answer.totalUnits;
}
const free = {
  kind: "read",
  plans: [{ key: "customer_free_plan", subscribedAtMs: Date.UTC(2026, 9, 5, 9) }],
  entitlements: [
    { featureKey: "tokens", limitUnits: 10_000 },
    { featureKey: "clicks", limitUnits: null },
  ],
};

test("a new user is found with a customer and an e-mail", async () => {
  const answer = await bench.client().findCustomer({ userId: bench.customer.userId });
  expect(answer).toEqual({ kind: "found", customerId: bench.customer.customerId, email: EMAIL });
  expect(await bench.client().findCustomer({ userId: "kp_nobody" })).toEqual({ kind: "not_found" });
});

test("a plan change brings a new agreement and new limits", async () => {
  expect(await readEntitlements()).toMatchObject(free);
  const agreementId = await bench.changePlan("customer_pro_plan");
  expect(agreementId).not.toBe(bench.customer.agreementId);
  expect(await readEntitlements()).toMatchObject({
    plans: [{ key: "customer_pro_plan" }],
    entitlements: [{ featureKey: "tokens", limitUnits: 100_000 }, { featureKey: "clicks" }],
  });
  expect(await bench.client().readAgreements({ customerId: bench.customer.customerId })).toMatchObject({
    agreements: [
      { id: agreementId, planKey: "customer_pro_plan", expiresAtMs: null },
      { id: bench.customer.agreementId, planKey: "customer_free_plan", expiresAtMs: bench.emulator.nowMs() },
    ],
  });
});

test("more agreements than a page holds are all read", async () => {
  const ids = [bench.customer.agreementId];
  for (let change = 0; change < 120; change += 1) {
    ids.push(await bench.changePlan(change % 2 === 0 ? "customer_pro_plan" : "customer_free_plan"));
  }
  const answer = await bench.client().readAgreements({ customerId: bench.customer.customerId });
  expect(answer.kind === "read" && answer.agreements.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
});

test("a total is written, written again and read back with its records", async () => {
  expect(await write(5)).toEqual({ kind: "written" });
  expect(await write(5)).toEqual({ kind: "written" });
  expect(await write(4)).toEqual({ kind: "written" });
  expect(await bench.client().readMeter(meter())).toMatchObject({
    totalUnits: 4,
    truncated: false,
    records: ["4", "5", "5"].map((value) => ({ value, type: "absolute", usedAtMs: bench.emulator.nowMs() })),
  });
});

test("the records of a closed cycle are read when all cycles are asked for", async () => {
  const startMs = bench.emulator.nowMs();
  await write(5);
  bench.emulator.advance(32 * DAY_MS);
  await write(2);
  expect(await bench.client().readMeter(meter())).toMatchObject({ totalUnits: 2, records: [{ value: "2" }] });
  const all = await bench.client().readMeter({ ...meter(), allCycles: true });
  expect(all).toMatchObject({ totalUnits: 2, records: [{ value: "2" }, { value: "5" }] });
  await bench.client().writeMeter({ ...meter(), totalUnits: 9, atMs: startMs });
  expect(await total()).toBe(2);
});

test.each<[name: string, call: () => Promise<unknown>, expected: Partial<Failure>]>([
  [
    "an unknown customer",
    () => bench.client().readEntitlements({ customerId: "customer_none" }),
    { kind: "failed" },
  ],
  [
    "an unknown agreement",
    () => bench.client().writeMeter({ agreementId: "agreement_none", featureKey: "clicks", totalUnits: 1 }),
    { code: "not_found", committed: "no", errorCode: "AGREEMENT_NOT_FOUND" },
  ],
  [
    "a feature without a meter",
    () => bench.client().writeMeter({ ...meter(), featureKey: "nothing", totalUnits: 1 }),
    { code: "rejected", committed: "no", errorCode: "FEATURE_NOT_METERED" },
  ],
  [
    "a wrong secret",
    () => readEntitlements(bench.client({ clientSecret: "wrong" })),
    { code: "unauthorized", status: 401, errorCode: "invalid_client" },
  ],
  [
    "an unknown audience",
    () => readEntitlements(bench.client({ audience: "https://other.kinde.com/api" })),
    { code: "unauthorized", errorCode: "unauthorized_client" },
  ],
])("%s is refused", async (_name, call, expected) => {
  expect(await call()).toMatchObject(expected);
});

const PASSES = [
  "rate_limited",
  "rate_limited_without_reset",
  "status_500",
  "status_502",
  "status_503",
] as const;
/** The faults of one request that a read gets over by asking again. `lost_reply` and `late_write` cut the connection. */
test.each([...PASSES, "lost_reply", "late_write"])("a read gets over %s", async (fault) => {
  await bench.fault(GET_ENTITLEMENTS, fault, { count: 2, lateMs: 0 });
  expect(await readEntitlements()).toMatchObject(free);
  expect(bench.slept).toHaveLength(2);
});

test("a read gets over a request that hangs", async () => {
  await bench.fault(GET_ENTITLEMENTS, "timeout", { count: 1 });
  expect(await readEntitlements(bench.client({ callTimeoutMs: 1_000 }))).toMatchObject(free);
});

test("a read waits for a slow answer", async () => {
  await bench.fault(GET_ENTITLEMENTS, "slow", { count: 1, delayMs: 50 });
  expect(await readEntitlements()).toMatchObject(free);
  expect(bench.slept).toEqual([]);
});

test.each<[fault: string, expected: Partial<Failure>]>([
  [
    "rate_limited",
    { code: "rate_limited", status: 429, retryAfterMs: 30_000, errorCode: "TOO_MANY_REQUESTS" },
  ],
  ["rate_limited_without_reset", { code: "rate_limited", status: 429, retryAfterMs: null }],
  ["status_500", { code: "server_error", status: 500 }],
  ["status_502", { code: "server_error", status: 502 }],
  ["status_503", { code: "server_error", status: 503 }],
  ["unauthorized", { code: "unauthorized", status: 401 }],
  ["forbidden", { code: "forbidden", status: 403, errorCode: "SCOPE_MISSING" }],
  ["timeout", { code: "timeout", status: null }],
  ["lost_reply", { code: "unreachable", status: null }],
  ["late_write", { code: "unreachable", status: null }],
  ["malformed_json", { code: "bad_answer", status: 200 }],
])("under a lasting %s every read fails, and says so in its own words", async (fault, expected) => {
  await bench.fault("/api/v1/*", fault, { resetSeconds: 30, lateMs: 0 });
  const options = { callTimeoutMs: fault === "timeout" ? 100 : 5_000, attemptsMax: 2 };
  const client = bench.client(options);
  const { customerId } = bench.customer;
  const answers: [path: string, answer: unknown][] = [
    [USER_PATH, await client.findCustomer({ userId: bench.customer.userId })],
    [ENTITLEMENTS_PATH, await client.readEntitlements({ customerId })],
    [AGREEMENTS_PATH, await client.readAgreements({ customerId })],
    [METER_PATH, await client.readMeter(meter())],
  ];
  for (const [path, answer] of answers) {
    expect(answer).toMatchObject({ kind: "failed", committed: "no", ...expected });
    expect((answer as Failure).message).toMatch(new RegExp(`^GET ${path}: `));
  }
});

test.each([...PASSES, "lost_reply"])("a token is had in spite of %s", async (fault) => {
  await bench.fault(POST_TOKEN, fault, { count: 2 });
  expect(await readEntitlements()).toMatchObject(free);
  expect(bench.slept).toHaveLength(2);
});

test.each<[fault: string, expected: Partial<Failure>]>([
  ["rate_limited", { code: "rate_limited", retryAfterMs: 30_000 }],
  ["unauthorized", { code: "unauthorized", errorCode: "invalid_client" }],
  ["forbidden", { code: "forbidden", errorCode: "unauthorized_client" }],
  ["timeout", { code: "timeout" }],
  ["malformed_json", { code: "bad_answer" }],
])("a write whose token meets a lasting %s was not committed", async (fault, expected) => {
  await bench.fault(POST_TOKEN, fault, { resetSeconds: 30 });
  const client = bench.client({ callTimeoutMs: 500, attemptsMax: 1 });
  expect(await write(3, client)).toMatchObject({ kind: "failed", committed: "no", ...expected });
  await bench.clearFaults();
  expect(await total()).toBe(0);
});

test("a token that is refused once is replaced", async () => {
  await bench.fault(GET_ENTITLEMENTS, "unauthorized", { count: 1 });
  expect(await readEntitlements()).toMatchObject(free);
});

test("keys that rotate and keep the old ones change nothing; without the old ones the token is replaced", async () => {
  const client = bench.client();
  await readEntitlements(client);
  const first = bench.store.token;
  await bench.fault(GET_ENTITLEMENTS, "key_rotation", { count: 1 });
  expect(await readEntitlements(client)).toMatchObject(free);
  expect(bench.store.token).toEqual(first);
  await bench.fault(GET_ENTITLEMENTS, "key_rotation", { count: 1, retireOld: true });
  expect(await readEntitlements(client)).toMatchObject(free);
  expect(bench.store.token).not.toEqual(first);
});

test.each(["unlimited_null", "unlimited_missing", "unlimited_max_int", "two_digit_offset"])(
  "entitlements mean the same under %s",
  async (fault) => {
    await bench.fault(GET_ENTITLEMENTS, fault);
    expect(await readEntitlements()).toMatchObject(free);
  },
);

test("offsets of two digits are understood in agreements and meters", async () => {
  await bench.fault("*", "two_digit_offset");
  await bench.changePlan("customer_pro_plan");
  await write(5);
  const client = bench.client();
  expect(await client.readAgreements({ customerId: bench.customer.customerId })).toMatchObject({
    agreements: [{ expiresAtMs: null }, { expiresAtMs: bench.emulator.nowMs() }],
  });
  const agreement = { agreementId: await bench.changePlan("customer_free_plan"), featureKey: "clicks" };
  await client.writeMeter({ ...agreement, totalUnits: 1 });
  expect(await client.readMeter(agreement)).toMatchObject({
    records: [{ usedAtMs: bench.emulator.nowMs() }],
  });
});

test("a list of entitlements that is empty is read as such", async () => {
  await bench.fault(GET_ENTITLEMENTS, "empty_entitlements");
  expect(await readEntitlements()).toMatchObject({ kind: "read", entitlements: [] });
});

test.each<[fault: string, expected: Partial<Failure>, total: number]>([
  ["rate_limited", { code: "rate_limited", committed: "no", retryAfterMs: 30_000 }, 0],
  ["rate_limited_without_reset", { code: "rate_limited", committed: "no", retryAfterMs: null }, 0],
  ["status_500", { code: "server_error", committed: "unknown" }, 0],
  ["status_502", { code: "server_error", committed: "unknown" }, 0],
  ["status_503", { code: "server_error", committed: "unknown" }, 0],
  ["forbidden", { code: "forbidden", committed: "no" }, 0],
  ["timeout", { code: "timeout", committed: "unknown" }, 0],
  ["lost_reply", { code: "unreachable", committed: "unknown" }, 3],
  ["malformed_json", { code: "bad_answer", committed: "unknown" }, 3],
])(
  "a write that meets %s is sent once and tells whether it may count",
  async (fault, expected, totalUnits) => {
    const client = bench.client({ callTimeoutMs: fault === "timeout" ? 500 : 5_000 });
    await client.readMeter(meter());
    await bench.fault(POST_METER, fault, { resetSeconds: 30 });
    expect(await write(3, client)).toMatchObject({ kind: "failed", ...expected });
    expect(await bench.requests("POST", METER_PATH)).toBe(1);
    expect(bench.slept).toEqual([]);
    await bench.clearFaults();
    expect(await total()).toBe(totalUnits);
  },
);

test("a write that is refused for its token once is made with a new one, once", async () => {
  await bench.fault(POST_METER, "unauthorized", { count: 1 });
  expect(await write(3)).toEqual({ kind: "written" });
  expect(await bench.client().readMeter(meter())).toMatchObject({ totalUnits: 3, records: [{ value: "3" }] });
});

test("B45: a write that lands late undoes a newer total, which reading back shows", async () => {
  await bench.fault(POST_METER, "late_write", { count: 1, lateMs: 2_000 });
  expect(await write(3)).toMatchObject({ kind: "failed", code: "unreachable", committed: "unknown" });
  expect(await write(8)).toEqual({ kind: "written" });
  expect(await total()).toBe(8);
  await vi.waitFor(async () => expect(await total()).toBe(3), { timeout: 10_000, interval: 50 });
});

test("B23: a write that exists already is told from a failure", async () => {
  await bench.fault(POST_METER, "already_exists", { count: 1 });
  expect(await write(3)).toEqual({ kind: "already_there" });
  expect(await total()).toBe(3);
});

test("a second writer shows in the total that is read back", async () => {
  await bench.fault(POST_METER, "second_writer", { count: 1, deltaUnits: 7 });
  expect(await write(3)).toEqual({ kind: "written" });
  expect(await bench.client().readMeter(meter())).toMatchObject({
    totalUnits: 10,
    records: [
      { value: "7", type: "delta" },
      { value: "3", type: "absolute" },
    ],
  });
});

test("every fault of the emulator is in this file", () => {
  const text = readFileSync(import.meta.filename, "utf8");
  for (const fault of [...ENDING_FAULTS, ...PASSING_FAULTS, ...SHAPE_FAULTS])
    expect(text).toContain(`"${fault}"`);
});
