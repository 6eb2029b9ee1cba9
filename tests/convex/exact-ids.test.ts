import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

/** More than one page of any search looks through. */
const NEWER = 510;

let backend: Backend;
let operator: ReturnType<typeof operatorOf>;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true });
  operator = operatorOf(backend);
  tenant = await createTenant(backend);
  const ids = { kindeUserId: "kp_ada", customerId: "customer_ada", email: "ada@example.com" };
  await backend.patchRow(tenant.accountId, ids);
});
afterEach(() => backend.close());

const insert = (table: string, row: object, times = 1) =>
  backend.mutation<string[]>("testRows:insert", { table, row, times });

async function rowOf(table: string): Promise<Record<string, unknown>> {
  const [{ _id, _creationTime, ...row }] = (await backend.readAll(table)) as [StoredRow];
  return row;
}

/** The ids of the first page that a search gives. */
async function found(path: string, list: string, text: string, args: object = {}): Promise<string[]> {
  const page = await operator.query<Record<string, { id: string }[]>>(path, { cursor: null, text, ...args });
  return page[list]!.map(({ id }) => id);
}

const ACCOUNT_IDS: [name: string, id: () => string | Promise<string>][] = [
  ["its own id", () => tenant.accountId],
  ["the provider's user", () => "kp_ada"],
  ["the billing customer", () => "customer_ada"],
  ["the email", () => "ada@example.com"],
  ["the email as it was typed", () => " Ada@Example.com "],
  ["an agreement", async () => (await rowOf("agreements"))["agreementId"] as string],
  ["a meter", async () => (await backend.readAll("meters"))[0]!._id],
];

describe("an account behind many newer ones is found at once", () => {
  beforeEach(async () => {
    await ledgerOf(backend).clicks(tenant.accountId, 1);
    const other = { ...(await rowOf("accounts")), kindeUserId: null, customerId: null, email: null };
    await insert("accounts", other, NEWER);
  });

  test.each(ACCOUNT_IDS)("by %s", async (_name, idOf) => {
    const id = await idOf();
    expect(await found("screensAccounts:list", "accounts", id)).toEqual([tenant.accountId]);
    expect(await found("screensReconciliation:accounts", "accounts", id)).toEqual([tenant.accountId]);
  });

  test("also a throw-away or merged one, unless a filter says otherwise", async () => {
    await backend.patchRow(tenant.accountId, { source: "lab", isThrowAway: true });
    const list = (args: object) => found("screensAccounts:list", "accounts", tenant.accountId, args);
    expect(await list({})).toEqual([tenant.accountId]);
    expect(await list({ only: "lab" })).toEqual([tenant.accountId]);
    expect(await list({ only: "overdue" })).toEqual([]);
  });
});

const event = {
  eventKey: "event:e_other",
  eventId: "e_other",
  type: "customer.plan_changed",
  webhookId: "w_other",
  payloadHash: "0",
  occurredAtNs: null,
  accountId: null as string | null,
  receivedAtMs: 0,
  lastSeenAtMs: 0,
  status: "applied",
  attempts: 1,
  fence: 1,
  nextAttemptAtMs: null,
  seenCount: 1,
  result: null,
  error: null,
  appliedAtMs: 0,
};

describe("an event behind many newer ones is found at once", () => {
  let id: string;
  beforeEach(async () => {
    const ids = { eventKey: "event:e_1", eventId: "e_1", webhookId: "w_1", accountId: tenant.accountId };
    id = (await insert("inboxEvents", { ...event, ...ids }))[0]!;
    await insert("inboxEvents", event, NEWER);
  });
  const list = (text: string, args: object = {}) => found("screensOperators:events", "events", text, args);

  test("by its own id, the event's, the webhook's and those of its account", async () => {
    for (const text of [id, "e_1", "w_1", tenant.accountId, "kp_ada", "customer_ada", "ada@example.com"]) {
      expect(await list(text)).toEqual([id]);
    }
  });

  test("and a filter still holds", async () => {
    expect(await list("e_1", { status: "applied" })).toEqual([id]);
    expect(await list("e_1", { status: "dead" })).toEqual([]);
    expect(await list("kp_ada", { status: "dead" })).toEqual([]);
  });
});

test("a review behind many newer ones is found at once", async () => {
  const { accountId } = tenant;
  const row = {
    kind: "dead_event",
    subject: "event:e_1",
    accountId,
    detail: "x",
    late: null,
    status: "open",
    openedAtMs: 0,
    decision: null,
    decidedBy: null,
    decidedAtMs: null,
    note: null,
  };
  const [id] = await insert("reviews", row);
  await insert("reviews", { ...row, subject: "other", accountId: null }, NEWER);
  const list = (text: string, status = "open") =>
    found("screensOperators:reviews", "reviews", text, { status });
  for (const text of [id!, "event:e_1", "e_1", accountId, "kp_ada", "ada@example.com"]) {
    expect(await list(text)).toEqual([id]);
    expect(await list(text, "decided")).toEqual([]);
  }
});

test("the line of an act behind many newer ones is found at once", async () => {
  const { accountId } = tenant;
  const row = { actor: "kp_operator", action: "rate_set", accountId, details: {}, atMs: 0 };
  const [id] = await insert("audit", row);
  await insert("audit", { ...row, actor: "other", accountId: null }, NEWER);
  const list = (text: string, args = {}) => found("screensOperators:audit", "lines", text, args);
  for (const text of [id!, "kp_operator"]) expect(await list(text)).toEqual([id]);
  for (const text of [accountId, "customer_ada"]) {
    expect(await list(text, { action: "rate_set" })).toEqual([id]);
    expect((await list(text)).length).toBeGreaterThan(1);
  }
});

test("drift of an account behind much newer drift is found at once", async () => {
  const row = {
    accountId: tenant.accountId,
    beforePlanKey: "a",
    providerPlanKey: "b",
    endedAgreementIds: [],
    firstSentAtMs: 0,
    secondSentAtMs: 0,
    outcome: "repaired",
    atMs: 0,
  };
  const [id] = await insert("driftEvidence", row);
  const other = await createTenant(backend);
  await insert("driftEvidence", { ...row, accountId: other.accountId }, NEWER);
  for (const text of [id!, tenant.accountId, "kp_ada"]) {
    expect(await found("screensOperators:drift", "evidence", text)).toEqual([id]);
  }
});

test("of two accounts with one email the rows of both are listed, each once over the pages", async () => {
  const other = await createTenant(backend);
  await backend.patchRow(other.accountId, { email: "ada@example.com" });
  const row = { actor: "a", action: "rate_set", details: {}, atMs: 0 };
  const ids: string[] = [];
  for (const accountId of [tenant.accountId, other.accountId]) {
    ids.push(...(await insert("audit", { ...row, accountId }, 15)));
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const args = { cursor, text: "ada@example.com", action: "rate_set" };
    const page: { lines: { id: string }[]; cursor: string | null } = await operator.query(
      "screensOperators:audit",
      args,
    );
    seen.push(...page.lines.map(({ id }) => id));
    ({ cursor } = page);
  } while (cursor !== null);
  expect(seen).toEqual(ids.toReversed());
});
