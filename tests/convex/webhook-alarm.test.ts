import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { RETENTION } from "../../lib/retention/rules.ts";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { customerEvent, deliver, FREE, settle } from "../helpers/inbox.ts";
import { operatorOf } from "../helpers/tenant.ts";
import {
  json,
  type ScriptedServer,
  startScriptedServer,
  type Step,
} from "../kinde/client/scripted-server.ts";

const HOUR_MS = 3_600_000;
const WEBHOOKS = "/api/v1/webhooks";
const OK = { code: "OK", message: "Success" };

let server: ScriptedServer;
let backend: Backend;
beforeEach(async () => {
  server = await startScriptedServer();
  server.always("/oauth2/token", { access_token: "token", expires_in: 86_400, token_type: "bearer" });
  server.always("/api/v1/billing/agreements", { ...OK, agreements: [], has_more: false });
  server.always(WEBHOOKS, { ...OK, webhooks: [] });
  const env = {
    KINDE_ISSUER_URL: server.url,
    KINDE_M2M_CLIENT_ID: "machine",
    KINDE_M2M_CLIENT_SECRET: "secret",
    HOLDFAST_WEBHOOK_SILENCE_HOURS: "2",
  };
  backend = await createBackend({ env });
});
afterEach(async () => {
  await backend.close();
  await server.stop();
});

const subscribedAt = (ms: number): void => {
  const plans = [{ code: FREE, subscribed_on: new Date(ms).toISOString() }];
  server.always("/api/v1/billing/entitlements", { ...OK, plans, entitlements: [], has_more: false });
};
const signIn = (name = "a") =>
  backend.mutation<string>("signIn:link", {
    kindeUserId: `kp_${name}`,
    customerId: `customer_${name}`,
    email: null,
  });
const check = () => operatorOf(backend).action<{ status: string }>("drift:check", {});
const alarms = () =>
  backend.readAll<StoredRow & { kind: string; subject: string; detail: string }>("reviews");
const webhook = (
  id: string,
  isDisabled: boolean | undefined,
  endpoint = "https://a.example/api/webhooks/kinde",
) => ({
  id,
  endpoint,
  ...(isDisabled === undefined ? {} : { is_disabled: isDisabled }),
});

describe("our endpoint at the provider", () => {
  test("that is switched off is an alarm, one however often it is seen", async () => {
    subscribedAt(backend.nowMs());
    await signIn();
    server.always(WEBHOOKS, { ...OK, webhooks: [webhook("w1", true)] });
    expect(await check()).toMatchObject({ status: "good" });
    await check();
    expect(await alarms()).toMatchObject([
      {
        kind: "missed_webhooks",
        subject: server.url,
        detail: expect.stringContaining("switched our webhook endpoint off"),
      },
    ]);
  });

  test.each<[string, Step]>([
    ["is on", { ...OK, webhooks: [webhook("w1", false)] }],
    [
      "has another one beside it that is on",
      { ...OK, webhooks: [webhook("w1", true), webhook("w2", false)] },
    ],
    ["of which nothing is said", { ...OK, webhooks: [webhook("w1", undefined)] }],
    ["is not among them", { ...OK, webhooks: [webhook("w1", true, "https://a.example/other")] }],
    ["may not be read", json(403, { errors: [{ code: "SCOPE_MISSING", message: "?" }] })],
    ["is answered in another shape", { ...OK, webhooks: 3 }],
  ])("that %s is none", async (_name, step) => {
    subscribedAt(backend.nowMs());
    await signIn();
    server.always(WEBHOOKS, step);
    expect(await check()).toMatchObject({ status: "good" });
    expect(await alarms()).toEqual([]);
  });
});

describe("silence", () => {
  const startMs = (): number => backend.nowMs();

  test("while a customer subscribes is an alarm", async () => {
    const beginMs = startMs();
    subscribedAt(beginMs);
    await signIn();
    subscribedAt(beginMs + 1.1 * HOUR_MS);
    await backend.advanceMs(2 * HOUR_MS);
    await check();
    expect(await alarms()).toEqual([]);
    await backend.advanceMs(0.2 * HOUR_MS);
    await check();
    expect(await alarms()).toMatchObject([
      { kind: "missed_webhooks", detail: expect.stringContaining(new Date(beginMs).toISOString()) },
    ]);
  });

  test("of a tenant in which nothing happens is none", async () => {
    subscribedAt(startMs());
    await signIn();
    await backend.advanceMs(2.5 * HOUR_MS);
    await check();
    expect(await alarms()).toEqual([]);
  });

  test("is counted from the last delivery", async () => {
    const beginMs = startMs();
    subscribedAt(beginMs);
    await signIn();
    await backend.advanceMs(HOUR_MS);
    const at = new Date(beginMs + HOUR_MS).toISOString();
    await deliver(backend, customerEvent("payment_succeeded", "event_1", at));
    await settle(backend);
    subscribedAt(beginMs + 1.1 * HOUR_MS);
    await backend.advanceMs(2.2 * HOUR_MS);
    await check();
    expect(await alarms()).toEqual([]);
  });

  test("of longer than receipts are kept is none: what was told before may have arrived", async () => {
    const { keptMs } = RETENTION.receipts;
    const accountId = await signIn();
    await backend.patchRow(accountId, { createdAtMs: startMs() - 2 * keptMs });
    subscribedAt(startMs() - keptMs - HOUR_MS);
    await check();
    expect(await alarms()).toEqual([]);
    subscribedAt(startMs() - keptMs + 1.1 * HOUR_MS);
    await check();
    expect(await alarms()).toMatchObject([{ kind: "missed_webhooks" }]);
  });
});
