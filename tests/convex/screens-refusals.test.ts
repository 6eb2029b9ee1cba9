import { afterEach, beforeEach, expect, test } from "vitest";

import type { RefusedView } from "../../convex/screensRefusals";
import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface Page {
  readonly refused: RefusedView[];
  readonly cursor: string | null;
}

/** Refusals of a page. */
const PAGE = 10;

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 1_000 });
});
afterEach(() => backend.close());

const read = (cursor: string | null, of = tenant): Promise<Page> =>
  of.query<Page>("screensRefusals:recent", { cursor });

async function refuse(key: string, more: object = {}): Promise<void> {
  const answer = await tenant.admit({ key, units: 5_000, ...more });
  expect(answer.kind).toBe("refused");
}

test("a refused job is there with what it asked for and the same reason as the answer", async () => {
  expect(await read(null)).toEqual({ refused: [], cursor: null });
  const answer = await tenant.admit({ key: "a", kind: "report", units: 5_000 });
  if (answer.kind !== "refused") throw new Error("it was admitted");
  const { refused, cursor } = await read(null);
  expect(cursor).toBeNull();
  expect(refused).toEqual([
    {
      id: expect.any(String),
      key: "a",
      kind: "report",
      requestedUnits: 5_000,
      refusal: answer.refusal,
      atMs: backend.nowMs(),
    },
  ]);
  expect(refused[0]?.refusal.code).toBe("limit_reached");
});

test("newest first, in pages that give each once", async () => {
  const keys = Array.from({ length: 2 * PAGE + 3 }, (_none, index) => `k${index}`);
  for (const key of keys) {
    await refuse(key);
    await backend.advanceMs(1_000);
  }
  const found: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await read(cursor);
    found.push(...page.refused.map(({ key }) => key));
    sizes.push(page.refused.length);
    ({ cursor } = page);
  } while (cursor !== null);
  expect(found).toEqual(keys.toReversed());
  expect(sizes).toEqual([PAGE, PAGE, 3]);
});

test("jobs that started are not among them, nor are the refusals of another account", async () => {
  await tenant.start({ key: "started", units: 10 });
  await refuse("refused");
  expect((await read(null)).refused.map(({ key }) => key)).toEqual(["refused"]);
  expect(await read(null, await createTenant(backend, { limitUnits: 1_000 }))).toEqual({
    refused: [],
    cursor: null,
  });
});

test("a key that may not read jobs is turned away", async () => {
  const keyHash = "f".repeat(64);
  await operatorOf(backend).mutation("apiKeys:create", {
    accountId: tenant.accountId,
    keyHashNew: keyHash,
    prefix: "hf_live_test",
    name: "links only",
    scopes: ["links:read"],
  });
  const call = tenant.query("screensRefusals:recent", { cursor: null, keyHash });
  await expect(call).rejects.toMatchObject({ data: { code: "forbidden" } });
});
