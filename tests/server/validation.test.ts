import { RUNNER_STEPS_MAX } from "../../lib/gate/request.ts";
import { describe, expect, test } from "vitest";
import { apiHarness } from "./helpers/api.ts";
import { ACCOUNT_ID, JOB_ID, job, limit, LINK_ID, REVIEW_ID } from "./helpers/samples.ts";

const api = await apiHarness();
const JSON_TYPE = { "content-type": "application/json" };
const BODY_BYTES_MAX = 65_536;
const UNITS_MAX = 9_007_199_254_740_991;

describe("text with half of a surrogate pair is invalid, and names the field: no database takes it", () => {
  const HALF = "\\ud800";
  test.each([
    ["POST", "/jobs", `{"key":"${HALF}","units":1}`, "key"],
    ["POST", "/jobs", `{"key":"k","units":1,"kind":"${HALF}"}`, "kind"],
    ["POST", "/links", `{"target":"https://example.com/${HALF}"}`, "target"],
    ["POST", "/links", `{"target":"https://example.com/","title":"${HALF}"}`, "title"],
    ["POST", "/links", `{"target":"https://example.com/","code":"${HALF}"}`, "code"],
    ["POST", "/links", `{"target":"https://example.com/","overCapTarget":"${HALF}"}`, "overCapTarget"],
    ["PATCH", `/links/${LINK_ID}`, `{"title":"${HALF}"}`, "title"],
    ["POST", "/reminders", `{"key":"k","text":"${HALF}","dueAtMs":1}`, "text"],
    ["POST", "/accounts", `{"name":"${HALF}"}`, "name"],
    ["POST", `/ops/reviews/${REVIEW_ID}/decide`, `{"decision":"accept","note":"${HALF}"}`, "note"],
    [
      "POST",
      "/jobs",
      `{"key":"k","units":1,"runner":{"steps":1,"stepUnits":1,"stepMs":1,"endAs":"${HALF}"}}`,
      "runner.endAs",
    ],
  ])("%s %s %s", async (method, path, raw, field) => {
    const answer = await api.call(path, { method, raw, headers: JSON_TYPE });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: "invalid", errors: [{ path: field }] });
    expect(api.convex.calls).toEqual([]);
  });
});

const goodBody = { key: "job-1", units: 1000 };

describe("a bad body is a 400 that names the path, and reaches nothing", () => {
  test.each<[name: string, body: unknown, path: string]>([
    ["an unknown field", { ...goodBody, colour: "red" }, "colour"],
    [
      "an unknown field inside",
      { ...goodBody, runner: { steps: 1, stepUnits: 1, stepMs: 1, x: 1 } },
      "runner.x",
    ],
    ["__proto__ as a field", JSON.parse('{"key":"k","units":1,"__proto__":{"a":1}}'), "__proto__"],
    ["a missing field", { key: "job-1" }, "units"],
    ["a number as text", { ...goodBody, units: "5" }, "units"],
    ["null for a number", { ...goodBody, units: null }, "units"],
    ["a list for a number", { ...goodBody, units: [5] }, "units"],
    ["a number for text", { ...goodBody, key: 5 }, "key"],
    ["empty text", { ...goodBody, key: "" }, "key"],
    ["text that is too long", { ...goodBody, key: "k".repeat(201) }, "key"],
    ["a control character", { ...goodBody, key: "a\u0000b" }, "key"],
    [
      "an unknown choice",
      { ...goodBody, runner: { steps: 1, stepUnits: 1, stepMs: 1, endAs: "x" } },
      "runner.endAs",
    ],
    ["a list as the body", [goodBody], ""],
    ["text as the body", "hello", ""],
    ["null as the body", null, ""],
  ])("%s", async (_name, body, path) => {
    const answer = await api.call("/jobs", { method: "POST", raw: JSON.stringify(body), headers: JSON_TYPE });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.json).toMatchObject({
      type: "urn:holdfast:problem:invalid",
      code: "invalid",
      status: 400,
      errors: [{ path, message: expect.any(String) }],
    });
    expect(api.convex.calls).toEqual([]);
  });

  test("every fault is named, up to twenty", async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, 1]));
    const two = await api.call("/jobs", { method: "POST", body: { units: "5", extra: 1 } });
    expect(two.json.errors.map((error: { path: string }) => error.path)).toEqual(["key", "units", "extra"]);
    const capped = await api.call("/jobs", { method: "POST", body: { ...goodBody, ...many } });
    expect(capped.json.errors).toHaveLength(20);
  });
});

test.each([{}, { takeOver: false }])("a heartbeat %j that is no take-over needs the fence", async (body) => {
  const answer = await api.call(`/jobs/${JOB_ID}/heartbeat`, { method: "POST", body });
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({
    code: "invalid",
    errors: [{ path: "fence", message: "This field is needed unless takeOver is true." }],
  });
  expect(api.convex.calls).toEqual([]);
});

test("a worker that takes over needs no fence: the answer gives it one", async () => {
  api.convex.on("gate:heartbeat", { value: { kind: "renewed", job } });
  const body = { takeOver: true };
  const answer = await api.call(`/jobs/${JOB_ID}/heartbeat`, { method: "POST", body });
  expect(answer.status).toBe(200);
  expect(answer.json.job.fence).toBe(job.fence);
  expect(api.convex.calls[0]?.args).toMatchObject({ jobId: JOB_ID, takeOver: true });
});

describe("a number outside its range is out_of_range with field, minimum and maximum (A23)", () => {
  test.each<[path: string, field: string, json: string, minimum: number, maximum: number]>([
    ["/jobs", "units", '{"key":"k","units":9007199254740992}', 1, UNITS_MAX],
    ["/jobs", "units", '{"key":"k","units":1.5}', 1, UNITS_MAX],
    ["/jobs", "units", '{"key":"k","units":-1}', 1, UNITS_MAX],
    ["/jobs", "units", '{"key":"k","units":1e999}', 1, UNITS_MAX],
    ["/jobs", "units", '{"key":"k","units":0}', 1, UNITS_MAX],
    ["/jobs", "units", '{"key":"k","units":9007199254740990.6}', 1, UNITS_MAX],
    ["/jobs", "units", '{"key":"k","units":1.00000000000000000001}', 1, UNITS_MAX],
    ["/jobs", "acceptUnits", '{"key":"k","units":5,"acceptUnits":0.5}', 1, UNITS_MAX],
    ["/jobs", "leaseMs", '{"key":"k","units":5,"leaseMs":9999}', 10_000, 120_000],
    [
      "/jobs",
      "runner.steps",
      '{"key":"k","units":5,"runner":{"steps":0,"stepUnits":1,"stepMs":1}}',
      1,
      RUNNER_STEPS_MAX,
    ],
    [`/jobs/${JOB_ID}/charge`, "step", '{"step":0,"units":5,"fence":1}', 1, UNITS_MAX],
    [`/jobs/${JOB_ID}/charge`, "units", '{"step":1,"units":-5,"fence":1}', 0, UNITS_MAX],
    [`/jobs/${JOB_ID}/extend`, "units", '{"units":0.1,"fence":1}', 1, UNITS_MAX],
    [`/jobs/${JOB_ID}/settle`, "usedUnits", '{"outcome":"failed","usedUnits":1e16}', 0, UNITS_MAX],
    [`/accounts/${ACCOUNT_ID}/limits`, "limitUnits", '{"limitUnits":-1}', 0, UNITS_MAX],
  ])("%s %s in %s", async (path, field, json, minimum, maximum) => {
    const answer = await api.call(path, { method: "POST", raw: json, headers: JSON_TYPE });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      code: "out_of_range",
      field,
      minimum,
      maximum,
      errors: [{ path: field, message: `Must be a whole number from ${minimum} to ${maximum}.` }],
    });
    expect(api.convex.calls).toEqual([]);
  });

  test.each([UNITS_MAX, 1])("%d units pass as they are", async (units) => {
    api.convex.on("gate:admit", { value: { kind: "admitted", job, replayed: false, limit } });
    const answer = await api.call("/jobs", { method: "POST", body: { key: "k", units } });
    expect(answer.status).toBe(201);
    expect(api.convex.calls[0]?.args.units).toBe(units);
  });

  test("another fault beside it makes the whole answer invalid", async () => {
    const answer = await api.call("/jobs", { method: "POST", body: { key: 5, units: -1 } });
    expect(answer.json.code).toBe("invalid");
  });

  test.each([
    ["1.0", 1],
    ["1e3", 1000],
    ["-0", 0],
    ["5.50e1", 55],
  ])("a whole number written as %s is that number", async (written, units) => {
    api.convex.on("gate:charge", {
      value: { kind: "charged", job, chargedUnits: units, capped: false, replayed: false },
    });
    const raw = `{"step":1,"units":${written},"fence":1}`;
    const answer = await api.call(`/jobs/${JOB_ID}/charge`, { method: "POST", raw, headers: JSON_TYPE });
    expect(answer.status).toBe(200);
    expect(Object.is(api.convex.calls[0]?.args.units, units)).toBe(true);
  });
});

describe("a cycle anchor", () => {
  const create = (cycleAnchor: string) =>
    api.call("/accounts", { method: "POST", body: { name: "A", cycleAnchor } });

  test.each([
    "2026-01-31",
    "2026-01-31T23:30+11:00",
    "2026-01-31T23:30:05.123456789Z",
    "2026-01-31T23:30+11",
  ])("may be written as %s, and goes on as it is (B36)", async (cycleAnchor) => {
    api.convex.on("accounts:create", { value: { account: {} } });
    expect((await create(cycleAnchor)).status).toBe(201);
    expect(api.convex.calls[0]?.args.cycleAnchor).toBe(cycleAnchor);
  });

  test.each(["2026-01-31T23:30", "2026-02-31", "2026-13-01", "31.01.2026", "tomorrow", ""])(
    "is not %j",
    async (cycleAnchor) => {
      const answer = await create(cycleAnchor);
      expect(answer.status).toBe(400);
      expect(answer.json.errors[0].path).toBe("cycleAnchor");
    },
  );

  test("that the backend cannot read is refused by the backend as invalid", async () => {
    const message = "cycleAnchor must be an ISO date, or a date-time with a zone";
    api.convex.on("accounts:create", { errorData: { code: "invalid", message } });
    const answer = await create("2026-01-31T25:00Z");
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: "invalid", detail: `C${message.slice(1)}.` });
  });
});

test("a cursor that Convex does not know is a 400 that names it", async () => {
  api.convex.on("gate:listJobs", {
    errorData: { isConvexSystemError: true, paginationError: "InvalidCursor" },
    errorMessage: "InvalidCursor: Tried to run a query starting from a cursor of another query",
  });
  const answer = await api.call("/jobs?cursor=abc");
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({ code: "invalid", errors: [{ path: "cursor" }] });
});

describe("a body that is not JSON is a 400 invalid", () => {
  test.each([
    ["text that breaks off", '{"key": "k", "units":', JSON_TYPE],
    ["NaN, which JSON cannot carry", '{"key": "k", "units": NaN}', JSON_TYPE],
    ["two values", '{"key": "k", "units": 1} {}', JSON_TYPE],
    ["no body", "", JSON_TYPE],
    ["no content type", JSON.stringify(goodBody), { "content-type": "" }],
    ["a form", "key=k&units=1", { "content-type": "application/x-www-form-urlencoded" }],
    ["JSON sent as text", JSON.stringify(goodBody), { "content-type": "text/plain" }],
  ])("%s", async (_name, raw, headers) => {
    const answer = await api.call("/jobs", { method: "POST", raw, headers });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: "invalid", errors: [{ path: "" }] });
    expect(api.convex.calls).toEqual([]);
  });

  test("bytes that are not UTF-8", async () => {
    const raw = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
    const answer = await api.call("/jobs", { method: "POST", raw, headers: JSON_TYPE });
    expect(answer.status).toBe(400);
    expect(answer.json.code).toBe("invalid");
  });

  test("a charset beside the content type is fine", async () => {
    api.convex.on("gate:admit", { value: { kind: "admitted", job, replayed: false, limit } });
    const headers = { "content-type": "application/json; charset=utf-8" };
    const answer = await api.call("/jobs", { method: "POST", body: goodBody, headers });
    expect(answer.status).toBe(201);
  });
});

describe("a body over 64 KB is a 413", () => {
  const padded = (bytes: number): string => JSON.stringify(goodBody).padEnd(bytes, " ");

  test("64 KB pass", async () => {
    api.convex.on("gate:admit", { value: { kind: "admitted", job, replayed: false, limit } });
    const answer = await api.call("/jobs", {
      method: "POST",
      raw: padded(BODY_BYTES_MAX),
      headers: JSON_TYPE,
    });
    expect(answer.status).toBe(201);
  });

  test("one byte more does not", async () => {
    const raw = padded(BODY_BYTES_MAX + 1);
    const answer = await api.call("/jobs", { method: "POST", raw, headers: JSON_TYPE });
    expect(answer.status).toBe(413);
    expect(answer.json).toMatchObject({ code: "too_large", maximumBytes: BODY_BYTES_MAX });
  });

  test("a declared length is believed before anything is read", async () => {
    let pulls = 0;
    const raw = new ReadableStream(
      {
        pull: (controller) => {
          pulls += 1;
          controller.enqueue(new Uint8Array(1024));
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { ...JSON_TYPE, "content-length": "10000000" };
    const answer = await api.call("/jobs", { method: "POST", raw, headers });
    expect(answer.status).toBe(413);
    expect(pulls).toBe(0);
  });

  test("an endless body without a length is cut off soon after the maximum", async () => {
    let sentBytes = 0;
    let isCancelled = false;
    const raw = new ReadableStream({
      pull: (controller) => {
        sentBytes += 1024;
        controller.enqueue(new Uint8Array(1024).fill(0x20));
      },
      cancel: () => {
        isCancelled = true;
      },
    });
    const answer = await api.call("/jobs", { method: "POST", raw, headers: JSON_TYPE });
    expect(answer.status).toBe(413);
    expect(sentBytes).toBeLessThan(2 * BODY_BYTES_MAX);
    expect(isCancelled).toBe(true);
  });
});

describe("query parameters are checked as well", () => {
  test.each([
    ["/jobs?limit=0", "limit"],
    ["/jobs?limit=101", "limit"],
    ["/jobs?limit=ten", "limit"],
    ["/jobs?limit=1.5", "limit"],
    ["/jobs?status=asleep", "status"],
    ["/jobs?cursor=", "cursor"],
    ["/jobs?page=2", "page"],
    ["/jobs?kind=a&kind=b", "kind"],
    ["/usage?cycle=2026-10", "cycle"],
  ])("%s", async (path, field) => {
    const answer = await api.call(path);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: "invalid", errors: [{ path: field }] });
    expect(api.convex.calls).toEqual([]);
  });
});

describe("a path or method that is not there", () => {
  test.each([
    ["GET", "/nothing"],
    ["GET", ""],
    ["GET", "/jobs/"],
    ["GET", "/jobs/not-an-id"],
    ["GET", "/jobs/%00"],
    ["GET", `/jobs/${JOB_ID}/nothing`],
    ["POST", "/jobs/short/charge"],
    ["GET", `/jobs/${JOB_ID.toUpperCase()}`],
  ])("%s %s is a 404 problem", async (method, path) => {
    const answer = await api.call(path, { method });
    expect(answer.status).toBe(404);
    expect(answer.json).toMatchObject({ code: "not_found", type: "urn:holdfast:problem:not_found" });
    expect(api.convex.calls).toEqual([]);
  });

  test.each([
    ["DELETE", "/jobs", "GET, HEAD, OPTIONS, POST"],
    ["GET", "/jobs/preview", "OPTIONS, POST"],
    ["POST", "/usage", "GET, HEAD, OPTIONS"],
    ["PUT", `/jobs/${JOB_ID}`, "GET, HEAD, OPTIONS"],
    ["GET", `/accounts/${ACCOUNT_ID}/limits`, "DELETE, OPTIONS, POST, PUT"],
  ])("%s %s is a 405 that lists what is allowed", async (method, path, allow) => {
    const answer = await api.call(path, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe(allow);
    expect(answer.json.code).toBe("method_not_allowed");
  });

  test("OPTIONS answers what is allowed", async () => {
    const answer = await api.call("/jobs", { method: "OPTIONS", key: null });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("allow")).toBe("GET, HEAD, OPTIONS, POST");
  });

  test("HEAD is GET without the body", async () => {
    api.convex.on("gate:getJob", { value: job });
    const answer = await api.call(`/jobs/${JOB_ID}`, { method: "HEAD" });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe("");
  });
});
