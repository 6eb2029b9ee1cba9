import { describe, expect, test } from "vitest";
import { hashApiKey } from "../../lib/server/api-keys.ts";
import { routes } from "../../lib/server/api/router.ts";
import { API_KEY, SERVER_SECRET, apiHarness } from "./helpers/api.ts";
import {
  ACCOUNT_ID,
  ENTRY_ID,
  JOB_ID,
  EVENT_ID,
  KEY_ID,
  LINK_ID,
  REMINDER_ID,
  account,
  alertPage,
  apiKey,
  billingEvent,
  driftChecked,
  driftPage,
  entry,
  entryFacts,
  entryPage,
  estimate,
  eventDetail,
  job,
  limit,
  link,
  linkStats,
  meterResult,
  reminder,
  review,
  REVIEW_ID,
  usage,
} from "./helpers/samples.ts";

const api = await apiHarness();

interface HappyPath {
  readonly operationId: string;
  readonly request: readonly [method: string, path: string, body?: unknown];
  readonly calls: readonly [path: string, answer: unknown, args: Record<string, unknown>];
  readonly status: number;
}

const ended = {
  ...job,
  status: "completed",
  usedUnits: 700,
  returnedUnits: 300,
  endedAtMs: 1_790_000_060_000,
};

const wouldAdmit = {
  kind: "would_admit",
  requestedUnits: 1000,
  heldUnits: 1000,
  usedUnits: 0,
  freeUnits: 100_000,
  limit,
};

const limitSet = { kind: "set", feature: "tokens", limitUnits: null, setAtMs: 1_790_000_000_000 };

const HAPPY_PATHS: readonly HappyPath[] = [
  {
    operationId: "startJob",
    request: ["POST", "/jobs", { key: "job-1", units: 1000 }],
    calls: ["gate:admit", { kind: "admitted", job, replayed: false, limit }, { key: "job-1", units: 1000 }],
    status: 201,
  },
  {
    operationId: "previewJob",
    request: ["POST", "/jobs/preview", { units: 1000 }],
    calls: ["gate:preview", wouldAdmit, { units: 1000 }],
    status: 200,
  },
  {
    operationId: "listJobs",
    request: ["GET", "/jobs?status=running&limit=2"],
    calls: ["gate:listJobs", { jobs: [job], cursor: null }, { status: "running", limit: 2, cursor: null }],
    status: 200,
  },
  {
    operationId: "listEstimates",
    request: ["GET", "/jobs/estimates?kind=default"],
    calls: ["gate:estimates", { kinds: [estimate] }, { kind: "default" }],
    status: 200,
  },
  {
    operationId: "getJob",
    request: ["GET", `/jobs/${JOB_ID}`],
    calls: ["gate:getJob", job, { jobId: JOB_ID }],
    status: 200,
  },
  {
    operationId: "chargeStep",
    request: ["POST", `/jobs/${JOB_ID}/charge`, { step: 1, units: 10, fence: 1 }],
    calls: [
      "gate:charge",
      { kind: "charged", job, chargedUnits: 10, capped: false, replayed: false },
      { jobId: JOB_ID, step: 1, units: 10, fence: 1 },
    ],
    status: 200,
  },
  {
    operationId: "renewLease",
    request: ["POST", `/jobs/${JOB_ID}/heartbeat`, { fence: 1 }],
    calls: ["gate:heartbeat", { kind: "renewed", job }, { jobId: JOB_ID, fence: 1 }],
    status: 200,
  },
  {
    operationId: "extendHold",
    request: ["POST", `/jobs/${JOB_ID}/extend`, { units: 500, fence: 1 }],
    calls: ["gate:extend", { kind: "extended", job }, { jobId: JOB_ID, units: 500, fence: 1 }],
    status: 200,
  },
  {
    operationId: "settleJob",
    request: ["POST", `/jobs/${JOB_ID}/settle`, { outcome: "completed", usedUnits: 700 }],
    calls: [
      "gate:settle",
      { kind: "settled", job: ended, replayed: false },
      { jobId: JOB_ID, outcome: "completed", usedUnits: 700 },
    ],
    status: 200,
  },
  {
    operationId: "killRunner",
    request: ["POST", `/jobs/${JOB_ID}/kill`],
    calls: ["runner:kill", { kind: "killed", job }, { jobId: JOB_ID }],
    status: 200,
  },
  {
    operationId: "getUsage",
    request: ["GET", "/usage"],
    calls: ["gate:usage", usage, {}],
    status: 200,
  },
  {
    operationId: "createLink",
    request: ["POST", "/links", { target: "https://example.com/a", code: "LoKE2" }],
    calls: ["links:create", { kind: "created", link }, { target: "https://example.com/a", code: "LoKE2" }],
    status: 201,
  },
  {
    operationId: "listLinks",
    request: ["GET", "/links?limit=2"],
    calls: ["links:list", { links: [link], cursor: null }, { limit: 2, cursor: null }],
    status: 200,
  },
  {
    operationId: "getLink",
    request: ["GET", `/links/${LINK_ID}`],
    calls: ["links:get", link, { linkId: LINK_ID }],
    status: 200,
  },
  {
    operationId: "updateLink",
    request: ["PATCH", `/links/${LINK_ID}`, { isActive: false, capUnits: null }],
    calls: ["links:update", { kind: "updated", link }, { linkId: LINK_ID, isActive: false, capUnits: null }],
    status: 200,
  },
  {
    operationId: "removeLink",
    request: ["DELETE", `/links/${LINK_ID}`],
    calls: ["links:remove", { kind: "removed" }, { linkId: LINK_ID }],
    status: 200,
  },
  {
    operationId: "getLinkStats",
    request: ["GET", `/links/${LINK_ID}/stats?untilMs=1790000000000`],
    calls: [
      "links:stats",
      { kind: "read", ...linkStats },
      { linkId: LINK_ID, fromMs: 1_790_000_000_000 - 7 * 86_400_000, untilMs: 1_790_000_000_000 },
    ],
    status: 200,
  },
  {
    operationId: "listEntries",
    request: ["GET", "/usage/entries?cycle=2026-10&feature=clicks&all=true&limit=2"],
    calls: [
      "entries:list",
      entryPage,
      { cycle: "2026-10", feature: "clicks", all: true, limit: 2, cursor: null },
    ],
    status: 200,
  },
  {
    operationId: "getEntry",
    request: ["GET", `/usage/entries/${ENTRY_ID}`],
    calls: ["entries:why", { entry, facts: entryFacts }, { entryId: ENTRY_ID }],
    status: 200,
  },
  {
    operationId: "findLink",
    request: ["GET", "/ops/links?code=LoKE2"],
    calls: ["entries:ownerOfCode", { accountId: ACCOUNT_ID, linkId: LINK_ID }, { code: "LoKE2" }],
    status: 200,
  },
  {
    operationId: "createReminder",
    request: ["POST", "/reminders", { key: "ferns", text: reminder.text, dueAtMs: reminder.dueAtMs }],
    calls: [
      "reminders:create",
      { kind: "created", reminder, replayed: false },
      { key: "ferns", text: reminder.text, dueAtMs: reminder.dueAtMs },
    ],
    status: 201,
  },
  {
    operationId: "listReminders",
    request: ["GET", "/reminders?status=waiting&limit=2"],
    calls: [
      "reminders:list",
      { reminders: [reminder], cursor: null },
      { status: "waiting", limit: 2, cursor: null },
    ],
    status: 200,
  },
  {
    operationId: "cancelReminder",
    request: ["DELETE", `/reminders/${REMINDER_ID}`],
    calls: ["reminders:cancel", { kind: "cancelled", reminder }, { reminderId: REMINDER_ID }],
    status: 200,
  },
  {
    operationId: "listEvents",
    request: ["GET", "/events?cursor=next"],
    calls: ["inboxEvents:list", { events: [billingEvent], cursor: null }, { limit: 50, cursor: "next" }],
    status: 200,
  },
  {
    operationId: "replayEvent",
    request: ["POST", `/events/${EVENT_ID}/replay`],
    calls: ["inboxEvents:replay", { kind: "queued", event: billingEvent }, { id: EVENT_ID }],
    status: 202,
  },
  {
    operationId: "listAllEvents",
    request: ["GET", "/ops/events?status=dead"],
    calls: [
      "inboxEvents:listAll",
      { events: [billingEvent], cursor: null },
      { status: "dead", limit: 50, cursor: null },
    ],
    status: 200,
  },
  {
    operationId: "getEvent",
    request: ["GET", `/ops/events/${EVENT_ID}`],
    calls: ["inboxEvents:get", eventDetail, { id: EVENT_ID }],
    status: 200,
  },
  {
    operationId: "replayAnyEvent",
    request: ["POST", `/ops/events/${EVENT_ID}/replay`],
    calls: ["inboxEvents:replayAny", { kind: "queued", event: billingEvent }, { id: EVENT_ID }],
    status: 202,
  },
  {
    operationId: "createAccount",
    request: ["POST", "/accounts", { name: "First account", limitUnits: 100_000 }],
    calls: ["accounts:create", { account }, { name: "First account", limitUnits: 100_000 }],
    status: 201,
  },
  {
    operationId: "listAccounts",
    request: ["GET", "/accounts"],
    calls: ["accounts:list", { accounts: [account], cursor: null }, { cursor: null, limit: 50 }],
    status: 200,
  },
  {
    operationId: "getAccount",
    request: ["GET", `/accounts/${ACCOUNT_ID}`],
    calls: ["accounts:get", account, { accountId: ACCOUNT_ID }],
    status: 200,
  },
  {
    operationId: "setRate",
    request: ["PATCH", `/accounts/${ACCOUNT_ID}`, { jobsPerMinute: 6000 }],
    calls: ["accounts:setRate", { kind: "set", account }, { accountId: ACCOUNT_ID, jobsPerMinute: 6000 }],
    status: 200,
  },
  {
    operationId: "setLimit",
    request: ["PUT", `/accounts/${ACCOUNT_ID}/limits`, { limitUnits: null }],
    calls: ["accounts:setLimit", limitSet, { accountId: ACCOUNT_ID, limitUnits: null }],
    status: 200,
  },
  {
    operationId: "postLimit",
    request: ["POST", `/accounts/${ACCOUNT_ID}/limits`, { feature: "tokens", limitUnits: 5 }],
    calls: ["accounts:setLimit", limitSet, { accountId: ACCOUNT_ID, feature: "tokens", limitUnits: 5 }],
    status: 200,
  },
  {
    operationId: "removeLimit",
    request: ["DELETE", `/accounts/${ACCOUNT_ID}/limits`],
    calls: ["accounts:removeLimit", { kind: "removed" }, { accountId: ACCOUNT_ID }],
    status: 200,
  },
  {
    operationId: "createApiKey",
    request: ["POST", `/accounts/${ACCOUNT_ID}/keys`, { name: "First key" }],
    calls: [
      "apiKeys:create",
      { kind: "created", apiKey },
      {
        accountId: ACCOUNT_ID,
        name: "First key",
        scopes: apiKey.scopes,
        keyHashNew: expect.stringMatching(/^[0-9a-f]{64}$/),
        prefix: expect.stringMatching(/^hf_live_[\w-]{4}$/),
      },
    ],
    status: 201,
  },
  {
    operationId: "listApiKeys",
    request: ["GET", `/accounts/${ACCOUNT_ID}/keys`],
    calls: ["apiKeys:list", { apiKeys: [apiKey] }, { accountId: ACCOUNT_ID }],
    status: 200,
  },
  {
    operationId: "revokeApiKey",
    request: ["DELETE", `/accounts/${ACCOUNT_ID}/keys/${KEY_ID}`],
    calls: ["apiKeys:revoke", { kind: "revoked", apiKey }, { accountId: ACCOUNT_ID, apiKeyId: KEY_ID }],
    status: 200,
  },
  {
    operationId: "rotateApiKey",
    request: ["POST", `/accounts/${ACCOUNT_ID}/keys/${KEY_ID}/rotate`, {}],
    calls: [
      "apiKeys:rotate",
      { kind: "rotated", apiKey },
      {
        accountId: ACCOUNT_ID,
        apiKeyId: KEY_ID,
        keyHashNew: expect.stringMatching(/^[0-9a-f]{64}$/),
        prefix: expect.stringMatching(/^hf_live_[\w-]{4}$/),
      },
    ],
    status: 200,
  },
  {
    operationId: "sweep",
    request: ["POST", "/ops/sweep"],
    calls: ["ops:sweep", { expired: 3, batches: 1, broken: 0 }, {}],
    status: 200,
  },
  {
    operationId: "audit",
    request: ["POST", "/ops/audit"],
    calls: ["ops:audit", { budgets: 2, repaired: 0 }, {}],
    status: 200,
  },
  {
    operationId: "report",
    request: ["POST", "/ops/report", { accountId: ACCOUNT_ID }],
    calls: ["ops:report", { kind: "ran", counts: { sent: 1 } }, { accountId: ACCOUNT_ID }],
    status: 200,
  },
  {
    operationId: "reconcile",
    request: ["POST", "/ops/reconcile"],
    calls: [
      "ops:reconcile",
      { kind: "ran", status: "good", counts: { match: 1 }, meters: [meterResult] },
      {},
    ],
    status: 200,
  },
  {
    operationId: "listReviews",
    request: ["GET", "/ops/reviews?status=decided"],
    calls: [
      "reviews:list",
      { reviews: [review], cursor: null },
      { status: "decided", limit: 50, cursor: null },
    ],
    status: 200,
  },
  {
    operationId: "decideReview",
    request: ["POST", `/ops/reviews/${REVIEW_ID}/decide`, { decision: "carry_over", billedUnits: 8 }],
    calls: [
      "reviews:decide",
      { kind: "decided", review, entries: 2 },
      { reviewId: REVIEW_ID, decision: "carry_over", billedUnits: 8 },
    ],
    status: 200,
  },
  {
    operationId: "listEvidence",
    request: ["GET", `/ops/evidence?accountId=${ACCOUNT_ID}`],
    calls: [
      "evidence:list",
      { evidence: [{ ...meterResult, id: "e1", counterUnits: 10, atMs: 1, seenAtMs: 2 }], cursor: null },
      { accountId: ACCOUNT_ID, limit: 50, cursor: null },
    ],
    status: 200,
  },
  {
    operationId: "checkDrift",
    request: ["POST", "/ops/drift", { accountId: ACCOUNT_ID }],
    calls: ["drift:check", { kind: "ran", ...driftChecked }, { accountId: ACCOUNT_ID }],
    status: 200,
  },
  {
    operationId: "listDrift",
    request: ["GET", "/ops/drift"],
    calls: ["driftRows:list", driftPage, { limit: 50, cursor: null }],
    status: 200,
  },
  {
    operationId: "listAlerts",
    request: ["GET", "/ops/alerts?status=given_up"],
    calls: ["alerts:list", alertPage, { status: "given_up", limit: 50, cursor: null }],
    status: 200,
  },
  {
    operationId: "getSettings",
    request: ["GET", "/ops/settings"],
    calls: ["settings:get", { overdueBlockDays: null }, {}],
    status: 200,
  },
  {
    operationId: "setSettings",
    request: ["PUT", "/ops/settings", { overdueBlockDays: 14 }],
    calls: ["settings:setOverdueBlockDays", { overdueBlockDays: 14 }, { days: 14 }],
    status: 200,
  },
];

describe("a good request makes one Convex call and its answer has the documented shape", () => {
  test.each(HAPPY_PATHS)("$operationId", async ({ operationId, request, calls, status }) => {
    const [method, path, body] = request;
    const [convexPath, value, args] = calls;
    api.convex.on(convexPath, { value });
    const answer = await api.call(path, { method, body });

    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(api.convex.calls).toHaveLength(1);
    expect(api.convex.calls[0]?.path).toBe(convexPath);
    expect(api.convex.calls[0]?.args).toMatchObject({
      ...args,
      serverSecret: SERVER_SECRET,
      keyHash: hashApiKey(API_KEY),
    });
    const schema = routes.find((route) => route.operationId === operationId)?.answers[status]?.schema;
    expect(schema?.safeParse(answer.json).error).toBeUndefined();
    expect(answer.text).not.toContain(SERVER_SECRET);
    expect(answer.text).not.toContain(hashApiKey(API_KEY));
  });

  test("every route of the table but the description and the pictures is in this list", () => {
    const tested = HAPPY_PATHS.map((path) => path.operationId).toSorted();
    const known = routes
      .filter(({ answers }) => answers[200]?.contentType === undefined)
      .map((route) => route.operationId)
      .filter((id) => id !== "getOpenApi");
    expect(tested).toEqual(known.toSorted());
  });
});

test("an admission that repeats its key answers 200 instead of 201", async () => {
  api.convex.on("gate:admit", { value: { kind: "admitted", job, replayed: true, limit } });
  const answer = await api.call("/jobs", { method: "POST", body: { key: "job-1", units: 1000 } });
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ job, replayed: true, limit });
});

test("a capped charge is a 200 with capped: true", async () => {
  const capped = { ...job, status: "capped", usedUnits: 1000 };
  api.convex.on("gate:charge", {
    value: { kind: "charged", job: capped, chargedUnits: 5, capped: true, replayed: false },
  });
  const body = { step: 1, units: 80, fence: 1 };
  const answer = await api.call(`/jobs/${JOB_ID}/charge`, { method: "POST", body });
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ capped: true, chargedUnits: 5, job: { status: "capped" } });
});

test("a new key is answered in full once, and only its hash and prefix reach Convex", async () => {
  api.convex.on("apiKeys:create", { value: { kind: "created", apiKey } });
  const { json } = await api.call(`/accounts/${ACCOUNT_ID}/keys`, { method: "POST", body: {} });
  expect(json.secret).toMatch(/^hf_live_[\w-]{43}$/);
  const [call] = api.convex.calls;
  expect(call?.args.keyHashNew).toBe(hashApiKey(json.secret));
  expect(call?.args.prefix).toBe(json.secret.slice(0, 12));
  expect(JSON.stringify(call)).not.toContain(json.secret);
});

test("a preview that would be refused answers 200 with the refusal", async () => {
  const refusal = { code: "rate_limited", limitPerMinute: 120, retryAfterMs: 900 };
  api.convex.on("gate:preview", { value: { kind: "would_refuse", refusal } });
  const answer = await api.call("/jobs/preview", { method: "POST", body: { units: 5 } });
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ kind: "would_refuse", refusal });
});

test("a decision that the numbers do not allow is a 409 with its reason", async () => {
  const refused = { kind: "refused", code: "numbers_changed", message: "the ledger has 12 by now" };
  api.convex.on("reviews:decide", { value: refused });
  const body = { decision: "write_off" };
  const answer = await api.call(`/ops/reviews/${REVIEW_ID}/decide`, { method: "POST", body });
  expect(answer.status).toBe(409);
  expect(answer.json).toMatchObject({ code: "review_conflict", reason: "numbers_changed" });
});

test.each([
  ["/ops/report", "ops:report"],
  ["/ops/reconcile", "ops:reconcile"],
  ["/ops/drift", "drift:check"],
])("%s of an account that there is not is a 404", async (path, convexPath) => {
  api.convex.on(convexPath, { value: { kind: "not_found" } });
  const answer = await api.call(path, { method: "POST", body: { accountId: "nobody" } });
  expect(answer.json).toMatchObject({ code: "not_found", status: 404 });
});
