import { afterEach, beforeEach, expect, test } from "vitest";

import type { RefusedView } from "../../convex/screensRefusals";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { REFUSALS_PER_MINUTE_MAX } from "../../lib/gate/refusal-rows.ts";
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
      times: 1,
    },
  ]);
  expect(refused[0]?.refusal.code).toBe("limit_reached");
});

test("newest first, in pages that give each once", async () => {
  const keys = Array.from({ length: 2 * PAGE + 3 }, (_none, index) => `k${index}`);
  for (const key of keys) {
    await refuse(key);
    await backend.advanceMs(5_000);
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

test("a flood becomes 21 rows a minute; the last counts what has no row of its own, with the numbers of the last", async () => {
  await backend.advanceMs(60_000 - (backend.nowMs() % 60_000));
  for (let index = 1; index <= 300; index += 1) await refuse(`k${index}`, { units: 5_000 + index });
  const rows = await backend.readAll<StoredRow & { times: number }>("refusals");
  expect(rows).toHaveLength(REFUSALS_PER_MINUTE_MAX + 1);
  expect(rows.reduce((sum, { times }) => sum + times, 0)).toBe(300);
  expect((await read(null)).refused.slice(0, 2)).toMatchObject([
    { key: "k300", requestedUnits: 5_300, times: 280 },
    { key: "k20", requestedUnits: 5_020, times: 1 },
  ]);
  await backend.advanceMs(60_000);
  await refuse("next");
  expect((await read(null)).refused[0]).toMatchObject({ key: "next", times: 1 });
}, 60_000);

test("one account's flood takes nothing from another", async () => {
  for (let index = 0; index < 25; index += 1) await refuse(`k${index}`);
  const other = await createTenant(backend, { limitUnits: 1_000 });
  expect(await other.admit({ key: "a", units: 5_000 })).toMatchObject({ kind: "refused" });
  expect((await read(null, other)).refused).toMatchObject([{ key: "a", times: 1 }]);
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
