import { afterEach, beforeEach, expect, test } from "vitest";

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

test("no API key exports", async () => {
  const tenant = await createTenant(backend);
  const calls: [string, object][] = [
    ...PAGED.map((name): [string, object] => [name, { cursor: null }]),
    ["entries", { cursor: null, feature: "clicks" }],
    ["usage", {}],
    ["billing", {}],
  ];
  for (const [name, args] of calls) {
    await expect(tenant.query(`dataExport:${name}`, args)).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
  }
});
