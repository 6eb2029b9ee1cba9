import { describe, expect, test } from "vitest";
import { PROBLEMS, type ProblemCode } from "../../lib/shared/problem.ts";
import { apiHarness } from "./helpers/api.ts";
import { ACCOUNT_ID, JOB_ID, KEY_ID, job, room } from "./helpers/samples.ts";

const api = await apiHarness();
const ended = { ...job, status: "expired", endedAtMs: 1_790_000_120_000 };

interface RefusalRow {
  readonly refusal: { readonly code: ProblemCode; readonly [number: string]: unknown };
  readonly status: number;
  readonly retryAfter: string | null;
}

const REFUSALS: readonly RefusalRow[] = [
  { refusal: { code: "limit_reached", ...room }, status: 402, retryAfter: null },
  {
    refusal: { code: "held_by_running_jobs", ...room, earliestLeaseExpiresAtMs: 1_790_000_120_000 },
    status: 402,
    retryAfter: null,
  },
  {
    refusal: { code: "key_conflict", message: "The key was used with 10 units." },
    status: 409,
    retryAfter: null,
  },
  {
    refusal: { code: "rate_limited", limitPerMinute: 120, retryAfterMs: 12_300 },
    status: 429,
    retryAfter: "13",
  },
  {
    refusal: {
      code: "payment_overdue",
      overdueSinceMs: 1_790_000_000_000,
      blockedSinceMs: 1_790_000_000_001,
    },
    status: 402,
    retryAfter: null,
  },
  { refusal: { code: "limit_unknown", retryAfterMs: 1 }, status: 503, retryAfter: "1" },
  {
    refusal: {
      code: "out_of_range",
      field: "acceptUnits",
      minimum: 1,
      maximum: 1000,
      message: "acceptUnits must be a whole number from 1 to 1000",
    },
    status: 400,
    retryAfter: null,
  },
];

describe("a refused admission is a problem with its status and the numbers of the refusal", () => {
  test.each(REFUSALS)("$refusal.code", async ({ refusal, status, retryAfter }) => {
    api.convex.on("gate:admit", { value: { kind: "refused", refusal } });
    const answer = await api.call("/jobs", { method: "POST", body: { key: "k", units: 50 } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.headers.get("retry-after")).toBe(retryAfter);
    const { message, ...numbers } = { message: undefined, ...refusal };
    expect(answer.json).not.toHaveProperty("message");
    expect(answer.json.detail).toContain(message ?? "");
    expect(answer.json).toMatchObject({
      ...numbers,
      type: `urn:holdfast:problem:${refusal.code}`,
      title: PROBLEMS[refusal.code].title,
      status,
      detail: expect.stringMatching(/\S/),
    });
  });

  test("it says what to do next", async () => {
    const refusal = { code: "held_by_running_jobs", ...room, freeUnits: 7, earliestLeaseExpiresAtMs: 1 };
    api.convex.on("gate:admit", { value: { kind: "refused", refusal } });
    const { json } = await api.call("/jobs", { method: "POST", body: { key: "k", units: 50 } });
    expect(json.next).toBe("Wait for one to end, or ask for at most 7.");
  });

  test("an extension is refused in the same words", async () => {
    api.convex.on("gate:extend", { value: { kind: "refused", refusal: { code: "limit_reached", ...room } } });
    const answer = await api.call(`/jobs/${JOB_ID}/extend`, {
      method: "POST",
      body: { units: 50, fence: 1 },
    });
    expect(answer.status).toBe(402);
    expect(answer.json).toMatchObject({ code: "limit_reached", freeUnits: 0, limitUnits: 100 });
  });
});

describe("a job that moved on is a 409 or 404 that shows the stored job", () => {
  const charge = { step: 1, units: 5, fence: 1 };
  test.each<
    [path: string, body: unknown, convexPath: string, value: Record<string, unknown>, status: number]
  >([
    ["charge", charge, "gate:charge", { kind: "lease_lost", job: ended }, 409],
    ["charge", charge, "gate:charge", { kind: "not_running", job: ended }, 409],
    ["charge", charge, "gate:charge", { kind: "step_conflict", job, expectedStep: 4 }, 409],
    ["charge", charge, "gate:charge", { kind: "not_found" }, 404],
    ["heartbeat", { fence: 1 }, "gate:heartbeat", { kind: "lease_lost", job }, 409],
    ["heartbeat", { fence: 1 }, "gate:heartbeat", { kind: "not_running", job: ended }, 409],
    ["heartbeat", { fence: 1, takeOver: true }, "gate:heartbeat", { kind: "not_found" }, 404],
    ["extend", { units: 5, fence: 1 }, "gate:extend", { kind: "lease_lost", job: ended }, 409],
    ["extend", { units: 5, fence: 1 }, "gate:extend", { kind: "not_running", job: ended }, 409],
    ["settle", { outcome: "failed", fence: 9 }, "gate:settle", { kind: "lease_lost", job }, 409],
    ["settle", { outcome: "failed" }, "gate:settle", { kind: "not_found" }, 404],
    ["kill", {}, "runner:kill", { kind: "not_running", job: ended }, 409],
    ["kill", {}, "runner:kill", { kind: "not_found" }, 404],
  ])("%s %j: %s %j", async (path, body, convexPath, value, status) => {
    api.convex.on(convexPath, { value });
    const answer = await api.call(`/jobs/${JOB_ID}/${path}`, { method: "POST", body });
    const { kind, ...members } = value;
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ code: kind, status, ...members });
  });

  test("a kill of a job that no step runner works on says so", async () => {
    api.convex.on("runner:kill", { value: { kind: "not_running", job } });
    const answer = await api.call(`/jobs/${JOB_ID}/kill`, { method: "POST" });
    expect(answer.json).toMatchObject({
      code: "not_running",
      detail: "No step runner is at work on this job.",
    });
  });

  test("a job of another account is not found", async () => {
    api.convex.on("gate:getJob", { value: null });
    const answer = await api.call(`/jobs/${JOB_ID}`);
    expect(answer.status).toBe(404);
    expect(answer.json.code).toBe("not_found");
  });
});

describe("what the operator names and is not there is a 404", () => {
  const notFound = { value: { kind: "not_found" } };
  test.each([
    ["PATCH", `/accounts/${ACCOUNT_ID}`, { jobsPerMinute: 1 }, "accounts:setRate"],
    ["PUT", `/accounts/${ACCOUNT_ID}/limits`, { limitUnits: 1 }, "accounts:setLimit"],
    ["DELETE", `/accounts/${ACCOUNT_ID}/limits`, undefined, "accounts:removeLimit"],
    ["POST", `/accounts/${ACCOUNT_ID}/keys`, {}, "apiKeys:create"],
    ["DELETE", `/accounts/${ACCOUNT_ID}/keys/${KEY_ID}`, undefined, "apiKeys:revoke"],
    ["POST", `/accounts/${ACCOUNT_ID}/keys/${KEY_ID}/rotate`, {}, "apiKeys:rotate"],
  ])("%s %s", async (method, path, body, convexPath) => {
    api.convex.on(convexPath, notFound);
    const answer = await api.call(path, { method, body });
    expect(answer.status).toBe(404);
    expect(answer.json.code).toBe("not_found");
    expect(answer.text).not.toContain("hf_");
  });

  test("GET of an account", async () => {
    api.convex.on("accounts:get", { value: null });
    expect((await api.call(`/accounts/${ACCOUNT_ID}`)).status).toBe(404);
  });
});
