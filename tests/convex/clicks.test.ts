import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { LinkView } from "../../convex/links.ts";
import type { Click, WriteOutcome } from "../../lib/server/redirect/click.ts";
import {
  type Backend,
  type BackendOptions,
  createBackend,
  SERVER_SECRET,
  START_MS,
  type StoredRow,
} from "../helpers/backend.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

interface Entry extends StoredRow {
  readonly key: string;
  readonly units: number;
  readonly accountId: string;
  readonly meterId: string;
  readonly shard: number;
  readonly cycle: string;
  readonly origin: { readonly class: string; readonly rule: string; readonly referrer: string | null };
}

let backend: Backend;
let tenant: Tenant;
let link: LinkView;
let failing: string | null;
beforeEach(() => open());
afterEach(() => backend.close());

async function open(options: BackendOptions = {}): Promise<void> {
  failing = null;
  backend = await createBackend({
    ...options,
    beforeWrite: (table) => {
      if (table !== failing) return;
      failing = null;
      throw new Error(`no write to ${table}`);
    },
  });
  tenant = await createTenant(backend);
  link = await make();
}

async function make(args: object = {}): Promise<LinkView> {
  const made = await tenant.mutation<{ link: LinkView }>("links:create", {
    target: "https://example.com",
    ...args,
  });
  return made.link;
}

let keysMade = 0;
function click(fields: Partial<Click> = {}): Click {
  keysMade += 1;
  return {
    key: keysMade.toString(16).padStart(32, "0"),
    linkId: link.id,
    accountId: tenant.accountId,
    atMs: backend.nowMs(),
    served: "target",
    class: "billable",
    rule: "no rule against it",
    referrer: null,
    agent: "Mozilla/5.0",
    ...fields,
  };
}

const clicks = (count: number, fields: Partial<Click> = {}) =>
  Array.from({ length: count }, () => click(fields));

const record = (sent: readonly Click[], linkId = link.id) =>
  backend.mutation<WriteOutcome>("clicks:record", {
    serverSecret: SERVER_SECRET,
    linkId,
    accountId: tenant.accountId,
    clicks: [...sent],
  });

const entries = () => backend.readAll<Entry>("entries");
const counterSum = async () =>
  (await backend.readAll<StoredRow & { units: number }>("shards")).reduce((sum, { units }) => sum + units, 0);
const billed = async (id = link.id) =>
  (await tenant.query<LinkView>("links:get", { linkId: id })).billedUnits;

async function statsOf(id = link.id): Promise<Record<string, number>> {
  const span = { linkId: id, fromMs: backend.nowMs() - 86_400_000, untilMs: backend.nowMs() + 86_400_000 };
  const { hours } = await tenant.query<{ hours: { clicks: Record<string, number> }[] }>("links:stats", span);
  const sums: Record<string, number> = {};
  for (const { clicks: counts } of hours) {
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}

describe("a batch of clicks", () => {
  test("is entries, one counter, one mark, the total and the stats of the link", async () => {
    expect(await record(clicks(100))).toEqual({ kind: "written", count: 100 });
    const rows = await entries();
    expect(rows).toHaveLength(100);
    expect(new Set(rows.map(({ meterId, shard }) => `${meterId} ${shard}`)).size).toBe(1);
    expect(await backend.readAll("shards")).toMatchObject([{ units: 100 }]);
    expect(await backend.readAll("marks")).toHaveLength(1);
    expect(await backend.readAll("linkTotals")).toMatchObject([{ billedUnits: 100 }]);
    expect(await backend.readAll("linkStats")).toMatchObject([{ class: "billable", count: 100 }]);
    expect(await billed()).toBe(100);
  });

  test("B01, B02, B03: HEAD, bots and prefetches are rows with 0 units and their rule", async () => {
    const seen = [
      ...clicks(3, { class: "head", rule: "method: HEAD" }),
      click({ class: "bot", rule: "isbot: Googlebot" }),
      click({ class: "bot", rule: "no agent", agent: null }),
      click({ class: "prefetch", rule: "sec-purpose: prefetch" }),
    ];
    await record(seen);
    const rows = await entries();
    expect(rows.map(({ units, origin }) => [units, origin.class, origin.rule])).toEqual(
      seen.map((sent) => [0, sent.class, sent.rule]),
    );
    expect(await backend.readAll("shards")).toEqual([]);
    expect([await billed(), await statsOf()]).toEqual([0, { head: 3, bot: 2, prefetch: 1 }]);
  });

  test("freezes the anchor of its account", async () => {
    await record([click()]);
    expect(await backend.readAll("accounts")).toMatchObject([{ cycleAnchorFrozenAtMs: START_MS }]);
  });

  test("S9: is cut where another cycle begins, and the rest is written by the next one", async () => {
    tenant = await createTenant(backend, { cycleAnchor: "2026-10-20T15:29Z" });
    link = await make();
    const boundaryMs = Date.UTC(2026, 10, 20, 15, 29);
    const sent = [boundaryMs - 1, boundaryMs, boundaryMs + 1].map((atMs) => click({ atMs }));
    expect(await record(sent)).toEqual({ kind: "written", count: 1 });
    expect(await record(sent.slice(1))).toEqual({ kind: "written", count: 2 });
    expect((await entries()).map(({ cycle }) => cycle)).toEqual(["2026-10", "2026-11", "2026-11"]);
  });
});

describe("a key that is there", () => {
  test("B28, B30: ten times in parallel and again the next day is one row", async () => {
    await backend.close();
    await open({ startMs: Date.UTC(2026, 9, 10, 23, 59) });
    const sent = click();
    await Promise.all(Array.from({ length: 10 }, () => record([sent])));
    await backend.advanceMs(120_000);
    expect(await record([sent])).toEqual({ kind: "written", count: 1 });
    expect([(await entries()).length, await counterSum(), await billed(), await statsOf()]).toEqual([
      1,
      1,
      1,
      { billable: 1 },
    ]);
  });

  test("B28: twice in one batch is one row", async () => {
    const sent = click();
    expect(await record([sent, sent, click()])).toEqual({ kind: "written", count: 3 });
    expect([(await entries()).length, await billed()]).toEqual([2, 2]);
  });

  test("B29: with another referrer changes nothing", async () => {
    const sent = click({ referrer: "https://first.example/" });
    await record([sent]);
    const before = await entries();
    await record([{ ...sent, referrer: "https://second.example/", class: "bot", rule: "isbot: x" }]);
    expect(await entries()).toEqual(before);
    expect(await statsOf()).toEqual({ billable: 1 });
  });

  test("B28: on eight lanes that conflict, 10 writers of one batch add it once", async () => {
    await backend.close();
    await open({ concurrency: 8 });
    const sent = clicks(10);
    const tries = Array.from({ length: 10 }, async () => {
      for (;;) {
        try {
          return await record(sent);
        } catch (error) {
          if (!(error as Error).message.includes("changed while this mutation")) throw error;
        }
      }
    });
    await Promise.all(tries);
    expect([(await entries()).length, await counterSum(), await billed()]).toEqual([10, 10, 10]);
  });
});

describe("a write that fails", () => {
  test.each(["entries", "meters", "shards", "marks", "linkTotals", "linkStats"])(
    "B27: in %s writes nothing, and the retry counts one",
    async (table) => {
      const sent = click();
      failing = table;
      await expect(record([sent])).rejects.toThrow(`no write to ${table}`);
      for (const other of ["entries", "meters", "shards", "marks", "linkTotals", "linkStats"]) {
        expect(await backend.readAll(other)).toEqual([]);
      }
      expect(await record([sent])).toEqual({ kind: "written", count: 1 });
      expect([(await entries()).length, await counterSum(), await billed()]).toEqual([1, 1, 1]);
    },
  );
});

describe("the state of the link", () => {
  test.each([1, 8])("a cap is billed exactly with batches at once, on %i lanes", async (lanes) => {
    await backend.close();
    await open({ concurrency: lanes });
    link = await make({ capUnits: 70 });
    const batches = Array.from({ length: 20 }, () => clicks(10));
    await Promise.all(
      batches.map(async (batch) => {
        for (;;) {
          try {
            return await record(batch);
          } catch (error) {
            if (!(error as Error).message.includes("changed while this mutation")) throw error;
          }
        }
      }),
    );
    expect([(await entries()).length, await counterSum(), await billed()]).toEqual([200, 70, 70]);
    expect(await statsOf()).toEqual({ billable: 70, over_cap: 130 });
  });

  test("is over its cap for the redirect once the cap is billed, until the cap is raised", async () => {
    link = await make({ capUnits: 2, overCapTarget: "https://example.org/over" });
    const resolve = () => backend.query("links:resolve", { serverSecret: SERVER_SECRET, code: link.code });
    await record([click(), click({ class: "bot", rule: "no agent" })]);
    expect(await resolve()).toMatchObject({ isOverCap: false });
    await record([click()]);
    expect(await resolve()).toMatchObject({ isOverCap: true, overCapLocation: "https://example.org/over" });
    await tenant.mutation("links:update", { linkId: link.id, capUnits: 3 });
    expect(await resolve()).toMatchObject({ isOverCap: false });
    await record([click(), click(), click({ served: "over_cap_target" })]);
    expect(await statsOf()).toEqual({ billable: 3, bot: 1, over_cap: 2 });
  });

  test("counts at the instant of the click: before it was disabled is billed, after it is not", async () => {
    await backend.advanceMs(1_000);
    await tenant.mutation("links:update", { linkId: link.id, isActive: false });
    const nowMs = backend.nowMs();
    await record([click({ atMs: nowMs - 1 }), click({ atMs: nowMs })]);
    expect(await statsOf()).toEqual({ billable: 1, inactive: 1 });
  });

  test("a click on a deleted link is a row with 0 units", async () => {
    await tenant.mutation("links:remove", { linkId: link.id });
    expect(await record([click({ served: "inactive_page" })])).toMatchObject({ kind: "written" });
    expect(await entries()).toMatchObject([{ units: 0, origin: { class: "inactive" } }]);
  });
});

describe("whose click it is", () => {
  test("the account of the link pays, whatever account the web process remembers", async () => {
    const other = await createTenant(backend);
    const sent = click({ accountId: other.accountId });
    expect(await record([sent])).toMatchObject({ kind: "written" });
    expect(await entries()).toMatchObject([{ accountId: tenant.accountId }]);
  });

  test("the account that the owner was merged into pays", async () => {
    const survivor = await createTenant(backend);
    await backend.patchRow(tenant.accountId, { mergedIntoAccountId: survivor.accountId });
    await record([click()]);
    expect(await entries()).toMatchObject([{ accountId: survivor.accountId }]);
  });

  test("a lab account is counted in a meter of no agreement", async () => {
    await backend.patchRow(tenant.accountId, { source: "lab" });
    await record([click()]);
    expect(await backend.readAll("meters")).toMatchObject([{ agreementId: null }]);
  });
});

describe("what can never be a row", () => {
  test.each([
    ["no key of a click", { key: "k" }],
    ["a class that nobody knows", { class: "paid" }],
    ["an answer that nobody gave", { served: "elsewhere" }],
    ["an instant past all cycles", { atMs: 9e15 }],
    ["half a millisecond", { atMs: 0.5 }],
    ["a referrer that was not cut", { referrer: "x".repeat(513) }],
    ["an agent of 64 KB", { agent: "x".repeat(65_536) }],
    ["another link", { linkId: "elsewhere" }],
  ] as [string, Partial<Click>][])("%s is refused and does not throw", async (_name, fields) => {
    expect(await record([click(fields)])).toMatchObject({ kind: "refused", reason: expect.any(String) });
    expect(await entries()).toEqual([]);
  });

  test("a link that is not there, no click at all, and more than a hundred", async () => {
    expect(await record([click({ linkId: "x" })], "x")).toMatchObject({ kind: "refused" });
    expect(await record([])).toMatchObject({ kind: "refused" });
    expect(await record(clicks(101))).toMatchObject({ kind: "refused" });
  });

  test("only our server may say that there was a click", async () => {
    const sent = { linkId: link.id, accountId: tenant.accountId, clicks: [click()] };
    const refused = expect.objectContaining({ data: expect.objectContaining({ code: "server_refused" }) });
    await expect(backend.mutation("clicks:record", { serverSecret: "x", ...sent })).rejects.toEqual(refused);
    expect(await entries()).toEqual([]);
  });
});

describe("stats", () => {
  test("are by hour and class, of the hours asked for", async () => {
    const hourMs = START_MS;
    for (const atMs of [hourMs - 1, hourMs, hourMs + 3_599_999, hourMs + 3_600_000])
      await record([click({ atMs })]);
    await record([click({ atMs: hourMs, class: "bot", rule: "no agent" })]);
    const args = { linkId: link.id, fromMs: hourMs + 5, untilMs: hourMs + 3_600_000 };
    expect(await tenant.query("links:stats", args)).toEqual({
      kind: "read",
      hours: [{ hourMs, clicks: { billable: 2, bot: 1 } }],
      nextFromMs: null,
    });
  });

  test.each([
    [5, 5],
    [6, 5],
    [0, 32 * 86_400_000],
    [Number.NaN, 5],
  ])("from %d until %d is no span", async (fromMs, untilMs) => {
    const answer = await tenant.query("links:stats", { linkId: link.id, fromMs, untilMs });
    expect(answer).toMatchObject({ kind: "invalid", errors: [{ path: "fromMs" }] });
  });
});
