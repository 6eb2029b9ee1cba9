import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { EntryView } from "../../convex/entryRows";
import { type Backend, createBackend, SERVER_SECRET, START_MS, type StoredRow } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface Page {
  readonly cycle: { readonly name: string };
  readonly entries: EntryView[];
  readonly cursor: string | null;
}
interface Why {
  readonly entry: EntryView;
  readonly facts: { readonly cap: object | null; readonly confirmed: object | null };
}

/** In the first cycle of an account that is made at the start. */
const AT_MS = START_MS + 60_000;

let backend: Backend;
let tenant: Tenant;
let link: { id: string; code: string };
let clicksMade = 0;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 1000 });
  link = await createLink(tenant, {});
});
afterEach(() => backend.close());

async function createLink(owner: Tenant, fields: object) {
  const answer = await owner.mutation<{ link: { id: string; code: string } }>("links:create", {
    target: "https://example.com/",
    ...fields,
  });
  return answer.link;
}

function click(atMs: number, more: object = {}) {
  clicksMade += 1;
  return {
    key: clicksMade.toString(16).padStart(32, "0"),
    linkId: link.id,
    accountId: tenant.accountId,
    atMs,
    served: "target",
    class: "billable",
    rule: "no rule against it",
    referrer: `https://news.example/${clicksMade}`,
    agent: "Mozilla/5.0",
    ...more,
  };
}

async function record(clicks: ReturnType<typeof click>[]): Promise<void> {
  const sent = { serverSecret: SERVER_SECRET, linkId: link.id, accountId: tenant.accountId, clicks };
  expect(await backend.mutation("clicks:record", sent)).toEqual({ kind: "written", count: clicks.length });
}

async function jobOf(units: number, key: string): Promise<void> {
  const job = await tenant.start({ key, units });
  await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: units, fence: job.fence });
}

async function readAllPages(args: object): Promise<EntryView[]> {
  const entries: EntryView[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await tenant.query("entries:list", { ...args, cursor });
    entries.push(...page.entries);
    ({ cursor } = page);
  } while (cursor !== null);
  return entries;
}

const bot = { class: "bot", rule: "the agent names a bot" };

describe("the rows of a cycle", () => {
  test("pages of every size give each row once in time order, over both features, also where times are equal", async () => {
    await record([5, 1, 1, 1, 3, 3].map((second) => click(AT_MS - second * 1000)));
    await jobOf(7, "a");
    await backend.advanceMs(1000);
    await jobOf(8, "b");
    await record([click(AT_MS - 1000), click(AT_MS)]);

    const whole = await readAllPages({ limit: 100 });
    const stored = await backend.readAll<StoredRow>("entries");
    expect(whole.map(({ id }) => id).toSorted()).toEqual(stored.map((row) => row._id).toSorted());
    expect(whole.map(({ atMs }) => atMs)).toEqual(whole.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    for (const limit of [1, 2, 3]) expect(await readAllPages({ limit })).toEqual(whole);
    const tokens = await readAllPages({ limit: 1, feature: "tokens" });
    expect(tokens.map(({ units, origin }) => [units, origin.kind === "job" && origin.jobKey])).toEqual([
      [7, "a"],
      [8, "b"],
    ]);
    const exported = await tenant.query<Page>("entries:exportPage", { cursor: null });
    expect(exported).toMatchObject({ cycle: { name: "2026-10" }, entries: whole, cursor: null });
  });

  test("what counts for nothing is listed on request only, and does not stop a listing", async () => {
    // More in a row than one page looks through.
    for (let batch = 0; batch < 11; batch += 1) {
      await record(Array.from({ length: 100 }, () => click(AT_MS - 5000, bot)));
    }
    await record([click(AT_MS)]);
    const first = await tenant.query<Page>("entries:list", { limit: 10, cursor: null });
    expect(first.entries).toEqual([]);
    expect(first.cursor).not.toBeNull();
    const billed = await readAllPages({ limit: 10 });
    expect(billed.map(({ units }) => units)).toEqual([1]);
    expect(await readAllPages({ limit: 100, all: true })).toHaveLength(1101);
  });

  test("a cycle is read by its name, and the current one by none", async () => {
    await record([click(AT_MS)]);
    expect(await readAllPages({ limit: 10, cycle: "2026-10" })).toHaveLength(1);
    expect(await readAllPages({ limit: 10, cycle: "2026-09" })).toEqual([]);
    expect(await readAllPages({ limit: 10 })).toHaveLength(1);
    expect(await readAllPages({ limit: 10, nowMs: START_MS + 31 * 86_400_000 })).toEqual([]);
  });

  test.each([{ limit: 101 }, { limit: 0 }, { limit: 1, cursor: "nonsense" }, { limit: 1, cycle: "October" }])(
    "%j is refused",
    async (args) => {
      const call = tenant.query("entries:list", { cursor: null, ...args });
      await expect(call).rejects.toMatchObject({ data: { code: "invalid" } });
    },
  );

  test("another account sees none of them, also with a cursor of this one", async () => {
    await record([click(AT_MS - 1000), click(AT_MS)]);
    const [entry] = await readAllPages({ limit: 100 });
    const { cursor } = await tenant.query<Page>("entries:list", { limit: 1, cursor: null });
    const other = await createTenant(backend);
    for (const at of [null, cursor]) {
      expect((await other.query<Page>("entries:list", { limit: 100, cursor: at })).entries).toEqual([]);
    }
    expect(await other.query("entries:why", { entryId: entry?.id })).toBeNull();
  });
});

describe("why", () => {
  test("a click: its link, its rule and the cap with what is billed on it", async () => {
    link = await createLink(tenant, { capUnits: 2 });
    await record([click(AT_MS), click(AT_MS), click(AT_MS, bot)]);
    const entries = await readAllPages({ limit: 100, all: true });
    const found = await tenant.query<Why>("entries:why", { entryId: entries.at(-1)?.id });
    expect(found).toMatchObject({
      entry: { units: 0, origin: { kind: "click", code: link.code, class: "bot", rule: bot.rule } },
      facts: {
        cycle: { name: "2026-10" },
        cap: { capUnits: 2, billedUnits: 2 },
        job: null,
        ledgerUnits: 2,
        confirmed: null,
      },
    });
  });

  test("a job: its key and the cycle that admitted it; the confirmed total comes from the report", async () => {
    await jobOf(7, "a");
    const [entry] = await readAllPages({ limit: 1 });
    const found = await tenant.query<Why>("entries:why", { entryId: entry?.id });
    expect(found).toMatchObject({
      entry: { units: 7, origin: { kind: "job", jobKey: "a", budgetCycle: "2026-10" } },
      facts: {
        cap: null,
        job: { status: "completed", heldUnits: 7, usedUnits: 7, overCapUnits: 0 },
        ledgerUnits: 7,
      },
    });
  });

  test("a job that wanted more than it held, and one whose lease ended, with the total of both", async () => {
    const capped = await tenant.start({ key: "capped", units: 100 });
    await tenant.charge({ jobId: capped.id, step: 1, units: 130, fence: capped.fence });
    const lapsed = await tenant.start({ key: "lapsed", units: 50, leaseMs: 60_000 });
    await tenant.charge({ jobId: lapsed.id, step: 1, units: 20, fence: lapsed.fence });
    await backend.advanceMs(60_000);
    await operatorOf(backend).sweep();
    const facts = [];
    for (const { id } of await readAllPages({ limit: 10 })) {
      facts.push((await tenant.query<Why>("entries:why", { entryId: id })).facts);
    }
    expect(facts).toMatchObject([
      { job: { status: "capped", heldUnits: 100, usedUnits: 100, overCapUnits: 30 }, ledgerUnits: 120 },
      { job: { status: "expired", heldUnits: 50, usedUnits: 20, overCapUnits: 0 }, ledgerUnits: 120 },
    ]);
  });

  test("an id of another table or of none is no entry", async () => {
    for (const entryId of [link.id, "x", ""]) {
      expect(await tenant.query("entries:why", { entryId })).toBeNull();
    }
  });
});

test("a sign-in without an account reads nothing", async () => {
  const stranger = backend.as({ subject: "kp_1" });
  await expect(stranger.query("entries:list", { limit: 1, cursor: null })).rejects.toMatchObject({
    data: { code: "no_account" },
  });
});
