import { beforeEach, expect, test } from "vitest";
import type { KindeClientOptions } from "../../../lib/kinde/client.ts";
import { METER_PATH, OK, START_MS, TOKEN_PATH, failed, useBench } from "./fixtures.ts";
import { cut, cutInside, json, silent, type Step } from "./scripted-server.ts";

const bench = useBench();
beforeEach(() => {
  bench.store.token = { accessToken: "good", expiresAtMs: START_MS + 3_600_000 };
});
const meter = { agreementId: "agreement_1", featureKey: "clicks" };
const write = (options?: Partial<KindeClientOptions>) =>
  bench.client(options).writeMeter({ ...meter, totalUnits: 42 });
const POST = `POST ${METER_PATH}`;

test("a total is written as an absolute value in text", async () => {
  bench.server.script(METER_PATH, OK, OK);
  expect(await write()).toEqual({ kind: "written" });
  await bench.client().writeMeter({ ...meter, totalUnits: Number.MAX_SAFE_INTEGER, atMs: START_MS });
  const [first, second] = bench.server.seen;
  expect(first!.method).toBe("POST");
  expect(first!.headers["content-type"]).toBe("application/json");
  expect(first!.headers["authorization"]).toBe("Bearer good");
  expect(JSON.parse(first!.body)).toEqual({
    customer_agreement_id: "agreement_1",
    billing_feature_code: "clicks",
    meter_value: "42",
    meter_type_code: "absolute",
  });
  expect(JSON.parse(second!.body)).toMatchObject({
    meter_value: "9007199254740991",
    meter_usage_timestamp: "2026-10-05T09:00:00.000Z",
  });
});

test.each([-1, 0.5, 2 ** 53, Number.NaN])(
  "a total of %s is a fault of the caller and is not sent",
  (totalUnits) => {
    expect(() => bench.client().writeMeter({ ...meter, totalUnits })).toThrow("totalUnits");
  },
);

test.each<[name: string, step: Step]>([
  ["409", json(409, { errors: [{ code: "CONFLICT" }] })],
  ["400 with a code", json(400, { errors: [{ code: "METER_USAGE_ALREADY_EXISTS", message: "no" }] })],
  ["400 with a text", json(400, { errors: [{ code: "INVALID", message: "This record already exists." }] })],
  ["422 with an object", json(422, { errors: { code: "ALREADY_EXISTS" } })],
])("B23: the provider's word that the write exists counts as delivered: %s", async (_name, step) => {
  bench.server.script(METER_PATH, step);
  expect(await write()).toEqual({ kind: "already_there" });
});

test.each<[name: string, step: Step, expected: object]>([
  ["a cut connection", cut, { code: "unreachable", committed: "unknown" }],
  ["a cut answer", cutInside, { code: "unreachable", committed: "unknown", status: 200 }],
  ["no answer", silent, { code: "timeout", committed: "unknown", message: `${POST}: no answer in 1000 ms` }],
  ["500", json(500, {}), { code: "server_error", committed: "unknown", status: 500 }],
  ["502", json(502, {}), { code: "server_error", committed: "unknown", status: 502 }],
  [
    "an answer that is not JSON",
    (response) => response.end("done"),
    { code: "bad_answer", committed: "unknown" },
  ],
  ["a success with errors", { errors: [{ code: "NO" }] }, { code: "bad_answer", committed: "unknown" }],
  [
    "a redirect",
    (response) => response.writeHead(303, { location: "/" }).end(),
    { code: "bad_answer", committed: "unknown" },
  ],
  [
    "400",
    json(400, { errors: [{ code: "INVALID_VALUE" }] }),
    { code: "rejected", committed: "no", errorCode: "INVALID_VALUE" },
  ],
  ["403", json(403, { errors: [{ code: "SCOPE_MISSING" }] }), { code: "forbidden", committed: "no" }],
  ["404", json(404, { errors: {} }), { code: "not_found", committed: "no" }],
  ["429", json(429, {}), { code: "rate_limited", committed: "no", retryAfterMs: null }],
  [
    "429 with a wait",
    json(429, {}, { "ratelimit-reset": "2" }),
    { code: "rate_limited", committed: "no", retryAfterMs: 2_000 },
  ],
])("a write that meets %s is sent once and says whether it may count", async (_name, step, expected) => {
  bench.server.script(METER_PATH, step);
  expect(await write(step === silent ? { callTimeoutMs: 1_000 } : {})).toMatchObject({
    kind: "failed",
    ...expected,
  });
  expect(bench.server.seen).toHaveLength(1);
  expect(bench.slept).toEqual([]);
});

test("a write whose token cannot be had was not sent", async () => {
  bench.store.token = null;
  bench.server.script(TOKEN_PATH, json(429, {}, { "ratelimit-reset": "60" }));
  expect(await write()).toEqual(
    failed({
      code: "rate_limited",
      status: 429,
      retryAfterMs: 60_000,
      message: `POST ${TOKEN_PATH}: it answered 429`,
    }),
  );
});

test("a 409 of the token endpoint is no meter that is written already", async () => {
  bench.store.token = null;
  bench.server.script(TOKEN_PATH, json(409, { errors: [{ code: "ALREADY_EXISTS" }] }));
  expect(await write()).toMatchObject({ kind: "failed", code: "unauthorized", committed: "no" });
});

const record = (id: string, value: unknown) => ({
  id,
  meter_value: value,
  meter_type_code: "absolute",
  meter_usage_timestamp: "2026-10-05T09:00:00+00",
  created_on: "2026-10-05T09:00:01.123456Z",
  cycle_start: "2026-10-01",
});
const usage = (total: unknown, records: object[] | null, hasMore?: boolean) => ({
  ...OK,
  usage: { current_total: total, records, has_more: hasMore },
});

test("a meter is read with its records, by one request that leaves closed cycles out", async () => {
  bench.server.script(METER_PATH, usage("42", [record("r1", "42"), record("r2", "-3.5")], true));
  expect(await bench.client().readMeter(meter)).toEqual({
    kind: "read",
    sentAtMs: START_MS,
    totalUnits: 42,
    truncated: true,
    records: [
      {
        id: "r1",
        value: "42",
        type: "absolute",
        usedAtMs: Date.UTC(2026, 9, 5, 9),
        createdAtMs: Date.UTC(2026, 9, 5, 9, 0, 1, 123),
        cycleStartMs: Date.UTC(2026, 9, 1),
      },
      expect.objectContaining({ id: "r2", value: "-3.5" }),
    ],
  });
  expect(bench.server.seen[0]!.method).toBe("GET");
  expect(bench.server.seen[0]!.query).toEqual({
    customer_agreement_id: "agreement_1",
    billing_feature_code: "clicks",
    page_size: "100",
  });
});

test("the records of all cycles are read page after page", async () => {
  bench.server.script(
    METER_PATH,
    usage("42", [record("r1", "1"), record("r2", "2")], true),
    usage("42", [record("r3", "3")], false),
  );
  const answer = await bench.client().readMeter({ ...meter, allCycles: true });
  expect(answer).toMatchObject({
    totalUnits: 42,
    truncated: false,
    records: [{ id: "r1" }, { id: "r2" }, { id: "r3" }],
  });
  expect(bench.server.seen.map(({ query }) => [query["all_cycles"], query["starting_after"]])).toEqual([
    ["true", undefined],
    ["true", "r2"],
  ]);
});

test.each<[total: unknown, units: number]>([
  ["0", 0],
  ["42.0", 42],
  [42, 42],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
])("a total of %j is %s units", async (total, units) => {
  bench.server.script(METER_PATH, usage(total, null));
  expect(await bench.client().readMeter(meter)).toMatchObject({
    totalUnits: units,
    records: [],
    truncated: false,
  });
});

test.each(["", "-1", "1.5", "9007199254740992", "1e3", "0x10", " 1", null, undefined, 0.5, -1])(
  "a total of %j is a bad answer",
  async (total) => {
    bench.server.script(METER_PATH, usage(total, []));
    expect(await bench.client().readMeter(meter)).toEqual(
      failed({
        code: "bad_answer",
        status: 200,
        message: `GET ${METER_PATH}: unexpected value at usage.current_total`,
      }),
    );
  },
);

test("a tenant that has no such read says not_found", async () => {
  bench.server.script(METER_PATH, json(404, { errors: { code: "ROUTE_NOT_FOUND" } }));
  expect(await bench.client().readMeter(meter)).toMatchObject({ code: "not_found", status: 404 });
});
