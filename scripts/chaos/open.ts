// The accounts of a run: customers of the provider, whom webhooks made known, and one that an operator opened.
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, createApiClient, mustCall } from "../support/api-client.mjs";
import { CliError } from "../support/cli.mjs";
import type { Customer } from "./client.ts";
import type { ChaosStack } from "./stack.ts";
import { openWire, type Wire } from "./wire.ts";

/** The plan with the largest limit: a run is to meet it late or never. */
const PLAN_KEY = "customer_pro_plan";
const JOBS_PER_MINUTE = 100_000;
/** Of the account of the operator: soon used up, so that jobs are refused from then on. */
const FIXED_LIMIT_UNITS = 2_000;
const CUSTOMERS = 2;
/** A customer whose plan changes and who uses nothing: their events are what is looked at. */
const CHANGING_EMAIL = "changing@example.com";
const KNOWN_WITHIN_MS = 60_000;
const ASK_EVERY_MS = 200;

export interface Cast {
  /** Those who run jobs and have a link. */
  readonly customers: readonly Customer[];
  /** Every user at the provider: about whom events are told. */
  readonly userIds: readonly string[];
  readonly changingUserId: string;
}

export async function openCast(stack: ChaosStack): Promise<Cast> {
  const client = createApiClient({ url: stack.url, connections: 2, timeoutMs: 30_000, retrySeconds: 30 });
  const wire = openWire(2, 30_000);
  try {
    const customers: Customer[] = [];
    for (let number = 1; number <= CUSTOMERS; number++) {
      const email = `customer-${number}@example.com`;
      const userId = await addUser(stack, wire, email);
      customers.push(await equip(stack, client, await accountOf(stack, client, email), userId));
    }
    const body = { name: "opened by an operator", limitUnits: FIXED_LIMIT_UNITS };
    const { account } = await mustCall(client, post("/accounts", stack.secrets.operatorKey, body));
    customers.push(await equip(stack, client, String(account.id), null));
    const changingUserId = await addUser(stack, wire, CHANGING_EMAIL);
    await accountOf(stack, client, CHANGING_EMAIL);
    const userIds = customers.flatMap(({ userId }) => userId ?? []);
    return { customers, userIds: [...userIds, changingUserId], changingUserId };
  } finally {
    client.close();
    wire.close();
  }
}

function post(path: string, token: string, body: object) {
  return { method: "POST" as const, path, token, body };
}

async function addUser({ kindeUrl, secrets }: ChaosStack, wire: Wire, email: string): Promise<string> {
  const reply = await wire.send({
    method: "POST",
    url: `${kindeUrl}/control/users`,
    headers: { authorization: `Bearer ${secrets.kindeControlKey}` },
    body: { givenName: "Ada", familyName: "Lovelace", email, planKey: PLAN_KEY },
  });
  const user = reply.kind === "answered" && reply.status === 201 ? reply.body?.["user"] : null;
  if (typeof user !== "object" || user === null || !("id" in user)) {
    throw new CliError(`the emulator did not take a user: ${JSON.stringify(reply)}`);
  }
  return String(user.id);
}

/** The account that the events about a user made. */
async function accountOf({ secrets }: ChaosStack, client: ApiClient, email: string): Promise<string> {
  const deadlineMs = performance.now() + KNOWN_WITHIN_MS;
  while (performance.now() < deadlineMs) {
    const token = secrets.operatorKey;
    const page = await mustCall(client, { method: "GET", path: "/accounts?limit=100", token });
    const accounts = page.accounts as readonly { id: string; email: string | null }[];
    const found = accounts.find((account) => account.email === email);
    if (found !== undefined) return found.id;
    await sleep(ASK_EVERY_MS);
  }
  throw new CliError(`no webhook made ${email} known within a minute`);
}

/** A key, a rate that no lane reaches, and a short link. */
async function equip(
  { url, secrets }: ChaosStack,
  client: ApiClient,
  accountId: string,
  userId: string | null,
): Promise<Customer> {
  const { operatorKey } = secrets;
  const rate = await fetch(`${url}/api/v1/accounts/${accountId}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" },
    body: JSON.stringify({ jobsPerMinute: JOBS_PER_MINUTE }),
  });
  if (!rate.ok) throw new CliError(`the rate of an account could not be set (${rate.status})`);
  const { secret } = await mustCall(client, post(`/accounts/${accountId}/keys`, operatorKey, {}));
  const token = String(secret);
  const { link } = await mustCall(client, post("/links", token, { target: "https://example.com/" }));
  return { accountId, token, linkUrl: `${url}/${String(link.code)}`, userId };
}
