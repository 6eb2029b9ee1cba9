import type { ConvexReactClient } from "convex/react";
import { type FunctionReference, getFunctionName } from "convex/server";
import { afterEach, beforeEach, expect, test } from "vitest";

import { exportParts } from "../../app/app/account/export-parts.ts";
import { HOUR_MS } from "../../lib/shared/durations.ts";
import { type Backend, type Calls, createBackend, SERVER_SECRET, START_MS } from "../helpers/backend.ts";
import { customerEvent, deliver, PRO, settle } from "../helpers/inbox.ts";
import { createTenant } from "../helpers/tenant.ts";

interface Page {
  readonly rows: Record<string, unknown>[];
  readonly cursor: string | null;
}

const PAGED = ["links", "events", "credits", "refusals"] as const;
const UPGRADE = customerEvent("plan_changed", "event_1", new Date(START_MS).toISOString(), {
  plan: { key: PRO },
  agreement_id: "agreement_1",
});

let backend: Backend;
let me: Calls;
let accountId: string;
beforeEach(async () => {
  backend = await createBackend();
  me = backend.as({ subject: "kp_a" });
  const ids = { kindeUserId: "kp_a", customerId: "customer_a", email: "a@example.org" };
  accountId = await backend.mutation<string>("signIn:link", ids);
});
afterEach(() => backend.close());

async function readAll(name: string, args: object = {}, calls = me): Promise<Page["rows"]> {
  const rows: Page["rows"] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await calls.query(`dataExport:${name}`, { ...args, cursor });
    rows.push(...page.rows);
    ({ cursor } = page);
  } while (cursor !== null);
  return rows;
}

async function fill(): Promise<void> {
  await deliver(backend, UPGRADE);
  await settle(backend);
  const reminder = { key: "r", text: "t", dueAtMs: backend.nowMs() + HOUR_MS };
  await me.mutation("reminders:create", reminder);
  for (let index = 0; index < 105; index += 1) {
    const made = await me.mutation<{ link: { id: string } }>("links:create", {
      target: "https://example.com/",
    });
    if (index === 0) await me.mutation("links:remove", { linkId: made.link.id });
    if (index === 1) await click(made.link.id, 205);
  }
}

async function click(linkId: string, count: number): Promise<void> {
  const clicks = Array.from({ length: count }, (_none, index) => ({
    key: index.toString(16).padStart(32, "0"),
    linkId,
    accountId,
    atMs: START_MS,
    served: "target",
    class: "billable",
    rule: "no rule against it",
    referrer: null,
    agent: "Mozilla",
  }));
  while (clicks.length > 0) {
    const batch = { linkId, accountId, clicks: clicks.splice(0, 50) };
    const sent = { serverSecret: SERVER_SECRET, ...batch };
    expect(await backend.mutation("clicks:record", sent)).toMatchObject({ kind: "written" });
  }
}

test("pages give each row once: deleted links, clicks of all pages, bodies as signed, credit lines", async () => {
  await fill();
  const links = await readAll("links");
  expect(links).toHaveLength(105);
  expect(links.filter(({ deletedAtMs }) => deletedAtMs !== null)).toHaveLength(1);
  const clicks = await readAll("entries", { feature: "clicks" });
  expect(new Set(clicks.map(({ key }) => key)).size).toBe(205);
  expect(await readAll("entries", { feature: "tokens" })).toEqual([]);
  const [event] = await readAll("events");
  expect(JSON.parse(String(event!["body"]))).toEqual(UPGRADE);
  expect((await readAll("credits")).map(({ reason }) => String(reason)).toSorted()).toEqual([
    "grant",
    "reminder",
  ]);
  expect(await me.query("dataExport:billing", {})).toMatchObject({
    planChanges: [{ eventId: "event_1", planKey: PRO }],
    agreements: [{ agreementId: "agreement_1" }],
    payments: [],
  });
});

test("a link that is deleted, or made, while the export runs is there once", async () => {
  await fill();
  const first = await me.query<Page>("dataExport:links", { cursor: null });
  const read = new Set(first.rows.map(({ id }) => id));
  const links = (await readAll("links")).filter(({ deletedAtMs }) => deletedAtMs === null);
  const unread = links.filter(({ id }) => !read.has(id));
  const wasRead = links.find(({ id }) => read.has(id));
  for (const link of [unread[0]!, wasRead!]) await me.mutation("links:remove", { linkId: link.id });
  await me.mutation("links:create", { target: "https://example.com/new" });
  const rest = await me.query<Page>("dataExport:links", { cursor: first.cursor });
  expect(rest.cursor).toBeNull();
  const ids = [...first.rows, ...rest.rows].map(({ id }) => id);
  expect(ids).toHaveLength(105);
  expect(new Set(ids).size).toBe(105);
  expect(rest.rows.find(({ id }) => id === unread[0]!.id)).toMatchObject({ deletedAtMs: expect.any(Number) });
});

/** The client of the browser, as far as the export uses it. */
const browser = (calls: Calls) =>
  ({
    query: (reference: FunctionReference<"query">, args: Record<string, unknown>) =>
      calls.query(getFunctionName(reference), args),
  }) as unknown as ConvexReactClient;

test.each([499_000, 600_000, 1_900_000])("a body of %i characters is exported whole", async (length) => {
  // Characters of two code units, so that parts do not end where code units are counted.
  const data = { note: "🔑".repeat(length / 2), plan: { key: PRO }, agreement_id: "agreement_1" };
  const event = customerEvent("plan_changed", "event_2", new Date(START_MS).toISOString(), data);
  await deliver(backend, event);
  await settle(backend);
  const part = exportParts(browser(me)).find(({ name }) => name === "events")!;
  const { rows } = await part.read(null);
  expect(rows).toHaveLength(1);
  const [row] = rows as { body: string; id: string }[];
  expect(row!.body.length).toBe(JSON.stringify(event).length);
  expect(JSON.parse(row!.body)).toEqual(event);
  await backend.mutation("signIn:link", { kindeUserId: "kp_b", customerId: null, email: null });
  const stolen = backend.as({ subject: "kp_b" }).query("dataExport:eventBody", { id: row!.id, from: 0 });
  expect(await stolen).toEqual({ body: "", nextPart: null });
});

test("a cursor of one account gives nothing of it to another", async () => {
  await fill();
  await backend.mutation("signIn:link", { kindeUserId: "kp_b", customerId: null, email: null });
  const stranger = backend.as({ subject: "kp_b" });
  for (const name of PAGED) expect(await readAll(name, {}, stranger)).toEqual([]);
  expect(await readAll("entries", { feature: "clicks" }, stranger)).toEqual([]);
  const { cursor } = await me.query<Page>("dataExport:links", { cursor: null });
  const stolen = await stranger.query<Page>("dataExport:links", { cursor }).catch(() => ({ rows: [] }));
  expect(stolen.rows).toEqual([]);
});

test("a limit that was never read is told apart from none", async () => {
  expect(await me.query("dataExport:usage", {})).toMatchObject({ limitState: "unknown", limit: null });
});

test("no API key exports", async () => {
  const tenant = await createTenant(backend);
  const calls: [string, object][] = [
    ...PAGED.map((name): [string, object] => [name, { cursor: null }]),
    ["entries", { cursor: null, feature: "clicks" }],
    ["eventBody", { id: "x", from: 0 }],
    ["usage", {}],
    ["billing", {}],
  ];
  for (const [name, args] of calls) {
    await expect(tenant.query(`dataExport:${name}`, args)).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
  }
});
