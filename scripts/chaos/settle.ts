// After the load: waits until the stack, left alone but for a sweep and a report now and then, has come to rest.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiClient, mustCall } from "../support/api-client.mjs";
import { EMULATOR_FILE, ENGINE_FILE } from "../support/backup-files.ts";
import { CliError } from "../support/cli.mjs";
import { backupKeyOf } from "../support/stack.ts";
import type { Cast } from "./open.ts";
import { readRemains, type Remains } from "./rows.ts";
import type { ChaosStack } from "./stack.ts";

/**
 * The longest chain: a sender dies, its lease of 30 s ends, its write is read back 45 s later and once more after that;
 * or an event that failed is tried again after 30 s and 2 min.
 */
const REST_WITHIN_MS = 6 * 60_000;
const LOOK_EVERY_MS = 3_000;
/** What is still to be delivered is not waited for in hours. */
const WEBHOOK_SCALE_AT_REST = 0.0001;

const SETTLED_EVENTS: ReadonlySet<unknown> = new Set(["applied", "ignored"]);

/** With the provider's meter, or with our own copy where an account has none there. */
const AGREES: ReadonlySet<string> = new Set(["proven", "kept_here"]);

/** What was said in the end: by whoever waited for rest, by the reconciler and by the audit. */
export interface LastWords {
  /** What was still under way when the time was up; null when nothing was. */
  readonly waiting: string | null;
  /** Meters that were not proven as they stood, in words. */
  readonly unproven: readonly string[];
  readonly budgetsRepaired: number;
}

/** Waits for rest for six minutes at most, then has the meters reconciled and the budgets audited. */
export async function settle(stack: ChaosStack, cast: Cast): Promise<LastWords> {
  const client = createApiClient({ url: stack.url, connections: 2, timeoutMs: 60_000, retrySeconds: 10 });
  const token = stack.secrets.operatorKey;
  const call = (path: string, body: object) => mustCall(client, { method: "POST", path, token, body });
  try {
    await setWebhookScale(stack);
    const deadlineMs = performance.now() + REST_WITHIN_MS;
    let waiting: string | null;
    for (;;) {
      await mustCall(client, { method: "POST", path: "/ops/sweep", token });
      await call("/ops/report", {});
      waiting = whatWaits(await copyRemains(stack));
      if (waiting === null || performance.now() > deadlineMs) break;
      await sleep(LOOK_EVERY_MS);
    }
    const unproven: string[] = [];
    for (const { accountId } of cast.customers) {
      const { meters } = (await call("/ops/reconcile", { accountId })) as { meters: MeterLine[] };
      unproven.push(
        ...meters.filter(({ status }) => !AGREES.has(status)).map((line) => JSON.stringify(line)),
      );
    }
    const audit = await mustCall(client, { method: "POST", path: "/ops/audit", token });
    return { waiting, unproven, budgetsRepaired: Number(audit.repaired) };
  } finally {
    client.close();
  }
}

interface MeterLine {
  readonly status: string;
}

/** Why the stack is not at rest, in words; null when it is. */
export function whatWaits(remains: Remains): string | null {
  const { provider, spoolFiles } = remains;
  const clicks = spoolFiles.filter((name) => name.endsWith(".clicks")).length;
  if (clicks > 0) return `${clicks} files of clicks`;
  const pending = provider.deliveries.filter(({ status }) => status === "pending").length;
  if (pending > 0) return `${pending} webhooks to deliver`;
  const events = remains.rows("inboxEvents").filter(({ status }) => !SETTLED_EVENTS.has(status));
  if (events.length > 0) return `${events.length} events, one is ${String(events[0]?.["status"])}`;
  const running = remains.rows("jobs").filter(({ status }) => status === "running").length;
  if (running > 0) return `${running} running jobs`;
  const marks = remains.rows("marks").length;
  if (marks > 0) return `${marks} meters to report`;
  const leases = remains.rows("reports").filter(({ leaseExpiresAtMs }) => leaseExpiresAtMs !== null).length;
  return leases > 0 ? `${leases} totals under way` : null;
}

async function setWebhookScale({ kindeUrl, secrets }: ChaosStack): Promise<void> {
  await post(`${kindeUrl}/control/webhooks/scale`, secrets.kindeControlKey, { scale: WEBHOOK_SCALE_AT_REST });
}

/** Copies both databases while their processes run, and reads the copies. */
async function copyRemains(stack: ChaosStack): Promise<Remains> {
  const folder = join(stack.dataDir, "look");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const { secrets, convexUrl, kindeUrl } = stack;
  await post(`${convexUrl}/api/backup`, backupKeyOf(secrets), { file: join(folder, ENGINE_FILE) });
  await post(`${kindeUrl}/control/backup`, secrets.kindeControlKey, { file: join(folder, EMULATOR_FILE) });
  return readRemains(stack.dataDir, folder);
}

async function post(url: string, key: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new CliError(`${url} answered ${response.status}: ${await response.text()}`);
}
