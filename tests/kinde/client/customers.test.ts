import { beforeEach, expect, test } from "vitest";
import { AGREEMENTS_PATH, OK, START_MS, TOKEN_PATH, USER_PATH, failed, useBench } from "./fixtures.ts";
import { json, type Step } from "./scripted-server.ts";

const bench = useBench();
beforeEach(() => {
  bench.store.token = { accessToken: "good", expiresAtMs: START_MS + 3_600_000 };
});
const find = () => bench.client().findCustomer({ userId: "kp_1" });
const user = { id: "kp_1", preferred_email: "ada@example.com", billing: { customer_id: "customer_1" } };

test("the customer of a user is looked up with its billing part", async () => {
  bench.server.script(USER_PATH, user);
  expect(await find()).toEqual({ kind: "found", customerId: "customer_1", email: "ada@example.com" });
  expect(bench.server.seen[0]!.query).toEqual({ id: "kp_1", expand: "billing" });
});

test.each<[name: string, fields: object]>([
  ["no billing part", { billing: undefined }],
  ["null", { billing: null }],
  ["an empty part", { billing: {} }],
  ["a null id", { billing: { customer_id: null } }],
  ["an empty id", { billing: { customer_id: "" } }],
])("a user with %s has no customer yet", async (_name, fields) => {
  bench.server.script(USER_PATH, { ...user, ...fields });
  expect(await find()).toMatchObject({ kind: "found", customerId: null });
});

test("a user without an e-mail is found", async () => {
  bench.server.script(USER_PATH, { ...user, preferred_email: null });
  expect(await find()).toMatchObject({ kind: "found", email: null });
});

test.each<[name: string, step: Step]>([
  ["404", json(404, { errors: { code: "NOT_FOUND" } })],
  ["400 with a code", json(400, { errors: [{ code: "USER_NOT_FOUND", message: "?" }] })],
])("an unknown user: %s", async (_name, step) => {
  bench.server.script(USER_PATH, step);
  expect(await find()).toEqual({ kind: "not_found" });
});

test.each<[name: string, step: Step, expected: object]>([
  [
    "404 of a page that is not Kinde's",
    (response) => response.writeHead(404).end("<html>"),
    { code: "not_found" },
  ],
  [
    "404 about the route",
    json(404, { errors: { code: "ROUTE_NOT_FOUND", message: "no" } }),
    { code: "not_found", errorCode: "ROUTE_NOT_FOUND" },
  ],
  ["another refusal", json(400, { errors: [{ code: "INVALID_ID" }] }), { code: "rejected" }],
  [
    "another user",
    { ...user, id: "kp_2" },
    { code: "bad_answer", message: `GET ${USER_PATH}: it is about another user` },
  ],
  ["nobody", {}, { code: "bad_answer", message: `GET ${USER_PATH}: unexpected value at id` }],
  [
    "a customer that is a number",
    { ...user, billing: { customer_id: 7 } },
    { message: `GET ${USER_PATH}: unexpected value at billing.customer_id` },
  ],
])("an answer with %s is a failure", async (_name, step, expected) => {
  bench.server.script(USER_PATH, step);
  expect(await find()).toMatchObject({ kind: "failed", ...expected });
});

test("a 404 of the token endpoint is no missing user", async () => {
  bench.store.token = null;
  bench.server.script(TOKEN_PATH, json(404, { errors: { code: "NOT_FOUND" } }));
  expect(await find()).toMatchObject({ kind: "failed", code: "unauthorized", status: 404 });
});

test("agreements are read with their ends, all pages", async () => {
  bench.server.script(
    AGREEMENTS_PATH,
    {
      ...OK,
      has_more: true,
      agreements: [
        { id: "agreement_1", plan_code: "customer_free_plan", expires_on: "2026-10-05T20:00:00+11" },
        { id: "agreement_2", plan_code: "customer_pro_plan", expires_on: null, entitlements: [{}] },
      ],
    },
    { ...OK, has_more: false, agreements: [{ id: "agreement_3", plan_key: "customer_starter_plan" }] },
  );
  expect(await bench.client().readAgreements({ customerId: "customer_1" })).toEqual({
    kind: "read",
    sentAtMs: START_MS,
    agreements: [
      { id: "agreement_1", planKey: "customer_free_plan", expiresAtMs: Date.UTC(2026, 9, 5, 9) },
      { id: "agreement_2", planKey: "customer_pro_plan", expiresAtMs: null },
      { id: "agreement_3", planKey: "customer_starter_plan", expiresAtMs: null },
    ],
  });
  expect(bench.server.seen.map(({ query }) => query)).toEqual([
    { customer_id: "customer_1", page_size: "100" },
    { customer_id: "customer_1", page_size: "100", starting_after: "agreement_2" },
  ]);
});

test("agreements without a plan are a bad answer", async () => {
  bench.server.script(AGREEMENTS_PATH, { ...OK, has_more: false, agreements: [{ id: "agreement_1" }] });
  expect(await bench.client().readAgreements({ customerId: "customer_1" })).toEqual(
    failed({
      code: "bad_answer",
      status: 200,
      message: `GET ${AGREEMENTS_PATH}: unexpected value at agreements.0.plan_code`,
    }),
  );
});
