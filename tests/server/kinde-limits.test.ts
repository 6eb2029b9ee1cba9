import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ServerDeps } from "../../lib/server/deps.ts";
import { createApiKey } from "../../lib/server/api-keys.ts";
import { handleApi } from "../../lib/server/api/router.ts";
import { createConvexGateway } from "../../lib/server/convex.ts";
import { gatherGateCalls } from "../../lib/server/gate-batches.ts";
import { toResponse } from "../../lib/server/http.ts";
import { readSessionToken } from "../../lib/server/session-token.ts";
import { startServer, type RunningServer } from "../../lib/local-convex/server.ts";
import { BACKEND_ENV, OPERATOR_KEY_HASH, SERVER_SECRET, type StoredRow } from "../helpers/backend.ts";
import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";
import { waitingClock } from "./helpers/waiting-clock.ts";
import { EMULATOR_ENV } from "../kinde/emulator/emulator-server.ts";
import { useEmulator } from "../kinde/client/emulator-bench.ts";

/*
 * Limits end to end: the API's handlers, the functions on the engine behind its HTTP API, and the Kinde emulator, each
 * over a socket. Only the clocks are the test's.
 */

const ENTITLEMENTS = "/api/v1/billing/entitlements";

const kinde = useEmulator();
let backend: LocalBackend;
let server: RunningServer;
let deps: ServerDeps;
let secret: string;
let failingTable: string | null;

beforeEach(async () => {
  failingTable = null;
  backend = await localBackend({
    functionsDir: join(import.meta.dirname, "../../convex"),
    startMs: kinde.emulator.nowMs(),
    env: {
      ...BACKEND_ENV,
      KINDE_ISSUER_URL: kinde.emulator.url,
      KINDE_M2M_CLIENT_ID: EMULATOR_ENV["KINDE_M2M_CLIENT_ID"]!,
      KINDE_M2M_CLIENT_SECRET: EMULATOR_ENV["KINDE_M2M_CLIENT_SECRET"]!,
    },
    inject: {
      beforeWrite: (table) => {
        if (table === failingTable) throw new Error("the disk says no");
      },
    },
  });
  server = await startServer(backend.engine, { host: "127.0.0.1", port: 0 });
  deps = {
    convex: gatherGateCalls(
      createConvexGateway({ url: `http://127.0.0.1:${server.port}`, serverSecret: SERVER_SECRET }),
      Date.now,
    ),
    nowMs: Date.now,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    random: Math.random,
    elapsedMs: () => 0,
    answered: () => undefined,
    newId: () => "error-id",
    readSessionToken,
    log: () => undefined,
  };
  const { userId: kindeUserId } = kinde.customer;
  const link = { kindeUserId, customerId: null, email: null };
  const accountId = await backend.mutation<string>("signIn:link", link);
  const key = createApiKey();
  secret = key.secret;
  await backend.mutation("apiKeys:create", {
    serverSecret: SERVER_SECRET,
    keyHash: OPERATOR_KEY_HASH,
    accountId,
    keyHashNew: key.keyHash,
    prefix: key.prefix,
    name: "test",
    scopes: ["jobs:read", "jobs:write", "usage:read"],
  });
});
afterEach(async () => {
  await server.close();
  await backend.close();
});

async function call(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const request = new Request(`http://localhost:3000/api/v1${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const response = toResponse(await handleApi(request, deps));
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

const admit = (key: string, units: number) => call("POST", "/jobs", { key, units });
const reads = () => kinde.requests("GET", ENTITLEMENTS);

async function advance(ms: number): Promise<void> {
  kinde.emulator.advance(ms);
  await backend.advanceMs(ms);
}

test("the plan's limit is read over HTTP, shown with its age, and not read again within a minute", async () => {
  expect(await admit("a", 10_000)).toMatchObject({
    status: 201,
    json: { limit: { limitUnits: 10_000, provider: "kinde", stale: false } },
  });
  expect(await admit("b", 1)).toMatchObject({ status: 402, json: { code: "held_by_running_jobs" } });
  await advance(30_000);
  expect(await call("GET", "/usage")).toMatchObject({
    status: 200,
    json: { limitState: "known", limit: { limitUnits: 10_000, stale: false }, limitAgeMs: 30_000 },
  });
  expect(await reads()).toBe(1);
});

test("A36b: 50 simultaneous first admits make one provider read, and every caller gets a decision", async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => admit(`k${index}`, 400)));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(25);
  expect(statuses.filter((status) => status === 402)).toHaveLength(25);
  expect(await reads()).toBe(1);
});

describe("a slow provider", () => {
  /** Less than the client's patience, and long after all of the decisions. */
  const SLOW_MS = 4_500;
  let waiting: ReturnType<typeof waitingClock>;
  beforeEach(async () => {
    waiting = waitingClock();
    deps = { ...deps, ...waiting.clock };
  });
  const slowDown = () => kinde.fault(ENTITLEMENTS, "slow", { delayMs: SLOW_MS, count: 1 });
  const limits = () => backend.readAll<StoredRow & { readAtMs: number | null }>("limits");

  test("A36b: each of 50 first callers has its decision within 2 s; the limit is stored when it comes", async () => {
    await slowDown();
    const callers = Array.from({ length: 50 }, (_, index) => () => admit(`k${index}`, 400));
    for (const { answer, elapsedMs } of await waiting.runAll(callers)) {
      expect(answer).toMatchObject({ status: 503, json: { code: "limit_unknown", retryAfterMs: 1_000 } });
      expect(elapsedMs).toBeLessThan(2_000);
    }
    expect(await limits()).toMatchObject([{ readAtMs: null }]);
    await expect.poll(limits, { timeout: 20_000 }).toMatchObject([{ limitUnits: 10_000 }]);
    expect((await admit("next", 400)).status).toBe(201);
    expect(await reads()).toBe(1);
  });

  test("A36b: the caller that refreshes is decided with the last limit, for a job, more hold and a preview", async () => {
    const { job } = (await admit("a", 100)).json as { job: { id: string; fence: number } };
    const extend = () => call("POST", `/jobs/${job.id}/extend`, { units: 5, fence: job.fence });
    for (const [ask, status] of [
      [() => admit("b", 1), 201],
      [extend, 200],
      [() => call("POST", "/jobs/preview", { units: 1 }), 200],
    ] as const) {
      await advance(61_000);
      await call("POST", `/jobs/${job.id}/heartbeat`, { fence: job.fence });
      await slowDown();
      const before = await limits();
      const [asked] = await waiting.runAll([ask]);
      expect(asked!.answer.status).toBe(status);
      expect(asked!.elapsedMs).toBeLessThan(2_000);
      expect(await limits()).toMatchObject(before.map(({ readAtMs }) => ({ readAtMs })));
      await kinde.clearFaults();
    }
  });
});

test("A10: an unreachable provider: the last limit serves up to 10 minutes, marked stale, then it is limit_unknown", async () => {
  await admit("a", 1);
  await kinde.fault("*", "status_503");
  await advance(9 * 60_000 + 59_000);
  expect(await admit("b", 1)).toMatchObject({ status: 201, json: { limit: { stale: true } } });
  await advance(2_000);
  expect(await admit("c", 1)).toMatchObject({ status: 503, json: { code: "limit_unknown" } });
  expect(await call("GET", "/usage")).toMatchObject({
    json: { limitState: "unknown", limit: null, limitAgeMs: null, freeUnits: null },
  });

  await kinde.clearFaults();
  await advance(5_000);
  expect(await admit("d", 1)).toMatchObject({ status: 201, json: { limit: { stale: false } } });
});

test.each(["rate_limited", "status_500", "unauthorized", "forbidden", "malformed_json", "timeout"])(
  "fails closed when the first read meets %s, and names why to operators alone",
  async (fault) => {
    await kinde.fault(ENTITLEMENTS, fault, fault === "rate_limited" ? { resetSeconds: 60 } : {});
    const answer = await admit("a", 1);
    expect(answer).toMatchObject({ status: 503, json: { code: "limit_unknown" } });
    // Callers do not wait for a provider that takes its time to fail.
    const failures = async () =>
      (await backend.readAll<StoredRow & { refreshFailure: string | null }>("limits")).map(
        ({ refreshFailure }) => refreshFailure,
      );
    await expect.poll(failures, { timeout: 20_000 }).toEqual([expect.stringMatching(/entitlements/)]);
    expect(JSON.stringify(answer.json)).not.toContain("entitlements");
    expect(await backend.readAll("jobs")).toEqual([]);
  },
  60_000,
);

test.each([
  ["unlimited_null", 201],
  ["unlimited_missing", 201],
  ["unlimited_max_int", 201],
])("clicks without a maximum are unlimited however the provider says it (%s)", async (fault, status) => {
  await kinde.fault(ENTITLEMENTS, fault);
  expect((await admit("a", 10_000)).status).toBe(status);
  expect((await admit("b", 1)).status).toBe(402);
});

test("a customer without the entitlement has a limit of 0", async () => {
  await kinde.fault(ENTITLEMENTS, "empty_entitlements");
  expect(await admit("a", 1)).toMatchObject({ status: 402, json: { code: "limit_reached", limitUnits: 0 } });
});

test("A09: the hold write throws after a good limit read: 503 unavailable, no job, no hold", async () => {
  await admit("warm", 1);
  failingTable = "jobs";
  expect(await admit("a", 100)).toMatchObject({ status: 503, json: { code: "unavailable" } });
  failingTable = null;
  expect(await call("GET", "/usage")).toMatchObject({ json: { heldUnits: 1 } });
  expect(await backend.readAll("jobs")).toHaveLength(1);
  expect((await admit("a", 100)).status).toBe(201);
});

test("after a plan change the next admission uses the new limit, and a running hold stays", async () => {
  await admit("a", 10_000);
  await kinde.changePlan("customer_pro_plan");
  const user = backend.as({
    admin: false,
    identity: { subject: kinde.customer.userId, issuer: kinde.emulator.url, tokenIdentifier: "t" },
    ip: null,
    userAgent: null,
  });
  expect(await user.action("limits:refreshNow", {})).toEqual({ kind: "refreshed" });
  expect(await admit("b", 90_000)).toMatchObject({ status: 201, json: { limit: { limitUnits: 100_000 } } });
  await kinde.changePlan("customer_free_plan");
  await user.action("limits:refreshNow", {});
  expect(await admit("c", 1)).toMatchObject({ status: 402, json: { limitUnits: 10_000, freeUnits: 0 } });
  expect(await call("GET", "/usage")).toMatchObject({ json: { heldUnits: 100_000 } });
});
