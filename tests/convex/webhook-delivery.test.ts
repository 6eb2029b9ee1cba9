import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { cachedKeys } from "../../lib/inbox/keys.ts";
import { createFrontDoor } from "../../lib/server/front-door.ts";
import { BackendError } from "../../lib/server/convex.ts";
import { createWebhooks, type Webhooks } from "../../lib/server/webhooks/handler.ts";
import { HOUR_MS, MINUTE_MS } from "../../lib/shared/durations.ts";
import { type Backend, createBackend, SERVER_SECRET, type StoredRow } from "../helpers/backend.ts";
import { creditsByPeriod, type CustomerRow, type EventRow, FREE, PRO, STARTER } from "../helpers/inbox.ts";
import { addCustomer, control, type Caller, type Customer } from "../kinde/emulator/calls.ts";
import { EMULATOR_ENV, openEmulator, type TestEmulator } from "../kinde/emulator/emulator-server.ts";
import { deliveriesOf, settled } from "../kinde/emulator/webhook-receiver.ts";

/*
 * The emulator's sender, the endpoint on a socket, and the functions behind it: signed tokens over HTTP, with faults on
 * the way. The clocks are moved by the test, so an outage of 36 hours takes no time.
 */

let backend: Backend;
let emulator: TestEmulator;
let webhooks: Webhooks | null;
let site: Server;
let call: Caller;
/** The store answers nothing. */
let isStoreDown: boolean;

beforeEach(async () => {
  isStoreDown = false;
  webhooks = null;
  const route = {
    matches: (pathname: string) => pathname === "/api/webhooks/kinde",
    handle: (request: Parameters<Webhooks["handle"]>[0]) => webhooks!.handle(request),
  };
  const rest = () => Promise.reject(new Error("no other path is asked for"));
  site = createServer(createFrontDoor({ routes: [route], siteUrl: undefined, headers: {}, rest }));
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  emulator = await openEmulator({ env: { KINDE_EMULATOR_WEBHOOK_URL: `${siteUrl}/api/webhooks/kinde` } });
  backend = await createBackend({ startMs: emulator.nowMs(), env: providerEnv(emulator.url) });
  const keys = cachedKeys({ jwksUrl: `${emulator.url}/.well-known/jwks.json`, elapsedMs: emulator.nowMs });
  webhooks = createWebhooks({
    issuerUrl: emulator.url,
    keys,
    deliver(delivery) {
      if (isStoreDown) return Promise.reject(new BackendError("unreachable", "made by the test"));
      return backend.mutation("inbox:deliver", { serverSecret: SERVER_SECRET, ...delivery });
    },
    log: () => undefined,
  });
  call = control(emulator.url);
});

afterEach(async () => {
  await emulator.close();
  site.closeAllConnections();
  await new Promise((done) => site.close(done));
  await backend.close();
});

function providerEnv(url: string): Record<string, string> {
  const { KINDE_M2M_CLIENT_ID, KINDE_M2M_CLIENT_SECRET } = EMULATOR_ENV;
  return {
    KINDE_ISSUER_URL: url,
    KINDE_M2M_CLIENT_ID: KINDE_M2M_CLIENT_ID!,
    KINDE_M2M_CLIENT_SECRET: KINDE_M2M_CLIENT_SECRET!,
  };
}

/**
 * The sender's clock, in steps that let what is due happen in between. The deployment's stands still, which it may: what
 * it is told is days ahead at most, and its periodic workers have no part in this.
 */
async function advance(ms: number, stepMs = ms): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    emulator.advance(stepMs);
    await rest();
  }
}

async function rest(): Promise<void> {
  await settled(emulator.url, emulator.nowMs);
  await backend.advanceMs(0);
}

async function fault(name: string, settings: Record<string, unknown> = {}): Promise<void> {
  const reply = await call("/control/faults", {
    endpoint: "POST /api/webhooks/kinde",
    fault: name,
    ...settings,
  });
  if (reply.status !== 201) throw new Error(reply.text);
}

const endFaults = () => call("/control/faults", undefined, "DELETE");
const setPlan = async ({ userId }: Customer, planKey: string) => {
  const reply = await call(`/control/users/${userId}/plan`, { planKey });
  if (reply.status !== 200) throw new Error(reply.text);
};

interface AgreementRow extends StoredRow {
  readonly accountId: string;
  readonly agreementId: string;
  readonly untilMs: number | null;
}

/** What of a customer has to be right in the end. */
async function stateOf({ userId }: Customer) {
  const accounts = await backend.readAll<CustomerRow>("accounts");
  const found = accounts.filter((row) => row.kindeUserId === userId);
  expect(found).toHaveLength(1);
  const { _id: accountId, planKey } = found[0]!;
  const agreements = await backend.readAll<AgreementRow>("agreements");
  const current = agreements.filter((row) => row.accountId === accountId && row.untilMs === null);
  return {
    planKey,
    credits: await creditsByPeriod(backend, accountId),
    currentAgreements: current.map(({ agreementId }) => agreementId),
  };
}

interface ProviderAgreement {
  readonly id: string;
  readonly customerId: string;
  readonly planKey: string;
  readonly endedAtMs: number | null;
}

async function agreementAtProvider({ customerId }: Customer): Promise<string> {
  const { json } = await call("/control/state");
  const agreements = json.agreements as ProviderAgreement[];
  return agreements.find((one) => one.customerId === customerId && one.endedAtMs === null)!.id;
}

async function expectNothingDead(): Promise<void> {
  const events = await backend.readAll<EventRow>("inboxEvents");
  const stuck = events.filter(({ status }) => status !== "applied" && status !== "ignored");
  expect(stuck).toEqual([]);
}

test("a sign-up, an upgrade and a downgrade arrive and are applied", async () => {
  const customer = await addCustomer(emulator.url, "ada@example.com");
  await rest();
  expect(await stateOf(customer)).toMatchObject({ planKey: FREE, currentAgreements: [customer.agreementId] });
  await advance(MINUTE_MS);
  await setPlan(customer, PRO);
  await rest();
  await advance(MINUTE_MS);
  await setPlan(customer, STARTER);
  await rest();
  expect(await stateOf(customer)).toEqual({
    planKey: STARTER,
    credits: { "2026-10": 500 },
    currentAgreements: [await agreementAtProvider(customer)],
  });
  await expectNothingDead();
});

test("an account that an event made has its limit after the first sign-in", async () => {
  const customer = await addCustomer(emulator.url, "ada@example.com", PRO);
  await rest();
  expect(await stateOf(customer)).toMatchObject({ planKey: PRO });
  const user = backend.as({ subject: customer.userId });
  expect(await user.query("signIn:me", {})).toBeNull();
  const entered = await Promise.all([1, 2, 3].map(() => user.action("signIn:enter", {})));
  expect(new Set(entered.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(await user.query("signIn:me", {})).toMatchObject({ planKey: PRO });
  expect(await backend.readAll("limits")).toMatchObject([{ limitUnits: 100_000, planKey: PRO }]);
  expect(await backend.readAll("accounts")).toMatchObject([{ email: "ada@example.com" }]);
});

describe("with faults on the way every account ends right", () => {
  test.each([1, 2, 3])(
    "duplicates, reordering, delays, a 36-hour outage and a key rotation, seed %i",
    async (seed) => {
      const customers: Customer[] = [];
      for (let index = 0; index < 6; index += 1) {
        customers.push(await addCustomer(emulator.url, `customer-${index}@example.com`));
      }
      await rest();
      await fault("webhook_duplicate", { copies: 2, probability: 0.5, seed });
      await fault("webhook_reorder", { delayMs: 20 * MINUTE_MS, probability: 0.5, seed: seed + 10 });
      await fault("webhook_delay", { delayMs: 10 * MINUTE_MS, probability: 0.3, seed: seed + 20 });
      const plans = [PRO, STARTER, PRO, FREE, STARTER, PRO];
      for (const [index, customer] of customers.entries()) {
        await setPlan(customer, plans[(index + seed) % plans.length]!);
        await advance(MINUTE_MS);
      }
      // Nothing gets through for a day and a half, and meanwhile plans and the signing key change.
      isStoreDown = true;
      for (const [index, customer] of customers.entries()) {
        await setPlan(customer, plans[(index + seed + 2) % plans.length]!);
        await advance(MINUTE_MS);
      }
      await advance(18 * HOUR_MS, HOUR_MS);
      expect((await call("/control/keys/rotate", {})).status).toBe(200);
      await advance(16 * HOUR_MS, HOUR_MS);
      isStoreDown = false;
      for (const customer of customers.slice(0, 3)) await setPlan(customer, PRO);
      await advance(40 * HOUR_MS, HOUR_MS);
      await endFaults();
      await rest();

      const deliveries = await deliveriesOf(emulator.url);
      expect(deliveries.filter(({ status }) => status !== "delivered")).toEqual([]);
      expect(Math.max(...deliveries.map(({ attemptsMade }) => attemptsMade))).toBeGreaterThan(5);
      const receipts = await backend.readAll("receipts");
      expect(receipts.length).toBeGreaterThan(deliveries.length);
      await expectNothingDead();
      const { json } = await call("/control/state");
      const agreements = json.agreements as ProviderAgreement[];
      for (const customer of customers) {
        const own = agreements.filter(({ customerId }) => customerId === customer.customerId);
        const allowances = own.map(({ planKey }) => ({ [FREE]: 10, [STARTER]: 100, [PRO]: 500 })[planKey]!);
        expect(await stateOf(customer)).toEqual({
          planKey: own.find(({ endedAtMs }) => endedAtMs === null)!.planKey,
          credits: { "2026-10": Math.max(...allowances) },
          currentAgreements: [await agreementAtProvider(customer)],
        });
      }
    },
    60_000,
  );

  test("a webhook of another signer, of a foreign tenant or with an unknown key is never stored", async () => {
    await addCustomer(emulator.url, "ada@example.com");
    await rest();
    const before = await backend.readAll("inboxEvents");
    for (const name of ["webhook_bad_signature", "webhook_unknown_kid", "webhook_foreign_iss"]) {
      await fault(name, { count: 3 });
      await addCustomer(emulator.url, `${name}@example.com`);
      await rest();
      expect(await backend.readAll("inboxEvents")).toHaveLength(before.length);
      await endFaults();
      // What is sent again is genuine.
      await advance(MINUTE_MS, 30_000);
      const stored = await backend.readAll("inboxEvents");
      expect(stored.length).toBeGreaterThan(before.length);
      before.splice(0, before.length, ...stored);
    }
  });
});
