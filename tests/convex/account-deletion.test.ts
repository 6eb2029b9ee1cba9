import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { HOUR_MS } from "../../lib/shared/durations.ts";
import {
  type Backend,
  type Calls,
  createBackend,
  SERVER_SECRET,
  type StoredRow,
} from "../helpers/backend.ts";
import { customerEvent, deliver, FREE, PRO, settle } from "../helpers/inbox.ts";
import { createTenant } from "../helpers/tenant.ts";

const EMAIL = "a@example.org";
const KEY_HASH = "a".repeat(64);

let backend: Backend;
let me: Calls;
let accountId: string;
beforeEach(async () => {
  backend = await createBackend();
  me = backend.as({ subject: "kp_a" });
  accountId = await signIn();
});
afterEach(() => backend.close());

const signIn = () =>
  backend.mutation<string>("signIn:link", { kindeUserId: "kp_a", customerId: "customer_a", email: EMAIL });
const standing = () => me.query("accountDeletion:standing", {});
const remove = (typed = EMAIL) => me.mutation("accountDeletion:remove", { typed });
const changed = (id: string, planKey: string) =>
  customerEvent("plan_changed", id, new Date(backend.nowMs()).toISOString(), { plan: { key: planKey } });
const forbidden = expect.objectContaining({ data: expect.objectContaining({ code: "forbidden" }) });

async function makeThings(): Promise<string> {
  const key = { name: "worker", scopes: ["usage:read"], prefix: "hf_live_abcd", keyHashNew: KEY_HASH };
  await me.mutation("apiKeys:createOwn", key);
  const made = await me.mutation<{ link: { code: string } }>("links:create", {
    target: "https://example.com/",
    title: "a private title",
  });
  for (const [index, dueInMs] of [1_000, HOUR_MS].entries()) {
    const dueAtMs = backend.nowMs() + dueInMs;
    await me.mutation("reminders:create", { key: `r${index}`, text: "a private text", dueAtMs });
  }
  await backend.advanceMs(2_000);
  return made.link.code;
}

describe("deleting the own account", () => {
  test("ends keys, links and reminders, erases what was written, and keeps the books", async () => {
    const code = await makeThings();
    const lines = await backend.readAll("credits");
    expect(await standing()).toMatchObject({ id: accountId, email: EMAIL, planKey: FREE, obstacles: [] });
    expect(await remove(" A@Example.org ")).toEqual({ kind: "deleted", deletedAtMs: backend.nowMs() });
    await settle(backend);
    expect(await backend.readAll("accounts")).toMatchObject([
      { email: null, name: "Deleted customer", deletedAtMs: expect.any(Number), customerId: "customer_a" },
    ]);
    expect(await backend.readAll("apiKeys")).toMatchObject([
      { revokedAtMs: expect.any(Number), name: "worker", prefix: "hf_live_abcd" },
    ]);
    expect(await backend.query("links:resolve", { serverSecret: SERVER_SECRET, code })).toMatchObject({
      isActive: false,
    });
    expect(await backend.readAll("links")).toMatchObject([{ title: "", code }]);
    expect(await backend.readAll("reminders")).toMatchObject([
      { status: "delivered", text: "" },
      { status: "cancelled", text: "" },
    ]);
    expect(await backend.readAll("credits")).toMatchObject([...lines, { reason: "reminder_returned" }]);
    expect(await backend.readAll("audit")).toContainEqual(
      expect.objectContaining({ action: "account_deleted", actor: "customer", accountId }),
    );
    const byKey = { serverSecret: SERVER_SECRET, keyHash: KEY_HASH };
    await expect(backend.query("gate:usage", byKey)).rejects.toMatchObject({
      data: { code: "unauthorized" },
    });
  });

  test("another text than the email deletes nothing", async () => {
    expect(await remove("b@example.org")).toEqual({ kind: "not_confirmed" });
    expect(await remove("")).toEqual({ kind: "not_confirmed" });
    expect(await backend.readAll("accounts")).toMatchObject([{ deletedAtMs: null }]);
  });

  test("a paid plan is in the way until it is given up, whether an event or the provider told it", async () => {
    await deliver(backend, changed("event_1", PRO));
    await settle(backend);
    const refused = { kind: "refused", obstacles: [{ code: "paid_plan", planKey: PRO }] };
    expect(await remove()).toEqual(refused);
    await backend.advanceMs(1_000);
    await deliver(backend, changed("event_2", FREE));
    await settle(backend);
    await backend.mutation("limits:requireAndGrant", { accountId });
    const [limit] = await backend.readAll("limits");
    await backend.patchRow(limit!._id, { planKey: PRO });
    expect(await remove()).toEqual(refused);
    await backend.patchRow(limit!._id, { planKey: FREE });
    expect(await remove()).toMatchObject({ kind: "deleted" });
  });

  test("running jobs are in the way until they end", async () => {
    await backend.mutation("limits:requireAndGrant", { accountId });
    const [limit] = await backend.readAll("limits");
    const read = { limitUnits: 1_000, readAtMs: backend.nowMs(), refreshRequiredAtMs: null };
    await backend.patchRow(limit!._id, read);
    const admitted = await me.mutation<{ job: { id: string; leaseExpiresAtMs: number } }>("gate:admit", {
      key: "k",
      units: 10,
    });
    const { id: jobId, leaseExpiresAtMs: lastLeaseExpiresAtMs } = admitted.job;
    expect(await remove()).toEqual({
      kind: "refused",
      obstacles: [{ code: "jobs_running", count: 1, lastLeaseExpiresAtMs }],
    });
    await me.mutation("gate:settle", { jobId, outcome: "cancelled" });
    expect(await remove()).toMatchObject({ kind: "deleted" });
  });

  test("no API key can do it, nor read about it, and a stranger deletes the own account only", async () => {
    const tenant = await createTenant(backend);
    await expect(tenant.mutation("accountDeletion:remove", { typed: "tenant" })).rejects.toEqual(forbidden);
    await expect(tenant.query("accountDeletion:standing", {})).rejects.toEqual(forbidden);
    await backend.mutation("signIn:link", { kindeUserId: "kp_b", customerId: null, email: "b@example.org" });
    const stranger = backend.as({ subject: "kp_b" });
    expect(await stranger.mutation("accountDeletion:remove", { typed: EMAIL })).toEqual({
      kind: "not_confirmed",
    });
    await stranger.mutation("accountDeletion:remove", { typed: "b@example.org" });
    expect(await standing()).toMatchObject({ id: accountId, email: EMAIL });
  });
});

describe("signing in again after the deletion", () => {
  test("tells that it is deleted, and nothing else of it can be read or done", async () => {
    await remove();
    const deletedAtMs = backend.nowMs();
    await settle(backend);
    expect(await me.query("signIn:me", {})).toMatchObject({ id: accountId, email: null, deletedAtMs });
    expect(await me.action("signIn:enter", {})).toEqual({ accountId });
    for (const call of [
      () => me.query("gate:usage", {}),
      () => standing(),
      () => remove("Deleted customer"),
      () => me.mutation("credits:ensure", {}),
      () => me.action("limits:refreshNow", {}),
    ]) {
      await expect(call()).rejects.toEqual(forbidden);
    }
  });

  test("neither the same sign-in nor a later event brings the account or its email back", async () => {
    await remove();
    expect(await signIn()).toBe(accountId);
    const at = new Date(backend.nowMs() + 1_000).toISOString();
    const user = { id: "kp_a", email: EMAIL };
    await deliver(backend, {
      type: "user.updated",
      event_id: "event_u",
      timestamp: at,
      event_timestamp: at,
      data: { user },
    });
    await settle(backend);
    expect(await backend.readAll<StoredRow>("accounts")).toMatchObject([
      { email: null, name: "Deleted customer", deletedAtMs: expect.any(Number) },
    ]);
  });

  test("a user.deleted of the provider that follows changes nothing more", async () => {
    await remove();
    const before = await backend.readAll("accounts");
    const at = new Date(backend.nowMs() + 60_000).toISOString();
    await deliver(backend, {
      type: "user.deleted",
      event_id: "event_d",
      timestamp: at,
      event_timestamp: at,
      data: { user: { id: "kp_a" } },
    });
    await settle(backend);
    expect(await backend.readAll("accounts")).toEqual(before);
  });
});
