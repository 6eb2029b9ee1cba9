import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, type Calls, createBackend, type StoredRow } from "../helpers/backend.ts";
import { createTenant } from "../helpers/tenant.ts";

interface AccountRow extends StoredRow {
  readonly kindeUserId: string | null;
  readonly customerId: string | null;
  readonly mergedIntoAccountId: string | null;
}

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

const link = (kindeUserId: string, customerId: string | null = null, email: string | null = null) =>
  backend.mutation<string>("signIn:link", { kindeUserId, customerId, email });
const accounts = () => backend.readAll<AccountRow>("accounts");

function failsWith(code: string) {
  return expect.objectContaining({ data: expect.objectContaining({ code }) });
}

describe("the first sign-in", () => {
  test("makes one account, however many tabs ask at once", async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, () => link("kp_a", "customer_a")));
    expect(new Set(ids).size).toBe(1);
    expect(await accounts()).toMatchObject([
      { _id: ids[0], kindeUserId: "kp_a", customerId: "customer_a", provider: "kinde", source: "sign_in" },
    ]);
  });

  test("without an answer of the provider is completed by a later one, and nothing known is lost", async () => {
    const id = await link("kp_a");
    expect(await link("kp_a", "customer_a", "a@example.org")).toBe(id);
    expect(await link("kp_a")).toBe(id);
    expect(await accounts()).toMatchObject([{ customerId: "customer_a", email: "a@example.org" }]);
  });

  test("finds the account that a billing event made for the customer", async () => {
    const id = await link("kp_other", "customer_a");
    await backend.patchRow(id, { kindeUserId: null });
    expect(await link("kp_a", "customer_a")).toBe(id);
    expect(await accounts()).toHaveLength(1);
  });

  test("merges two rows of one customer in one transaction, and leaves the ledger where it is", async () => {
    const byUser = await link("kp_a");
    const byCustomer = await link("kp_other", "customer_a");
    await backend.patchRow(byCustomer, { kindeUserId: null });
    expect(await link("kp_a", "customer_a")).toBe(byUser);
    expect(await accounts()).toMatchObject([
      { _id: byUser, kindeUserId: "kp_a", customerId: "customer_a", mergedIntoAccountId: null },
      { _id: byCustomer, kindeUserId: null, customerId: null, mergedIntoAccountId: byUser },
    ]);
    expect(await backend.readAll("audit")).toMatchObject([{ actor: "sign-in", action: "accounts_merged" }]);
    expect(await link("kp_a", "customer_a")).toBe(byUser);
  });
});

describe("a signed-in customer", () => {
  const user = (subject: string): Calls => backend.as({ subject });

  test("sees no account before there is one, and then the own one", async () => {
    expect(await user("kp_a").query("signIn:me", {})).toBeNull();
    await expect(user("kp_a").query("gate:usage", {})).rejects.toEqual(failsWith("no_account"));
    await expect(user("kp_a").action("limits:refresh", { refreshLease: "tokens.1" })).rejects.toEqual(
      failsWith("no_account"),
    );
    const id = await link("kp_a", "customer_a", "a@example.org");
    expect(await user("kp_a").query("signIn:me", {})).toEqual({
      id,
      name: "a@example.org",
      email: "a@example.org",
      provider: "kinde",
      planKey: "customer_free_plan",
      overdueSinceMs: null,
      isOperator: false,
      deletedAtMs: null,
    });
    expect(await user("kp_a").query("gate:usage", {})).toMatchObject({ accountId: id, limit: null });
  });

  test("without a token is nobody", async () => {
    for (const path of ["signIn:me", "gate:usage", "apiKeys:listOwn", "health:forOperators"]) {
      await expect(backend.query(path, {})).rejects.toEqual(failsWith("unauthorized"));
    }
    await expect(backend.action("signIn:enter", {})).rejects.toEqual(failsWith("unauthorized"));
  });

  test("cannot reach another account's jobs or keys", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    const job = await tenant.start({ key: "k", units: 10 });
    await link("kp_a");
    const stranger = user("kp_a");
    expect(await stranger.query("gate:getJob", { jobId: job.id })).toBeNull();
    const settling = { jobId: job.id, outcome: "cancelled" };
    expect(await stranger.mutation("gate:settle", settling)).toEqual({ kind: "not_found" });
    expect(await stranger.mutation("runner:kill", { jobId: job.id })).toEqual({ kind: "not_found" });
    const [key] = await backend.readAll("apiKeys");
    expect(await stranger.mutation("apiKeys:revokeOwn", { apiKeyId: key!._id })).toEqual({
      kind: "not_found",
    });
  });

  test("makes, lists, rotates and revokes the own keys, which an API key cannot", async () => {
    await link("kp_a");
    const customer = user("kp_a");
    const fields = {
      name: "worker",
      scopes: ["jobs:read"],
      prefix: "hf_live_abcd",
      keyHashNew: "a".repeat(64),
    };
    const made = await customer.mutation<{ apiKey: { id: string } }>("apiKeys:createOwn", fields);
    const apiKeyId = made.apiKey.id;
    await expect(customer.mutation("apiKeys:createOwn", fields)).rejects.toEqual(failsWith("invalid"));
    const rotation = { apiKeyId, prefix: "hf_live_efgh", keyHashNew: "b".repeat(64) };
    expect(await customer.mutation("apiKeys:rotateOwn", rotation)).toMatchObject({ kind: "rotated" });
    expect(await customer.mutation("apiKeys:revokeOwn", { apiKeyId })).toMatchObject({ kind: "revoked" });
    expect(await customer.query("apiKeys:listOwn", {})).toMatchObject({
      apiKeys: [{ id: apiKeyId, prefix: "hf_live_efgh", revokedAtMs: expect.any(Number) }],
    });
    const tenant = await createTenant(backend);
    await expect(
      tenant.mutation("apiKeys:createOwn", { ...fields, keyHashNew: "c".repeat(64) }),
    ).rejects.toEqual(failsWith("forbidden"));
  });
});

describe("an operator", () => {
  const reads: [string, object][] = [
    ["health:forOperators", {}],
    ["accounts:list", { cursor: null, limit: 10 }],
    ["apiKeys:list", { accountId: "x" }],
  ];

  test.each(reads)("%s is for the permission operate:holdfast alone", async (path, args) => {
    await link("kp_a");
    await expect(backend.as({ subject: "kp_a" }).query(path, { ...args })).rejects.toEqual(
      failsWith("forbidden"),
    );
    const other = backend.as({ subject: "kp_a", permissions: ["operate:something"] });
    await expect(other.query(path, { ...args })).rejects.toEqual(failsWith("forbidden"));
    const operator = backend.as({ subject: "kp_a", permissions: ["x", "operate:holdfast"] });
    expect(await operator.query(path, { ...args })).toEqual(expect.any(Object));
  });

  test("leaves the own name in the audit", async () => {
    const operator = backend.as({ subject: "kp_op", permissions: ["operate:holdfast"] });
    await operator.mutation("accounts:create", { name: "made by hand" });
    expect(await backend.readAll("audit")).toMatchObject([{ actor: "kp_op", action: "account_created" }]);
  });
});

test("coming back from the plan page asks for a read that is sent afterwards", async () => {
  const id = await link("kp_a");
  const lease = () => backend.mutation<string | null>("limits:requireAndGrant", { accountId: id });
  const sentAtMs = backend.nowMs();
  const first = await lease();
  expect(first).toBe("tokens.1");
  expect(await lease()).toBeNull();
  const read = {
    accountId: id,
    feature: "tokens",
    fence: 1,
    limitUnits: 10,
    planKey: "pro",
    subscribedAtMs: 5,
  };
  await backend.mutation("limits:storeRead", { ...read, sentAtMs: sentAtMs - 1 });
  expect(await backend.readAll("limits")).toMatchObject([{ refreshRequiredAtMs: expect.any(Number) }]);
  await lease();
  await backend.mutation("limits:storeRead", { ...read, fence: 2, sentAtMs: backend.nowMs() + 1 });
  expect(await backend.readAll("limits")).toMatchObject([
    { limitUnits: 10, planKey: "pro", refreshRequiredAtMs: null },
  ]);
  expect(await backend.readAll("accounts")).toMatchObject([
    { cycleAnchorMs: 5, cycleAnchorSource: "subscription" },
  ]);
});
