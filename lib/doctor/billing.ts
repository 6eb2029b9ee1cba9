import { z } from "zod";
import { type AllowanceCatalogue, allowanceOf } from "../inbox/allowance.ts";
import { HANDLED_TYPES } from "../inbox/read-event.ts";
import { isLoopback } from "../kinde/environment.ts";
import { readErrorCode, entitlementsAnswer, webhooksAnswer } from "../kinde/schemas.ts";
import { PAGE_SIZE, PAGES_MAX } from "../kinde/paging.ts";
import { type WebhookEndpoint, WEBHOOKS_PATH } from "../kinde/webhooks.ts";
import { scopesMissing } from "./machine.ts";
import { type Answered, hostOf, type NoAnswer, type Probe, unreachable } from "./probe.ts";
import { failed, type Finding, ok, skipped } from "./report.ts";

/** What the management API says about webhooks, plans and features. */
export interface Management {
  readonly probe: Probe;
  readonly issuerUrl: string;
  readonly accessToken: string;
}

const WEBHOOK_PATH = "/api/webhooks/kinde";
const ASK_KINDE = "run the doctor again; if it stays, ask Kinde about that answer";

/** The meters that the product reports to; the names are the Keys of the features. */
export const NEEDED_FEATURES = ["tokens", "clicks"] as const;

export async function checkWebhook(api: Management, siteUrl: string): Promise<Finding> {
  const webhooks: WebhookEndpoint[] = [];
  const call = `GET ${WEBHOOKS_PATH}`;
  let after: string | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const from = after === null ? "" : `&starting_after=${encodeURIComponent(after)}`;
    // Each page begins where the one before it ended.
    // oxlint-disable-next-line no-await-in-loop
    const answer = await read(api, `${WEBHOOKS_PATH}?page_size=${PAGE_SIZE}${from}`);
    if (answer.kind === "no_answer") return unreachable("the management API of", api.issuerUrl, answer);
    if (answer.status === 403) {
      const because = "the machine application lacks the scope read:webhooks";
      return skipped(because, "switch the scope on, or look at Kinde under Settings > Webhooks yourself");
    }
    const parsed = webhooksAnswer.safeParse(answer.json);
    if (answer.status !== 200 || !parsed.success) return unexpected(call, answer);
    webhooks.push(...parsed.data.webhooks);
    if (parsed.data.has_more !== true) return judgeWebhooks(siteUrl, webhooks);
    const last = parsed.data.webhooks.at(-1)?.id;
    if (last === undefined || last === after) break;
    after = last;
  }
  return failed("unexpected_answer", `${call} says there is more without an end`, ASK_KINDE);
}

export function judgeWebhooks(siteUrl: string, webhooks: readonly WebhookEndpoint[]): Finding {
  const wanted = `${siteUrl}${WEBHOOK_PATH}`;
  const ours = webhooks.filter(({ url }) => isOurs(url));
  // A site on this machine is reached through a tunnel, or under the other name of this machine.
  const isLocal = isLoopback(new URL(siteUrl).hostname);
  const exact = ours.filter(({ url }) => isLocal || url.replace(/\/+$/, "") === wanted);
  if (ours.length === 0) {
    const next = `at Kinde under Settings > Webhooks: add ${wanted} for ${HANDLED_TYPES.join(", ")}`;
    return failed("webhook_missing", `no webhook leads to ${WEBHOOK_PATH}`, next);
  }
  if (exact.length === 0) {
    const next = `at Kinde under Settings > Webhooks: add one for ${wanted}; the address of one that exists cannot be changed`;
    return failed(
      "webhook_elsewhere",
      `the webhook leads to ${hostOf(ours[0]!.url)} and not to ${siteUrl}`,
      next,
    );
  }
  const live = exact.filter(({ isDisabled }) => isDisabled !== true);
  if (live.length === 0) {
    return failed(
      "webhook_disabled",
      "the webhook is switched off: Kinde does that after 72 hours without one success",
      "make the site reachable, switch the webhook on again, then run a drift check for what was missed (POST /api/v1/ops/drift)",
    );
  }
  const asked = live.some(({ eventTypes }) => eventTypes === null)
    ? null
    : new Set(live.flatMap(({ eventTypes }) => eventTypes ?? []));
  const missing = asked === null ? [] : HANDLED_TYPES.filter((type) => !asked.has(type));
  if (missing.length > 0) {
    return failed(
      "webhook_types_missing",
      `the webhook does not ask for ${missing.join(", ")}`,
      "add the types at Kinde under Settings > Webhooks",
    );
  }
  const note = isLocal && hostOf(live[0]!.url) !== siteUrl ? `, which has to lead to ${siteUrl}` : "";
  return ok(`${hostOf(live[0]!.url)}${WEBHOOK_PATH}${note}`);
}

function isOurs(url: string): boolean {
  return URL.canParse(url) && new URL(url).pathname.replace(/\/+$/, "") === WEBHOOK_PATH;
}

const usersAnswer = z.object({
  users: z
    .array(z.object({ id: z.string(), billing: z.object({ customer_id: z.string().nullish() }).nullish() }))
    .nullable(),
});

/** The newest page is enough to find one customer; Kinde has no list of plans to read instead. */
const USERS_READ = 50;

export async function checkPlans(api: Management, allowances: AllowanceCatalogue): Promise<Finding> {
  const users = await read(api, `/api/v1/users?expand=billing&page_size=${USERS_READ}`);
  if (users.kind === "no_answer") return unreachable("the management API of", api.issuerUrl, users);
  if (users.status === 403) return scopesMissing(["read:users"]);
  const parsed = usersAnswer.safeParse(users.json);
  if (users.status !== 200 || !parsed.success) return unexpected("GET /api/v1/users", users);
  const customerId = (parsed.data.users ?? []).map(({ billing }) => billing?.customer_id).find(Boolean);
  if (customerId === undefined || customerId === null) {
    return skipped(
      "no user has a billing customer yet, and Kinde shows plans through one only",
      "sign one test user up and run the doctor again",
    );
  }
  const path = `/api/v1/billing/entitlements?customer_id=${encodeURIComponent(customerId)}&expand=plans&page_size=100`;
  const answer = await read(api, path);
  if (answer.kind === "no_answer") return unreachable("the management API of", api.issuerUrl, answer);
  if (answer.status === 403) return scopesMissing(["read:billing_entitlements"]);
  const entitlements = entitlementsAnswer.safeParse(answer.json);
  if (answer.status !== 200 || !entitlements.success)
    return unexpected("GET /api/v1/billing/entitlements", answer);
  const { plans, entitlements: rows } = entitlements.data;
  return judgePlans(
    plans.map(({ key }) => key),
    rows.map(({ featureKey }) => featureKey),
    allowances,
  );
}

export function judgePlans(
  planKeys: readonly string[],
  featureKeys: readonly string[],
  allowances: AllowanceCatalogue,
): Finding {
  if (planKeys.length === 0) {
    const next = "at Kinde under Billing > Plans: publish the plans and give customers one at sign-up";
    return failed("plan_unknown", "the first customer has no plan", next);
  }
  const missing = NEEDED_FEATURES.filter((key) => !featureKeys.includes(key));
  const plan = planKeys.join(", ");
  if (missing.length > 0) {
    return failed(
      "feature_missing",
      `the plan ${plan} has no metered feature with the key ${missing.join(" and ")}`,
      `at Kinde under Billing > Plans: add a metered feature whose key is ${missing.join(", another for ")}, to every plan`,
    );
  }
  const unknown = planKeys.filter((key) => allowanceOf(allowances, key) === null);
  if (unknown.length > 0) {
    return failed(
      "plan_unknown",
      `nothing says how many credits a month the plan ${unknown.join(", ")} has`,
      `set HOLDFAST_ALLOWANCES on the Convex deployment, the free plan first: ${unknown[0]}=10,…`,
    );
  }
  return ok(`${plan} with ${NEEDED_FEATURES.join(" and ")}`);
}

function read(api: Management, path: string): Promise<Answered | NoAnswer> {
  const headers = { accept: "application/json", authorization: `Bearer ${api.accessToken}` };
  return api.probe({ url: `${api.issuerUrl}${path}`, headers });
}

function unexpected(call: string, { status, json }: Answered): Finding {
  const code = readErrorCode(json);
  if (status === 401) {
    return failed(
      "audience_missing",
      `${call} does not take the token${code === null ? "" : ` (${code})`}`,
      "at Kinde, in the machine-to-machine application under APIs: authorize the Kinde Management API",
    );
  }
  const detail = `${call} answered ${status}${code === null ? "" : ` (${code})`}`;
  return failed("unexpected_answer", detail, ASK_KINDE);
}
