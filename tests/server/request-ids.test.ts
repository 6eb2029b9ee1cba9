import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { toResponse } from "../../lib/server/http.ts";
import { heldBackCounts } from "../../lib/server/held-back.ts";
import { prometheusText, metricsResponse } from "../../lib/server/metrics.ts";
import {
  type AnsweredRequest,
  processRequestCounts,
  RequestCounts,
  requestLine,
} from "../../lib/server/request-counts.ts";
import { API_KEY, apiHarness } from "./helpers/api.ts";

const api = await apiHarness();
const UUID_OF_THE_TEST = "error-id-1";

describe("a request", () => {
  test("keeps the id that its sender chose", async () => {
    const { headers } = await api.call("/nothing", { headers: { "x-request-id": "trace-7.b_c" } });
    expect(headers.get("x-request-id")).toBe("trace-7.b_c");
  });

  test.each(["", "a b", "x".repeat(65), 'a"b', "é"])("gets a new id instead of %j", async (sent) => {
    const { headers } = await api.call("/openapi.json", { headers: { "x-request-id": sent } });
    expect(headers.get("x-request-id")).toBe(UUID_OF_THE_TEST);
  });

  test("is named in the log line of what went wrong with it", async () => {
    api.convex.on("gate:usage", { status: 500, code: "Broken", message: "made by the test" });
    const { status, headers, json } = await api.call("/usage", {
      headers: { "x-request-id": "seen-in-log" },
    });
    expect(status).toBe(503);
    expect(headers.get("x-request-id")).toBe("seen-in-log");
    expect(api.logged).toMatchObject([
      { event: "backend_failed", requestId: "seen-in-log", errorId: json.errorId },
    ]);
  });

  test("is told once it is answered, with its operation and time", async () => {
    const answered: AnsweredRequest[] = [];
    let elapsedMs = 0;
    const deps = {
      ...api.deps,
      elapsedMs: () => (elapsedMs += 7),
      answered: (each: AnsweredRequest) => void answered.push(each),
    };
    const { handleApi } = await import("../../lib/server/api/router.ts");
    const ask = (method: string, path: string) =>
      handleApi(new Request(`http://localhost/api/v1${path}`, { method }), deps);
    await ask("GET", "/jobs");
    await ask("GET", "/nothing");
    await ask("PUT", "/jobs");
    expect(answered).toMatchObject([
      { operation: "listJobs", status: 401, elapsedMs: 7 },
      { operation: "none", status: 404, elapsedMs: 7 },
      { operation: "none", status: 405, elapsedMs: 7 },
    ]);
    expect(requestLine(answered[0]!)).toEqual({
      event: "request",
      requestId: UUID_OF_THE_TEST,
      operation: "listJobs",
      status: 401,
      elapsedMs: 7,
    });
  });
});

describe("the metrics", () => {
  beforeEach(() => {
    vi.stubEnv("HOLDFAST_SPOOL_DIR", "");
    api.convex.on("health:forOperators", { value: { nowMs: 1_791_000_000_000, runs: [] } });
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const ask = async (accept: string) =>
    toResponse(
      await metricsResponse(
        new Request("http://localhost/api/metrics", {
          headers: { accept, authorization: `Bearer ${API_KEY}` },
        }),
        api.deps,
      ),
    );

  test("count requests by operation and status, as JSON and as Prometheus text", async () => {
    const request = { requestId: "r", operation: "startJob", status: 201, elapsedMs: 30 };
    processRequestCounts().add(request);
    expect(await (await ask("application/json")).json()).toMatchObject({
      // The clock of the runs.
      atMs: 1_791_000_000_000,
      api: { requests: { 'operation="startJob",status="201"': 1 }, meanMs: { startJob: 30 } },
      batches: { batches: expect.any(Number) },
    });
    expect(await (await ask("text/plain")).text()).toContain(
      'holdfast_api_requests_total{operation="startJob",status="201"} 1\n',
    );
  });

  test("have times in growing buckets that end with all", () => {
    const api = new RequestCounts();
    for (const elapsedMs of [1, 5, 6, 20_000]) {
      api.add({ requestId: "r", operation: "settleJob", status: 200, elapsedMs });
    }
    const text = prometheusText({
      atMs: 0,
      api,
      batches: { single: 1, batches: 2, batched: 9, turnedAway: 0 },
      clicks: null,
      linkCache: null,
      webhooks: null,
      heldBack: heldBackCounts(),
      runs: [],
    });
    const bucket = (bound: string) =>
      Number(text.match(new RegExp(`_bucket\\{operation="settleJob",le="${bound}"\\} (\\d+)`))?.[1]);
    expect(["5", "10", "10000", "\\+Inf"].map(bucket)).toEqual([2, 3, 3, 4]);
    expect(text).toContain('holdfast_api_request_duration_ms_sum{operation="settleJob"} 20012\n');
    expect(text).toContain("holdfast_gate_batches_batched_total 9\n");
  });
});
