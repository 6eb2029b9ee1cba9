import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { openApiDocument, routes } from "../../lib/server/api/router.ts";
import { PROBLEMS } from "../../lib/shared/problem.ts";
import { apiHarness, SERVER_SECRET } from "./helpers/api.ts";
import {
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
  room,
  usage,
} from "./helpers/samples.ts";

type Json = Record<string, unknown>;
interface Operation {
  readonly operationId: string;
  readonly security: readonly Json[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Json }> };
  readonly responses: Record<string, Json>;
}

const api = await apiHarness();
const document = openApiDocument();
const paths = document.paths as Record<string, Record<string, Operation>>;
const operations = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => method !== "parameters")
    .map(([method, operation]) => ({ path, method, operation })),
);

/** Every object inside the document, with its place. */
function* walk(value: unknown, place = "#"): Generator<[string, Json]> {
  if (typeof value !== "object" || value === null) return;
  yield [place, value as Json];
  for (const [key, inner] of Object.entries(value)) yield* walk(inner, `${place}/${key}`);
}

function resolve(pointer: string): unknown {
  return pointer
    .slice(2)
    .split("/")
    .reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);
}

test("is OpenAPI 3.1 by the official schema", async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
  expect(document.openapi).toMatch(/^3\.1\./);
});

test("is served without a key", async () => {
  const answer = await api.call("/openapi.json", { key: null });
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual(document);
  expect(api.convex.calls).toEqual([]);
  expect(answer.text).not.toContain(SERVER_SECRET);
});

test("lists every route of the table and no other", () => {
  const listed = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).toSorted();
  expect(listed).toEqual(routes.map((route) => `${route.method} ${route.path}`).toSorted());
});

test("operation ids are unique", () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test("every reference resolves and none is left over from the conversion", () => {
  const references = [...walk(document)].filter(([, object]) => typeof object.$ref === "string");
  expect(references.length).toBeGreaterThan(20);
  for (const [place, { $ref }] of references)
    expect([place, resolve($ref as string)]).not.toContain(undefined);
  for (const [, object] of walk(document)) {
    expect(Object.keys(object)).not.toContain("$id");
    expect(Object.keys(object)).not.toContain("$defs");
  }
});

test("every path parameter is declared, and every declared one is in its path", () => {
  for (const [path, item] of Object.entries(paths)) {
    const declared = ((item.parameters as unknown as { name: string }[] | undefined) ?? []).map(
      ({ name }) => name,
    );
    expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
  }
});

test("every route but the description asks for a key, operator routes for the operator's", () => {
  for (const { path, operation } of operations) {
    const scheme = operation.security.map((requirement) => Object.keys(requirement)).flat();
    const isOperators = /^\/(?:accounts|ops)\b/.test(path);
    const expected = path === "/openapi.json" ? [] : [isOperators ? "operatorKey" : "accountKey"];
    if (routes.some((route) => route.path === path && route.acceptsSession)) expected.push("session");
    expect([path, scheme]).toEqual([path, expected]);
  }
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ ...document, $id: "holdfast" });
const compile = (pointer: string) => ajv.compile({ $ref: `holdfast${pointer}` });
const escape = (key: string): string => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));

/** Bodies as the handlers answer them; happy-paths.test.ts checks that they do. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  startJob: { job, replayed: false, limit },
  previewJob: { kind: "would_refuse", refusal: { code: "limit_reached", ...room } },
  listJobs: { jobs: [job], cursor: null },
  listEstimates: { kinds: [estimate] },
  getJob: { job },
  chargeStep: { job, chargedUnits: 1, capped: false, replayed: false },
  renewLease: { job },
  extendHold: { job },
  settleJob: { job, replayed: true },
  killRunner: { job },
  getUsage: usage,
  listEntries: entryPage,
  getEntry: { entry, ...entryFacts, why: { title: "Billed: 1 click", reasons: [] } },
  createLink: { link },
  listLinks: { links: [link], cursor: "next" },
  getLink: { link },
  updateLink: { link },
  removeLink: { linkId: link.id, removed: true },
  getLinkStats: linkStats,
  findLink: { accountId: account.id, linkId: link.id },
  createReminder: { reminder, replayed: true },
  listReminders: { reminders: [reminder], cursor: "next" },
  cancelReminder: { reminder },
  listEvents: { events: [billingEvent], cursor: "next" },
  replayEvent: { event: billingEvent },
  listAllEvents: { events: [billingEvent], cursor: null },
  getEvent: eventDetail,
  replayAnyEvent: { event: billingEvent },
  createAccount: { account },
  listAccounts: { accounts: [account], cursor: "next" },
  getAccount: { account },
  setRate: { account },
  setLimit: { accountId: account.id, feature: "tokens", limitUnits: null, setAtMs: 1 },
  postLimit: { accountId: account.id, feature: "tokens", limitUnits: 5, setAtMs: 1 },
  removeLimit: { accountId: account.id, removed: true },
  createApiKey: { apiKey, secret: "hf_live_x" },
  listApiKeys: { apiKeys: [apiKey] },
  revokeApiKey: { apiKey },
  rotateApiKey: { apiKey, secret: "hf_live_x" },
  sweep: { expired: 1, batches: 1, broken: 0 },
  audit: { budgets: 1, repaired: 0 },
  report: { counts: { sent: 1 } },
  reconcile: { status: "good", counts: { match: 1 }, meters: [meterResult] },
  listReviews: { reviews: [review], cursor: null },
  decideReview: { review, entries: 2 },
  listEvidence: {
    evidence: [{ ...meterResult, id: "e1", counterUnits: 10, atMs: 1, seenAtMs: 2 }],
    cursor: null,
  },
  checkDrift: driftChecked,
  listDrift: driftPage,
  listAlerts: alertPage,
  getSettings: { overdueBlockDays: null },
  setSettings: { overdueBlockDays: 14 },
  getOpenApi: document,
};

describe("the schemas of the document take what the routes answer, and refuse less", () => {
  test.each(
    operations
      .filter(({ path }) => !/\/qr\.(svg|png)$/.test(path))
      .map(({ path, method, operation }) => [operation.operationId, path, method, operation] as const),
  )("%s", (operationId, path, method, operation) => {
    const good = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
    expect(good.length).toBeGreaterThan(0);
    for (const status of good) {
      const place = `#/paths/${escape(path)}/${method}/responses/${status}/content/${escape("application/json")}/schema`;
      const validate = compile(place);
      validate(ANSWERS[operationId]);
      expect(validate.errors).toBeNull();
      expect(validate(operationId === "getOpenApi" ? [] : {})).toBe(false);
    }
  });

  test.each(Object.keys(PROBLEMS))("the example of the problem %s is a Problem", (code) => {
    const response = resolve(`#/components/responses/${code}`) as {
      content: Record<string, { example: unknown }>;
    };
    const validate = compile(
      `#/components/responses/${code}/content/${escape("application/problem+json")}/schema`,
    );
    expect(validate(response.content["application/problem+json"]?.example)).toBe(true);
    expect(validate({ code })).toBe(false);
  });

  test("request schemas are closed: an unknown field is refused there too", () => {
    for (const { path, method, operation } of operations) {
      if (!operation.requestBody) continue;
      const validate = compile(
        `#/paths/${escape(path)}/${method}/requestBody/content/${escape("application/json")}/schema`,
      );
      expect([operation.operationId, validate({ "not-a-field": 1 })]).toEqual([operation.operationId, false]);
    }
  });
});
