import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  type Backend,
  createBackend,
  OPERATOR_KEY_HASH,
  SERVER_SECRET,
  SERVER_SECRET_BEFORE,
  type StoredRow,
} from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface KeyView {
  readonly id: string;
  readonly prefix: string;
  readonly revokedAtMs: number | null;
  readonly lastUsedAtMs: number | null;
}

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 100 });
});
afterEach(() => backend.close());

function failsWith(code: string) {
  return expect.objectContaining({ data: expect.objectContaining({ code }) });
}

describe("server secret", () => {
  test("both accepted secrets open, during a rotation", async () => {
    for (const serverSecret of [SERVER_SECRET, SERVER_SECRET_BEFORE]) {
      expect(await backend.query("health:get", { serverSecret })).toMatchObject({
        nowMs: expect.any(Number),
      });
    }
  });

  const lastIsOther = `${SERVER_SECRET.slice(0, -1)}${SERVER_SECRET.endsWith("x") ? "y" : "x"}`;
  const faulty = ["c".repeat(64), lastIsOther, SERVER_SECRET.slice(1), SERVER_SECRET.slice(0, -1)];
  test.each(["", ...faulty, `${SERVER_SECRET},${SERVER_SECRET_BEFORE}`])(
    "%j opens nothing",
    async (serverSecret) => {
      const keys = { serverSecret, keyHash: tenant.keyHash };
      await expect(backend.query("health:get", { serverSecret })).rejects.toEqual(
        failsWith("server_refused"),
      );
      await expect(backend.query("gate:usage", keys)).rejects.toEqual(failsWith("server_refused"));
      await expect(backend.action("ops:sweep", { ...keys, keyHash: OPERATOR_KEY_HASH })).rejects.toEqual(
        failsWith("server_refused"),
      );
    },
  );
});

describe("API keys", () => {
  test("an unknown key is not authorized, in queries, mutations and actions", async () => {
    const keys = { serverSecret: SERVER_SECRET, keyHash: "f".repeat(64) };
    await expect(backend.query("gate:usage", keys)).rejects.toEqual(failsWith("unauthorized"));
    await expect(backend.mutation("gate:admit", { ...keys, key: "k", units: 1 })).rejects.toEqual(
      failsWith("unauthorized"),
    );
    await expect(backend.action("limits:refresh", { ...keys, refreshLease: "tokens.1" })).rejects.toEqual(
      failsWith("unauthorized"),
    );
  });

  test("a key without the scope is forbidden", async () => {
    const keyHashNew = "e".repeat(64);
    const operator = operatorOf(backend);
    const args = {
      accountId: tenant.accountId,
      keyHashNew,
      prefix: "hf_live_ro",
      name: "read",
      scopes: ["jobs:read"],
    };
    await operator.mutation("apiKeys:create", args);
    const keys = { serverSecret: SERVER_SECRET, keyHash: keyHashNew };
    expect(await backend.query("gate:listJobs", { ...keys, cursor: null, limit: 10 })).toMatchObject({
      jobs: [],
    });
    await expect(backend.query("gate:usage", keys)).rejects.toEqual(failsWith("forbidden"));
    await expect(backend.mutation("gate:admit", { ...keys, key: "k", units: 1 })).rejects.toEqual(
      failsWith("forbidden"),
    );
  });

  test("a revoked key stops at once, and a rotated one changes its secret and keeps its id", async () => {
    const operator = operatorOf(backend);
    const { accountId } = tenant;
    const list = () => operator.query<{ apiKeys: KeyView[] }>("apiKeys:list", { accountId });
    const key = (await list()).apiKeys[0]!;
    const rotation = { accountId, apiKeyId: key.id, keyHashNew: "d".repeat(64), prefix: "hf_live_new" };
    expect(await operator.mutation("apiKeys:rotate", rotation)).toMatchObject({
      kind: "rotated",
      apiKey: { id: key.id, prefix: "hf_live_new" },
    });
    await expect(tenant.usage()).rejects.toEqual(failsWith("unauthorized"));
    const rotated = { serverSecret: SERVER_SECRET, keyHash: "d".repeat(64) };
    expect(await backend.query("gate:usage", rotated)).toMatchObject({ accountId });

    expect(await operator.mutation("apiKeys:revoke", { accountId, apiKeyId: key.id })).toMatchObject({
      kind: "revoked",
    });
    await expect(backend.query("gate:usage", rotated)).rejects.toEqual(failsWith("unauthorized"));
    expect((await list()).apiKeys).toMatchObject([{ id: key.id, revokedAtMs: expect.any(Number) }]);
    expect(await operator.mutation("apiKeys:rotate", rotation)).toEqual({ kind: "not_found" });
  });

  test("a key of another account cannot be touched through this one", async () => {
    const stranger = await createTenant(backend);
    const operator = operatorOf(backend);
    const { apiKeys } = await operator.query<{ apiKeys: KeyView[] }>("apiKeys:list", {
      accountId: tenant.accountId,
    });
    const args = { accountId: stranger.accountId, apiKeyId: apiKeys[0]!.id };
    expect(await operator.mutation("apiKeys:revoke", args)).toEqual({ kind: "not_found" });
    expect(await tenant.usage()).toMatchObject({ accountId: tenant.accountId });
  });

  test("use is noted at most once a minute", async () => {
    const lastUsedAtMs = async () => (await backend.readAll<StoredRow & KeyView>("apiKeys"))[0]!.lastUsedAtMs;
    await tenant.start({ key: "a", units: 1 });
    const first = await lastUsedAtMs();
    await backend.advanceMs(30_000);
    await tenant.start({ key: "b", units: 1 });
    expect(await lastUsedAtMs()).toBe(first);
    await backend.advanceMs(31_000);
    await tenant.start({ key: "c", units: 1 });
    expect(await lastUsedAtMs()).toBeGreaterThan(first!);
  });
});

describe("operator", () => {
  test("an account's key is not an operator's", async () => {
    const keys = { serverSecret: SERVER_SECRET, keyHash: tenant.keyHash };
    await expect(backend.mutation("accounts:create", { ...keys, name: "x" })).rejects.toEqual(
      failsWith("forbidden"),
    );
    await expect(backend.action("ops:audit", keys)).rejects.toEqual(failsWith("forbidden"));
  });

  test("where no operator key is set nobody has it, not even the empty one", async () => {
    await backend.close();
    backend = await createBackend({ env: { HOLDFAST_OPERATOR_KEY_HASH: "" } });
    for (const keyHash of ["", OPERATOR_KEY_HASH]) {
      const keys = { serverSecret: SERVER_SECRET, keyHash };
      await expect(backend.action("ops:audit", keys)).rejects.toEqual(failsWith("forbidden"));
    }
  });

  test("an operator's key is not an account's", async () => {
    const keys = { serverSecret: SERVER_SECRET, keyHash: OPERATOR_KEY_HASH };
    await expect(backend.query("gate:usage", keys)).rejects.toEqual(failsWith("unauthorized"));
  });

  test("an account starts its cycles where the operator says, until its first job", async () => {
    const operator = operatorOf(backend);
    const anchored = await createTenant(backend, {
      limitUnits: 100,
      cycleAnchor: "2026-01-31T23:30:00+11:00",
    });
    const view = () => operator.query("accounts:get", { accountId: anchored.accountId });
    const anchorMs = Date.UTC(2026, 0, 31, 12, 30);
    expect(await view()).toMatchObject({ cycleAnchorMs: anchorMs, cycleAnchorSource: "operator" });
    const move = { accountId: anchored.accountId, cycleAnchor: "2026-02-03" };
    expect(await operator.mutation("accounts:setCycleAnchor", move)).toMatchObject({ kind: "set" });
    await anchored.start({ key: "k", units: 1 });
    expect(await operator.mutation("accounts:setCycleAnchor", move)).toMatchObject({ kind: "frozen" });
    expect(await view()).toMatchObject({ cycleAnchorMs: Date.UTC(2026, 1, 3) });
  });

  test("A06: an account of 3 February resets on the 3rd, twelve cycles later on 3 February", async () => {
    const operator = operatorOf(backend);
    const anchored = await createTenant(backend, { limitUnits: 100, cycleAnchor: "2026-02-03T09:00:00Z" });
    expect(await operator.query("accounts:get", { accountId: anchored.accountId })).toMatchObject({
      cycleAnchorMs: Date.UTC(2026, 1, 3, 9),
    });
    expect((await anchored.usage()).cycle).toEqual({
      name: "2026-10",
      startMs: Date.UTC(2026, 9, 3, 9),
      endMs: Date.UTC(2026, 10, 3, 9),
    });
    const inTwelve = { nowMs: Date.UTC(2027, 0, 20) };
    expect(await anchored.query("gate:usage", inTwelve)).toMatchObject({
      cycle: { endMs: Date.UTC(2027, 1, 3, 9) },
    });
  });

  test.each([
    ["accounts:create", { name: "" }],
    ["accounts:create", { name: "x", limitUnits: 1.5 }],
    ["accounts:create", { name: "x", jobsPerMinute: -1 }],
    ["accounts:create", { name: "x", cycleAnchor: "31 January" }],
    ["accounts:create", { name: "x", cycleAnchor: "2026-01-31T23:30" }],
  ])("%s refuses %o", async (path, args) => {
    await expect(operatorOf(backend).mutation(path, args)).rejects.toEqual(failsWith("invalid"));
    expect(await backend.readAll("accounts")).toHaveLength(1);
  });

  test("a rate that an operator sets counts from the next admission", async () => {
    const operator = operatorOf(backend);
    const { accountId } = tenant;
    expect(await operator.mutation("accounts:setRate", { accountId, jobsPerMinute: 1 })).toMatchObject({
      kind: "set",
      account: { jobsPerMinute: 1 },
    });
    await tenant.start({ key: "a", units: 1 });
    expect(await tenant.admit({ key: "b", units: 1 })).toMatchObject({ refusal: { code: "rate_limited" } });
  });

  test("accounts are listed newest first, page by page", async () => {
    const operator = operatorOf(backend);
    for (let index = 0; index < 4; index += 1) await createTenant(backend);
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { accounts: { id: string }[]; cursor: string | null } = await operator.query(
        "accounts:list",
        {
          cursor,
          limit: 2,
        },
      );
      names.push(...page.accounts.map((account) => account.id));
      cursor = page.cursor;
    } while (cursor !== null);
    expect(names).toHaveLength(5);
    expect(names.at(-1)).toBe(tenant.accountId);
  });
});

describe("reading jobs", () => {
  test("lists by status and kind, page by page, and estimates a kind", async () => {
    for (const [index, kind] of ["a", "b", "a", "b", "a"].entries()) {
      const job = await tenant.start({ key: `k${index}`, units: 10, kind });
      if (index < 3) await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: index + 1 });
    }
    const list = (args: object) =>
      tenant.query<{ jobs: { key: string }[]; cursor: string | null }>("gate:listJobs", {
        cursor: null,
        limit: 100,
        ...args,
      });
    const keys = async (args: object) => (await list(args)).jobs.map((job) => job.key);
    expect(await keys({})).toEqual(["k4", "k3", "k2", "k1", "k0"]);
    expect(await keys({ kind: "a" })).toEqual(["k4", "k2", "k0"]);
    expect((await keys({ status: "running" })).toSorted()).toEqual(["k3", "k4"]);
    const first = await list({ limit: 2 });
    expect((await list({ limit: 2, cursor: first.cursor })).jobs.map((job) => job.key)).toEqual(["k2", "k1"]);
    await expect(list({ limit: 101 })).rejects.toEqual(failsWith("invalid"));

    expect(await tenant.query("gate:estimates", { kind: "a" })).toMatchObject({
      kinds: [{ kind: "a", jobs: 2, p50UsedUnits: 1, p90UsedUnits: 3, lockedUnits: 16, cappedShare: 0 }],
    });
  });
});
