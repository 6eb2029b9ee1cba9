import { describe, expect, test } from "vitest";
import { createConvexGateway } from "../../lib/server/convex.ts";
import { handleApi } from "../../lib/server/api/router.ts";
import { toResponse } from "../../lib/server/http.ts";
import { API_KEY, SERVER_SECRET, apiHarness } from "./helpers/api.ts";
import { hashApiKey } from "../../lib/server/api-keys.ts";
import { JOB_ID, job, limit } from "./helpers/samples.ts";

const api = await apiHarness();

const admit = () => api.call("/jobs", { method: "POST", body: { key: "k", units: 50 } });
const conflict = { status: 503, code: "OptimisticConcurrencyControlFailure", message: "Documents changed" };
const admitted = { value: { kind: "admitted", job, replayed: false, limit } };
const argumentFault = {
  errorMessage: `ArgumentValidationError: Object: {keyHash: "${hashApiKey(API_KEY)}", serverSecret: "${SERVER_SECRET}"}`,
};

describe("a write conflict is repeated where that is safe", () => {
  test("an admission that meets conflicts goes through in the end", async () => {
    api.convex.on("gate:admit", conflict, conflict, admitted);
    const answer = await admit();
    expect(answer.status).toBe(201);
    expect(api.convex.calls).toHaveLength(3);
    expect(api.sleptMs).toHaveLength(2);
  });

  test("after eight tries it is busy, with waits that grow to at most a second", async () => {
    api.convex.on("gate:admit", conflict);
    const answer = await admit();
    expect(answer.status).toBe(503);
    expect(answer.json.code).toBe("busy");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(api.convex.calls).toHaveLength(8);
    expect(api.sleptMs).toEqual(api.sleptMs.toSorted((a, b) => a - b));
    expect(Math.max(...api.sleptMs)).toBeLessThanOrEqual(1000);
  });

  test("an overloaded backend is busy as well", async () => {
    api.convex.on("gate:charge", { status: 503, code: "TooManyConcurrentRequests", message: "Too many" });
    const body = { step: 1, units: 5, fence: 1 };
    const answer = await api.call(`/jobs/${JOB_ID}/charge`, { method: "POST", body });
    expect(answer.json.code).toBe("busy");
  });

  test("an action is not repeated", async () => {
    api.convex.on("ops:sweep", conflict);
    const answer = await api.call("/ops/sweep", { method: "POST" });
    expect(answer.json.code).toBe("busy");
    expect(api.convex.calls).toHaveLength(1);
  });
});

describe("a backend that does not do the work is unavailable, with Retry-After (A09)", () => {
  test.each([
    ["the mutation throws", { errorMessage: "Uncaught Error: the disk is full at gate.ts:12" }],
    ["the connection breaks", { cut: true } as const],
    ["the database failed", { status: 503, code: "StorageFailed", message: "the disk is full" }],
    ["the backend is shutting down", { status: 503, code: "ShuttingDown", message: "stopping" }],
    [
      "this server shows a wrong secret",
      { errorData: { code: "server_refused", message: "the server secret is not accepted" } },
    ],
    ["the backend fails", { status: 500, code: "InternalServerError", message: "trouble inside" }],
    ["the backend is not what it should be", { status: 404, code: "", message: "<html>" }],
  ])("%s", async (_name, fault) => {
    api.convex.on("gate:admit", fault);
    const answer = await admit();
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({ code: "unavailable", errorId: "error-id-1" });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(answer.text).not.toMatch(/disk|trouble|gate\.ts|html/);
    expect(api.convex.calls).toHaveLength(1);
    expect(api.logged).toMatchObject([{ event: "backend_failed", errorId: "error-id-1" }]);
  });

  test.each([
    ["nothing listens at the address", () => "http://127.0.0.1:1"],
    ["the query never answers", () => api.convex.url],
  ])("%s", async (_name, url) => {
    api.convex.on("gate:usage", { hang: true });
    const convex = createConvexGateway({ url: url(), serverSecret: SERVER_SECRET, callTimeoutMs: 100 });
    const request = new Request("http://localhost/api/v1/usage", {
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    const response = toResponse(await handleApi(request, { ...api.deps, convex }));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "unavailable" });
  });
});

describe("a fault of ours is a 500 with an id and nothing else", () => {
  test("a handler that throws", async () => {
    api.convex.on("accounts:create", { value: null });
    const answer = await api.call("/accounts", { method: "POST", body: { name: "A" } });
    expect(answer.status).toBe(500);
    expect(answer.json).toMatchObject({ code: "internal", errorId: "error-id-1" });
    expect(answer.text).not.toMatch(/TypeError|at |\.ts/);
    expect(api.logged).toMatchObject([{ event: "internal_error", errorId: "error-id-1", name: "TypeError" }]);
  });

  test("a code that no one here knows", async () => {
    api.convex.on("gate:usage", { errorData: { code: "strange", message: "what is this" } });
    const answer = await api.call("/usage");
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("strange");
  });

  test("arguments that Convex refuses and quotes: no secret in the answer or the log", async () => {
    api.convex.on("gate:usage", argumentFault);
    const answer = await api.call("/usage");
    expect(answer.status).toBe(500);
    const log = JSON.stringify(api.logged);
    expect(log).toContain("ArgumentValidationError");
    for (const secret of [SERVER_SECRET, API_KEY, hashApiKey(API_KEY)]) {
      expect(answer.text).not.toContain(secret);
      expect(log).not.toContain(secret);
    }
  });
});

describe("the limit is read when the gate asks for it", () => {
  const needed = {
    value: { kind: "refresh_needed", accountId: "a", feature: "tokens", refreshLease: "lease-1" },
  };
  const pending = { value: { kind: "refresh_pending", retryAfterMs: 250 } };

  test("the caller with the lease refreshes and asks again", async () => {
    api.convex.on("gate:admit", needed, admitted);
    api.convex.on("limits:refresh", { value: { kind: "refreshed" } });
    const answer = await admit();
    expect(answer.status).toBe(201);
    expect(api.convex.calls.map((call) => call.path)).toEqual(["gate:admit", "limits:refresh", "gate:admit"]);
    expect(api.convex.calls[1]?.args).toMatchObject({ refreshLease: "lease-1" });
  });

  test("the others are told within two seconds that the limit is unknown", async () => {
    api.convex.on("gate:admit", pending);
    const answer = await admit();
    expect(answer.status).toBe(503);
    expect(answer.json.code).toBe("limit_unknown");
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(api.sleptMs.reduce((sum, ms) => sum + ms, 0)).toBe(1500);
  });

  test("a waiting caller is admitted once the limit is there", async () => {
    api.convex.on("gate:admit", pending, pending, admitted);
    expect((await admit()).status).toBe(201);
    expect(api.sleptMs).toEqual([250, 250]);
  });

  test("a refresh that breaks does not break the admission: the gate decides with what is known", async () => {
    api.convex.on("gate:admit", needed, {
      value: { kind: "refused", refusal: { code: "limit_unknown", retryAfterMs: 5000 } },
    });
    api.convex.on("limits:refresh", { errorMessage: "Uncaught Error: provider" });
    const answer = await admit();
    expect(answer.json.code).toBe("limit_unknown");
    expect(answer.headers.get("retry-after")).toBe("5");
  });

  test("an extension goes the same way", async () => {
    api.convex.on("gate:extend", needed, { value: { kind: "extended", job } });
    api.convex.on("limits:refresh", { value: { kind: "refreshed" } });
    const answer = await api.call(`/jobs/${JOB_ID}/extend`, { method: "POST", body: { units: 5, fence: 1 } });
    expect(answer.status).toBe(200);
  });

  const preview = () => api.call("/jobs/preview", { method: "POST", body: { units: 5 } });

  test("a preview has the limit read, and asks once more", async () => {
    const admits = { kind: "would_admit", requestedUnits: 5, heldUnits: 5, usedUnits: 0, freeUnits: 9 };
    const limit = { limitUnits: 9, readAtMs: 1, stale: false, provider: "fixed" };
    api.convex.on("gate:preview", { value: { kind: "refresh_needed" } }, { value: { ...admits, limit } });
    api.convex.on("limits:refreshForPreview", { value: { kind: "refreshed" } });
    expect(await preview()).toMatchObject({ status: 200, json: { kind: "would_admit" } });
  });

  test("and says that the limit is unknown when that brings none", async () => {
    api.convex.on("gate:preview", { value: { kind: "refresh_needed" } });
    api.convex.on("limits:refreshForPreview", { errorMessage: "Uncaught Error: provider" });
    expect(await preview()).toMatchObject({ status: 503, json: { code: "limit_unknown" } });
    expect(api.convex.calls).toHaveLength(3);
  });
});
