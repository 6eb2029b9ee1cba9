import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { EntryView } from "../../convex/entryRows";
import type { LinkView } from "../../convex/links";
import type { JobView } from "../../lib/gate/job-view.ts";
import { type Backend, createBackend, SERVER_SECRET, START_MS } from "../helpers/backend.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

interface Page {
  readonly cycle: { readonly name: string };
  readonly entries: EntryView[];
  readonly cursor: string | null;
}

const AT_MS = START_MS + 60_000;
const DAY_MS = 86_400_000;

let backend: Backend;
let tenant: Tenant;
let clicksMade = 0;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 1000 });
});
afterEach(() => backend.close());

async function createLink(fields: object = {}): Promise<LinkView> {
  const answer = await tenant.mutation<{ link: LinkView }>("links:create", {
    target: "https://example.com/",
    ...fields,
  });
  return answer.link;
}

async function click(linkId: string, atMs: number, more: object = {}): Promise<void> {
  clicksMade += 1;
  const { accountId } = tenant;
  const made = {
    key: clicksMade.toString(16).padStart(32, "0"),
    linkId,
    accountId,
    atMs,
    served: "target",
    class: "billable",
    rule: "no rule against it",
    referrer: null,
    agent: "Mozilla/5.0",
    ...more,
  };
  const sent = { serverSecret: SERVER_SECRET, linkId, accountId, clicks: [made] };
  expect(await backend.mutation("clicks:record", sent)).toEqual({ kind: "written", count: 1 });
}

async function jobOf(units: number, key: string): Promise<void> {
  const job = await tenant.start({ key, units });
  await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: units, fence: job.fence });
}

async function readRecent(args: object, of = tenant): Promise<EntryView[]> {
  const entries: EntryView[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await of.query("screensEntries:recent", { all: false, ...args, cursor });
    entries.push(...page.entries);
    ({ cursor } = page);
  } while (cursor !== null);
  return entries;
}

describe("the newest entries", () => {
  test("pages give each row of both features once, the newest first, also where times are equal", async () => {
    const { id } = await createLink();
    for (let count = 0; count < 30; count += 1) await click(id, AT_MS - (count % 4) * 1000);
    for (const key of ["a", "b", "c"]) await jobOf(3, key);
    const first = await tenant.query<Page>("screensEntries:recent", { all: false, cursor: null });
    expect(first.cycle.name).toBe("2026-10");
    expect(first.cursor).not.toBeNull();
    const listed = await tenant.query<Page>("entries:list", { limit: 100, cursor: null });
    const recent = await readRecent({});
    expect(recent.map((entry) => entry.id).toSorted()).toEqual(
      listed.entries.map((entry) => entry.id).toSorted(),
    );
    const times = recent.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });

  test("the first cycle is the earliest in which either feature counted something", async () => {
    const first = (of = tenant) => of.query<string | null>("screensEntries:firstCycle", {});
    expect(await first()).toBeNull();
    await jobOf(3, "a");
    expect(await first()).toBe("2026-10");
    const { id } = await createLink();
    await click(id, AT_MS - 40 * 86_400_000);
    expect(await first()).toBe("2026-08");
    expect(await first(await createTenant(backend))).toBeNull();
  });

  test("filters: feature, link, part of a code or key, and what was not billed", async () => {
    const [one, other] = [await createLink({ code: "Autumn-26" }), await createLink()];
    await click(one.id, AT_MS);
    await click(other.id, AT_MS, { class: "bot", rule: "isbot: bot" });
    await jobOf(3, "report-1");
    const count = async (filter: object) => (await readRecent(filter)).length;
    expect(await count({})).toBe(2);
    expect(await count({ all: true })).toBe(3);
    expect(await count({ feature: "tokens" })).toBe(1);
    expect(await count({ linkId: one.id })).toBe(1);
    expect(await count({ text: "autumn" })).toBe(1);
    expect(await count({ text: "REPORT" })).toBe(1);
    expect(await count({ text: "nothing" })).toBe(0);
    expect(await count({ cycle: "2026-09" })).toBe(0);
    expect(await readRecent({ all: true }, await createTenant(backend))).toEqual([]);
  });
});

test("jobs are found by the beginning of their key, those of this account only", async () => {
  for (const key of ["report-1", "report-2", "other-1"]) await tenant.start({ key, units: 1 });
  interface Found {
    readonly jobs: JobView[];
    readonly hasMore: boolean;
  }
  const find = (keyStart: string, of = tenant) => of.query<Found>("screensLists:jobs", { keyStart });
  const found = await find("report");
  expect(found.jobs.map(({ key }) => key)).toEqual(["report-1", "report-2"]);
  expect(found.hasMore).toBe(false);
  expect((await find("report", await createTenant(backend))).jobs).toEqual([]);
});

test("links are found by code, title and target whatever the case; deleted ones and those of others are not", async () => {
  await createLink({ code: "spring", title: "Garden fair" });
  const gone = await createLink({ code: "garden" });
  await tenant.mutation("links:remove", { linkId: gone.id });
  await createLink({ target: "https://shop.example/garden?a=b" });
  const find = async (text: string, of = tenant) =>
    (await of.query<{ links: LinkView[] }>("screensLists:links", { text })).links.length;
  expect(await find("GARDEN")).toBe(2);
  expect(await find("spring")).toBe(1);
  expect(await find("winter")).toBe(0);
  expect(await find("garden", await createTenant(backend))).toBe(0);
});

test("usage by day counts settled tokens from the start of the cycle, in spans that add up", async () => {
  interface ByDay {
    readonly days: { day: number; units: number }[];
    readonly isCut: boolean;
  }
  // The first day of the cycle ends in half a minute.
  const cycleAnchor = new Date(START_MS - DAY_MS + 30_000).toISOString();
  tenant = await createTenant(backend, { limitUnits: 1000, cycleAnchor });
  await jobOf(3, "a");
  await jobOf(4, "b");
  await backend.advanceMs(60_000);
  await jobOf(5, "c");
  const { cycle } = await tenant.query<{ cycle: { name: string; startMs: number } }>("gate:usage", {});
  const read = (fromDay: number, untilDay: number | null) =>
    tenant.query<ByDay>("screensUsage:byDay", {
      cycle: { name: cycle.name, startMs: cycle.startMs },
      fromDay,
      untilDay,
    });
  const first = { day: 0, units: 7 };
  const second = { day: 1, units: 5 };
  expect(await read(0, null)).toEqual({ days: [first, second], isCut: false });
  expect(await read(0, 1)).toEqual({ days: [first], isCut: false });
  expect(await read(1, null)).toEqual({ days: [second], isCut: false });
});
