import { createHmac } from "node:crypto";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { deliver, settle } from "../helpers/inbox.ts";
import { operatorOf } from "../helpers/tenant.ts";
import { cut, json, type ScriptedServer, startScriptedServer } from "../kinde/client/scripted-server.ts";

interface AlertRow extends StoredRow {
  readonly kind: string;
  readonly subject: string;
  readonly status: string;
  readonly attempts: number;
  readonly nextAttemptAtMs: number | null;
  readonly error: string | null;
}

const PATH = "/alerts/canary-in-the-path";
const KEY = Buffer.from("canary-key-of-24-bytes-or-more");
const SECRET = `whsec_${KEY.toString("base64")}`;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

let server: ScriptedServer;
let backend: Backend;
beforeEach(async () => {
  server = await startScriptedServer();
  const env = { HOLDFAST_ALERT_URL: `${server.url}${PATH}`, HOLDFAST_ALERT_SECRET: SECRET };
  backend = await createBackend({ env });
});
afterEach(async () => {
  await backend.close();
  await server.close();
});

const alerts = () => backend.readAll<AlertRow>("alerts");
/** A body that is no event is dead at once, and a person is told. */
const die = async (name: string) => {
  await deliver(backend, JSON.stringify({ broken: name }));
  await settle(backend);
};

test("a new review is told at once, signed, and once while it is open", async () => {
  server.always(PATH, {});
  await die("a");
  await die("a");
  const [alert, ...others] = await alerts();
  expect(others).toEqual([]);
  expect(alert).toMatchObject({ kind: "dead_event", status: "sent", attempts: 1, error: null });
  expect(server.seen).toHaveLength(1);
  const [{ method, headers, body }] = server.seen as [ScriptedServer["seen"][number]];
  expect(method).toBe("POST");
  expect(JSON.parse(body)).toEqual({
    type: "review.opened",
    id: alert!._id,
    kind: "dead_event",
    subject: alert!.subject,
    detail: expect.stringContaining("no event"),
    createdAt: new Date(backend.nowMs()).toISOString(),
  });
  const timestamp = headers["webhook-timestamp"] as string;
  expect(Number(timestamp)).toBe(Math.floor(backend.nowMs() / SECOND_MS));
  const signed = createHmac("sha256", KEY).update(`${alert!._id}.${timestamp}.${body}`).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${signed}`);
});

test("is tried again after each wait under the same id, and given up after six attempts, which is shown", async () => {
  const answers = [
    json(500, {}),
    cut,
    json(404, {}),
    json(302, {}, { location: "/else" }),
    json(429, {}),
    json(503, {}),
  ];
  server.script(PATH, ...answers);
  await die("a");
  const errors = [(await alerts())[0]!.error];
  for (const waitMs of [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS]) {
    const sent = server.seen.length;
    await backend.advanceMs(waitMs - 1);
    expect(server.seen).toHaveLength(sent);
    await backend.advanceMs(1);
    expect(server.seen).toHaveLength(sent + 1);
    errors.push((await alerts())[0]!.error);
  }
  expect(errors).toEqual([
    "it answered 500",
    "the connection was lost",
    "it answered 404",
    "it answered 302",
    "it answered 429",
    "it answered 503",
  ]);
  expect(new Set(server.seen.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const stamps = server.seen.map(({ headers }) => headers["webhook-timestamp"]);
  expect(new Set(stamps).size).toBe(6);
  const shown = await operatorOf(backend).query("alerts:list", {
    status: "given_up",
    cursor: null,
    limit: 10,
  });
  expect(shown).toMatchObject({ isConfigured: true, alerts: [{ status: "given_up", attempts: 6 }] });
  await backend.advanceMs(5 * MINUTE_MS);
  expect(server.seen).toHaveLength(6);
  // Neither the address nor the secret gets into what is stored.
  expect(JSON.stringify([shown, await alerts()])).not.toMatch(/canary|whsec_/);
});

test("an address that takes nothing makes the worker's run a failure, until what waits has arrived", async () => {
  const health = async () => {
    await backend.action("alerts:run", {});
    const runs = await backend.readAll<StoredRow & { name: string; status: string }>("runs");
    return runs.find(({ name }) => name === "alerts")?.status;
  };
  expect(await health()).toBe("good");
  server.script(PATH, json(500, {}), json(503, {}), json(204, undefined));
  await die("a");
  expect(await health()).toBe("failed");
  await backend.advanceMs(5 * SECOND_MS);
  expect(await health()).toBe("failed");
  await backend.advanceMs(30 * SECOND_MS);
  expect(await alerts()).toMatchObject([{ status: "sent" }]);
  expect(await health()).toBe("good");
});

test("one that arrives at the second attempt is done", async () => {
  server.script(PATH, json(500, {}), json(204, undefined));
  await die("a");
  await backend.advanceMs(10 * MINUTE_MS);
  expect(await alerts()).toMatchObject([{ status: "sent", attempts: 2, nextAttemptAtMs: null, error: null }]);
});

describe("a sender that dies", () => {
  test("leaves the alert to the cron, once its lease has ended", async () => {
    server.script(PATH, json(500, {}));
    await die("a");
    const [{ _id: alertId }] = (await alerts()) as [AlertRow];
    await loseScheduled();
    await backend.advanceMs(5 * SECOND_MS);
    // Claimed, and nothing comes of it.
    expect(await backend.mutation("alerts:claim", { alertId })).toMatchObject({ attempt: 2 });
    expect(await backend.mutation("alerts:claim", { alertId })).toBeNull();
    server.always(PATH, {});
    await backend.action("alerts:run", {});
    expect(server.seen).toHaveLength(1);
    await backend.advanceMs(2 * MINUTE_MS);
    expect(await alerts()).toMatchObject([{ status: "sent", attempts: 3 }]);
    expect(server.seen).toHaveLength(2);
    // What the first one still has to say comes too late.
    await backend.mutation("alerts:settle", { alertId, attempt: 2, error: "it answered 500" });
    expect(await alerts()).toMatchObject([{ status: "sent", error: null }]);
  });

  test("and one that is woken beside it do not send at once", async () => {
    server.script(PATH, json(500, {}));
    await die("a");
    const [{ _id: alertId }] = (await alerts()) as [AlertRow];
    await loseScheduled();
    server.always(PATH, {});
    await backend.advanceMs(5 * SECOND_MS);
    await Promise.all([1, 2, 3, 4].map(() => backend.action("alerts:send", { alertId })));
    expect(server.seen).toHaveLength(2);
  });
});

test("a flood of reviews is told one by one", async () => {
  server.always(PATH, {});
  for (let name = 0; name < 30; name += 1) await deliver(backend, JSON.stringify({ broken: String(name) }));
  await settle(backend);
  expect(new Set(server.seen.map(({ headers }) => headers["webhook-id"])).size).toBe(30);
  expect((await alerts()).every(({ status }) => status === "sent")).toBe(true);
});

test("without an address nothing is kept, and reviews are opened all the same", async () => {
  const quiet = await createBackend();
  await deliver(quiet, JSON.stringify({ broken: "a" }));
  await settle(quiet);
  expect(await quiet.readAll("reviews")).toHaveLength(1);
  expect(await quiet.readAll("alerts")).toEqual([]);
  await quiet.close();
});

test.each([
  [{ HOLDFAST_ALERT_URL: "http://alerts.example/canary" }, "HOLDFAST_ALERT_URL must begin with https://"],
  [{ HOLDFAST_ALERT_SECRET: "canary" }, "HOLDFAST_ALERT_SECRET cannot be used to sign"],
])("a setting that cannot be used is the error, and nothing is sent (%#)", async (change, error) => {
  const env = { HOLDFAST_ALERT_URL: `${server.url}${PATH}`, HOLDFAST_ALERT_SECRET: SECRET, ...change };
  const wrong = await createBackend({ env });
  await deliver(wrong, JSON.stringify({ broken: "a" }));
  await settle(wrong);
  const [alert] = await wrong.readAll<AlertRow>("alerts");
  expect(alert).toMatchObject({ status: "waiting", attempts: 1, error: expect.stringContaining(error) });
  expect(alert!.error).not.toContain("canary");
  expect(server.seen).toEqual([]);
  await wrong.close();
});

/** Takes away every scheduled function, as a crash between two of them would. */
async function loseScheduled(): Promise<void> {
  const rows = await backend.readAll<StoredRow & { state: { kind: string } }>("_scheduled_functions");
  for (const row of rows.filter(({ state }) => state.kind === "pending")) {
    await backend.patchRow(row._id, { state: { kind: "canceled" } });
  }
}
