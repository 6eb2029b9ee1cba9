import { beforeEach, expect, test } from "vitest";
import { limitOf } from "../../../lib/kinde/entitlements.ts";
import { PAGES_MAX } from "../../../lib/kinde/paging.ts";
import { ENTITLEMENTS_PATH, OK, START_MS, emptyEntitlements, failed, row, useBench } from "./fixtures.ts";
import { json } from "./scripted-server.ts";

const bench = useBench();
beforeEach(() => {
  bench.store.token = { accessToken: "good", expiresAtMs: START_MS + 3_600_000 };
});
const ask = () => bench.client().readEntitlements({ customerId: "customer_1 &x" });

test("plans and entitlements are read with their instants and limits", async () => {
  bench.server.script(ENTITLEMENTS_PATH, {
    ...OK,
    has_more: false,
    plans: [{ code: "customer_pro_plan", subscribed_on: "2026-10-05T09:00:00+00" }],
    entitlements: [
      { ...row("entitlement_1", "tokens", 100_000), unit_amount: 0.25, fixed_charge: null, surprise: {} },
      row("entitlement_2", "clicks", null),
    ],
  });
  expect(await ask()).toEqual({
    kind: "read",
    sentAtMs: START_MS,
    plans: [{ key: "customer_pro_plan", subscribedAtMs: Date.UTC(2026, 9, 5, 9) }],
    entitlements: [
      { featureKey: "tokens", limitUnits: 100_000 },
      { featureKey: "clicks", limitUnits: null },
    ],
  });
  const [request] = bench.server.seen;
  expect(request!.query).toEqual({ customer_id: "customer_1 &x", expand: "plans", page_size: "100" });
  expect(request!.headers["accept"]).toBe("application/json");
});

test.each<[name: string, fields: object, limitUnits: number | null]>([
  ["null", { entitlement_limit_max: null }, null],
  ["missing", {}, null],
  ["2147483647", { entitlement_limit_max: 2_147_483_647 }, null],
  ["one less than that", { entitlement_limit_max: 2_147_483_646 }, 2_147_483_646],
  ["zero", { entitlement_limit_max: 0 }, 0],
  ["2^53 - 1", { entitlement_limit_max: Number.MAX_SAFE_INTEGER }, Number.MAX_SAFE_INTEGER],
])("a maximum that is %s", async (_name, fields, limitUnits) => {
  const entitlements = [{ id: "entitlement_1", feature_code: "tokens", ...fields }];
  bench.server.script(ENTITLEMENTS_PATH, { ...emptyEntitlements, entitlements });
  expect(await ask()).toMatchObject({ entitlements: [{ featureKey: "tokens", limitUnits }] });
});

test.each<[name: string, max: string]>([
  ["a fraction", "0.5"],
  ["negative", "-1"],
  ["past 2^53 - 1", "9007199254740993"],
  ["text", '"500"'],
  ["infinite", "1e999"],
])("a maximum that is %s is a bad answer", async (_name, max) => {
  bench.server.script(ENTITLEMENTS_PATH, (response) =>
    response.end(
      `{"has_more":false,"entitlements":[{"id":"e","feature_code":"tokens","entitlement_limit_max":${max}}]}`,
    ),
  );
  expect(await ask()).toEqual(
    failed({
      code: "bad_answer",
      status: 200,
      message: `GET ${ENTITLEMENTS_PATH}: unexpected value at entitlements.0.entitlement_limit_max`,
    }),
  );
});

test.each<[name: string, body: object, plans: object[], featureKeys: string[]]>([
  ["plans left out", { entitlements: [], plans: undefined }, [], []],
  ["lists as null", { entitlements: null, plans: null }, [], []],
  [
    "keys in place of codes",
    {
      plans: [{ key: "customer_pro_plan", name: "Pro", subscribed_on: "2026-10-05" }],
      entitlements: [{ id: "e", feature_key: "tokens" }],
    },
    [{ key: "customer_pro_plan", subscribedAtMs: Date.UTC(2026, 9, 5) }],
    ["tokens"],
  ],
  [
    "a key beside an opaque code",
    { entitlements: [{ id: "e", feature_key: "tokens", feature_code: "CcdkvEXpbg6UY" }] },
    [],
    ["tokens"],
  ],
  [
    "a plan without a date",
    { plans: [{ code: "customer_free_plan", subscribed_on: null }], entitlements: [] },
    [{ key: "customer_free_plan", subscribedAtMs: null }],
    [],
  ],
])("%s is understood", async (_name, body, plans, featureKeys) => {
  bench.server.script(ENTITLEMENTS_PATH, { ...emptyEntitlements, ...body });
  const entitlements = featureKeys.map((featureKey) => ({ featureKey, limitUnits: null }));
  expect(await ask()).toEqual({ kind: "read", sentAtMs: START_MS, plans, entitlements });
});

test.each<[name: string, body: object | null, where: string]>([
  ["no list at all", { has_more: false }, "unexpected value at entitlements"],
  ["no word on further pages", { entitlements: [] }, "unexpected value at has_more"],
  [
    "an entitlement without a feature",
    { ...emptyEntitlements, entitlements: [{ id: "e" }] },
    "unexpected value at entitlements.0.feature_code",
  ],
  ["a plan without a code", { ...emptyEntitlements, plans: [{}] }, "unexpected value at plans.0.code"],
  [
    "a time that is none",
    { ...emptyEntitlements, plans: [{ code: "p", subscribed_on: "soon" }] },
    "unexpected value at plans.0.subscribed_on",
  ],
  ["an array", [], "unexpected value at the top"],
  ["null", null, "unexpected value at the top"],
])("%s is a bad answer that names the place", async (_name, body, where) => {
  bench.server.script(ENTITLEMENTS_PATH, json(200, body));
  expect(await ask()).toEqual(
    failed({ code: "bad_answer", status: 200, message: `GET ${ENTITLEMENTS_PATH}: ${where}` }),
  );
});

test.each([
  ["text", "<html>"],
  ["nothing", ""],
  ["half an object", '{"has_more":'],
])("%s in place of JSON is a bad answer", async (_name, body) => {
  bench.server.script(ENTITLEMENTS_PATH, (response) => response.end(body));
  expect(await ask()).toMatchObject({
    code: "bad_answer",
    message: `GET ${ENTITLEMENTS_PATH}: the answer is not JSON`,
  });
});

const page = (ids: string[], hasMore: boolean) => ({
  ...OK,
  has_more: hasMore,
  plans: [{ code: "customer_pro_plan", subscribed_on: null }],
  entitlements: ids.map((id) => row(id, `feature_${id}`, 1)),
});

test("every page is read, each after the last id of the one before", async () => {
  bench.server.script(
    ENTITLEMENTS_PATH,
    (response) => {
      bench.clockMs += 5_000;
      json(200, page(["a", "b"], true))(response);
    },
    page(["b", "c"], true),
    page([], false),
  );
  const answer = await ask();
  expect(answer).toMatchObject({
    kind: "read",
    sentAtMs: START_MS,
    plans: [{ key: "customer_pro_plan", subscribedAtMs: null }],
    entitlements: [{ featureKey: "feature_a" }, { featureKey: "feature_b" }, { featureKey: "feature_c" }],
  });
  expect(bench.server.seen.map((request) => request.query["starting_after"])).toEqual([undefined, "b", "c"]);
  expect(bench.server.seen.every((request) => request.query["page_size"] === "100")).toBe(true);
});

test("a page that repeats its cursor ends the read", async () => {
  bench.server.script(ENTITLEMENTS_PATH, page(["a"], true), page(["a"], true));
  expect(await ask()).toMatchObject({
    code: "bad_answer",
    message: `GET ${ENTITLEMENTS_PATH}: the same page came twice`,
  });
});

test("an empty page that says there is more ends the read", async () => {
  bench.server.script(ENTITLEMENTS_PATH, page([], true));
  expect(await ask()).toMatchObject({ code: "bad_answer" });
});

test("a list without end is read up to the stated number of pages and refused", async () => {
  let next = 0;
  bench.server.always(ENTITLEMENTS_PATH, (response) => json(200, page([`e${next++}`], true))(response));
  expect(await ask()).toMatchObject({
    code: "bad_answer",
    message: `GET ${ENTITLEMENTS_PATH}: more than 2000 items`,
  });
  expect(bench.server.seen).toHaveLength(PAGES_MAX);
});

test("the pages of one read share its budget", async () => {
  bench.server.script(ENTITLEMENTS_PATH, (response) => {
    bench.elapsedMs += 8_000;
    json(200, page(["a"], true))(response);
  });
  expect(await ask()).toEqual(
    failed({ code: "timeout", message: `GET ${ENTITLEMENTS_PATH}: no time was left to send it` }),
  );
});

test.each<[name: string, limits: (number | null)[], expected: object]>([
  ["one", [500], { kind: "limit", limitUnits: 500 }],
  ["unlimited", [null], { kind: "limit", limitUnits: null }],
  ["zero", [0], { kind: "limit", limitUnits: 0 }],
  ["two, of which the larger counts", [10, 30], { kind: "limit", limitUnits: 30 }],
  ["two, one of them unlimited", [10, null], { kind: "limit", limitUnits: null }],
  ["none", [], { kind: "none" }],
])("the limit of a feature with entitlements: %s", (_name, limits, expected) => {
  const entitlements = limits.map((limitUnits) => ({ featureKey: "tokens", limitUnits }));
  expect(limitOf([{ featureKey: "clicks", limitUnits: 7 }, ...entitlements], "tokens")).toEqual(expected);
});
