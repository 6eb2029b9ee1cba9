// Who a soak is about: customers of the emulator, who have agreements and get webhooks, and accounts with a fixed limit.
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, mustCall } from "../support/api-client.mjs";
import { CliError } from "../support/cli.mjs";
import type { TempStack } from "../support/temp-stack.ts";

export interface Tenant {
  readonly accountId: string;
  readonly token: string;
  readonly code: string;
  /** Who the provider knows; null for one with a fixed limit. */
  readonly kindeUserId: string | null;
}

const PLANS = ["customer_starter_plan", "customer_pro_plan", "customer_free_plan"] as const;
const FIXED_LIMIT_UNITS = 1_000_000;
const WEBHOOK_WAIT_MS = 30_000;
const LOOK_AGAIN_MS = 200;

export async function control(stack: TempStack, path: string, body: object): Promise<unknown> {
  const response = await fetch(`${stack.kindeUrl}/control${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.kindeControlKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok)
    throw new CliError(`POST /control${path} answered ${response.status}: ${await response.text()}`);
  return await response.json();
}

export async function openTenants(
  stack: TempStack,
  client: ApiClient,
  count: { readonly customers: number; readonly fixed: number },
): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  for (let number = 1; number <= count.fixed; number += 1) {
    const body = { name: `fixed ${number}`, limitUnits: FIXED_LIMIT_UNITS };
    const made = await mustCall(client, {
      method: "POST",
      path: "/accounts",
      token: stack.operatorKey,
      body,
    });
    tenants.push(await equip(stack, client, made.account.id as string, null));
  }
  for (let number = 1; number <= count.customers; number += 1) {
    const email = `soak-${number}@example.com`;
    const { user } = (await control(stack, "/users", {
      givenName: "Soak",
      familyName: String(number),
      email,
      planKey: PLANS[0],
    })) as { user: { id: string } };
    tenants.push(await equip(stack, client, await accountOf(stack, client, email), user.id));
  }
  return tenants;
}

/** The next plan of a customer, in turn. The provider tells it by webhooks. */
export async function changePlan(stack: TempStack, { kindeUserId }: Tenant, turn: number): Promise<void> {
  const planKey = PLANS[turn % PLANS.length];
  if (kindeUserId !== null) await control(stack, `/users/${kindeUserId}/plan`, { planKey });
}

/** A customer's account is made by the first webhook that tells of them. */
async function accountOf(stack: TempStack, client: ApiClient, email: string): Promise<string> {
  for (let waitedMs = 0; waitedMs < WEBHOOK_WAIT_MS; waitedMs += LOOK_AGAIN_MS) {
    const path = "/accounts?limit=100";
    const page = await mustCall(client, { method: "GET", path, token: stack.operatorKey });
    const accounts = page.accounts as { id: string; email: string | null }[];
    const account = accounts.find((one) => one.email === email);
    if (account !== undefined) return account.id;
    await sleep(LOOK_AGAIN_MS);
  }
  throw new CliError(`no webhook has told of ${email}`);
}

async function equip(
  stack: TempStack,
  client: ApiClient,
  accountId: string,
  kindeUserId: string | null,
): Promise<Tenant> {
  const keys = { method: "POST" as const, path: `/accounts/${accountId}/keys`, token: stack.operatorKey };
  const { secret: token } = await mustCall(client, { ...keys, body: { name: "soak" } });
  // As at a sign-in, the provider's own start of the cycles is known before anything is counted by them.
  const { job } = await mustCall(client, {
    method: "POST",
    path: "/jobs",
    token: token as string,
    body: { key: "first", units: 1, kind: "first" },
  });
  const settled = { method: "POST" as const, path: `/jobs/${job.id}/settle`, token: token as string };
  await mustCall(client, { ...settled, body: { outcome: "cancelled", fence: job.fence } });
  const body = { target: "https://example.com/", title: "soak" };
  const { link } = await mustCall(client, { method: "POST", path: "/links", token: token as string, body });
  return { accountId, token: token as string, code: link.code as string, kindeUserId };
}
