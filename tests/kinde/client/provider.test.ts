import { beforeEach, expect, test } from "vitest";
import { fixedProvider, type MeterRef } from "../../../lib/gate/provider.ts";
import { kindeProvider } from "../../../lib/kinde/provider.ts";
import { ENTITLEMENTS_PATH, METER_PATH, OK, START_MS, emptyEntitlements, row, useBench } from "./fixtures.ts";
import { cut, json } from "./scripted-server.ts";

const bench = useBench();
beforeEach(() => {
  bench.store.token = { accessToken: "good", expiresAtMs: START_MS + 3_600_000 };
});
const provider = (customerId: string | null = "customer_1") =>
  kindeProvider(bench.client({ attemptsMax: 1 }), {
    customerIdOf: async (id) => (id === "account_1" ? customerId : null),
  });
const meter: MeterRef = {
  accountId: "account_1",
  feature: "clicks",
  agreementId: "agreement_1",
  cycle: "2026-10",
  cycleStartMs: Date.UTC(2026, 9, 1),
};
const LATER_MS = START_MS + 60_000;

test.each<[name: string, entitlements: object[], limitUnits: number | null]>([
  ["a maximum", [row("e1", "tokens", 30_000), row("e2", "clicks", 5)], 30_000],
  ["no maximum", [row("e1", "tokens", null)], null],
  ["no entitlement to the feature", [row("e1", "clicks", null)], 0],
  ["nothing at all", [], 0],
])("the limit of a customer with %s", async (_name, entitlements, limitUnits) => {
  bench.server.script(ENTITLEMENTS_PATH, { ...emptyEntitlements, entitlements });
  expect(await provider().readLimit("account_1", "tokens")).toMatchObject({ kind: "read", limitUnits });
  expect(bench.server.seen[0]!.query["customer_id"]).toBe("customer_1");
});

test("an account without a customer cannot be read, and nobody is asked", async () => {
  expect(await provider(null).readLimit("account_1", "tokens")).toEqual({
    kind: "failed",
    reason: "the account has no Kinde customer yet",
  });
});

test("a provider that cannot be reached is a failed read", async () => {
  bench.server.script(ENTITLEMENTS_PATH, cut);
  expect(await provider().readLimit("account_1", "tokens")).toEqual({
    kind: "failed",
    reason: `GET ${ENTITLEMENTS_PATH}: the connection was lost`,
  });
});

test("a total is set and read at the agreement", async () => {
  bench.server.script(METER_PATH, OK, { ...OK, usage: { current_total: "7", records: [] } });
  expect(await provider().setTotal(meter, 7, LATER_MS)).toEqual({ kind: "set" });
  expect(await provider().readTotal(meter)).toEqual({ kind: "read", totalUnits: 7 });
  expect(JSON.parse(bench.server.seen[0]!.body)).toMatchObject({
    customer_agreement_id: "agreement_1",
    billing_feature_code: "clicks",
    meter_value: "7",
  });
});

test("a total that is there already is set", async () => {
  bench.server.script(METER_PATH, json(409, {}));
  expect(await provider().setTotal(meter, 7, LATER_MS)).toEqual({ kind: "set" });
});

test("a failed write says when to come back and whether it may count", async () => {
  bench.server.script(METER_PATH, json(429, {}, { "ratelimit-reset": "9" }), cut);
  expect(await provider().setTotal(meter, 7, LATER_MS)).toMatchObject({
    kind: "failed",
    retryAfterMs: 9_000,
    committed: "no",
  });
  expect(await provider().setTotal(meter, 7, LATER_MS)).toMatchObject({
    kind: "failed",
    committed: "unknown",
  });
});

test("a write that would start too late is not made", async () => {
  expect(await provider().setTotal(meter, 7, START_MS)).toMatchObject({ kind: "failed", committed: "no" });
  expect(bench.server.seen).toEqual([]);
});

test("a refusal is told from what another try may mend", async () => {
  bench.server.script(METER_PATH, json(400, {}), json(404, {}), json(503, {}));
  for (const isRefused of [true, true, false]) {
    expect(await provider().setTotal(meter, 7, LATER_MS)).toMatchObject({ kind: "failed", isRefused });
  }
});

test("an account without an agreement has no meter", async () => {
  const none = { ...meter, agreementId: null };
  const expected = { kind: "no_meter", reason: "the account has no agreement to meter clicks under" };
  expect(await provider().setTotal(none, 7, LATER_MS)).toEqual(expected);
  expect(await provider().readTotal(none)).toEqual(expected);
});

test("a limit comes with the plan that started last, and with the first start", async () => {
  const plans = [
    { code: "customer_pro_plan", subscribed_on: "2026-03-05T09:00:00+11" },
    { code: "customer_free_plan", subscribed_on: "2026-02-03" },
    { code: "customer_old_plan" },
  ];
  bench.server.script(ENTITLEMENTS_PATH, { ...emptyEntitlements, plans });
  expect(await provider().readLimit("account_1", "tokens")).toMatchObject({
    planKey: "customer_pro_plan",
    subscribedAtMs: Date.UTC(2026, 1, 3),
  });
});

test("the fixed provider keeps totals where it is given a place for them", async () => {
  const totals = new Map<string, number>();
  const fixed = fixedProvider(async () => null, {
    read: async ({ feature, cycle }) => totals.get(`${feature} ${cycle}`) ?? null,
    write: async ({ feature, cycle }, totalUnits) => void totals.set(`${feature} ${cycle}`, totalUnits),
  });
  expect(await fixed.readTotal(meter)).toEqual({ kind: "read", totalUnits: 0 });
  expect(await fixed.setTotal(meter, 12, LATER_MS)).toEqual({ kind: "set" });
  expect(await fixed.readTotal(meter)).toEqual({ kind: "read", totalUnits: 12 });
});

test("the fixed provider without such a place says that it has no meter", async () => {
  const fixed = fixedProvider(async () => ({ limitUnits: 1 }));
  expect(await fixed.setTotal(meter, 12, LATER_MS)).toMatchObject({ kind: "no_meter" });
  expect(await fixed.readTotal(meter)).toMatchObject({ kind: "no_meter" });
});
