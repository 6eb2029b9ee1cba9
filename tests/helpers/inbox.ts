import { createHash } from "node:crypto";

import { parseBody, parseJson } from "../../lib/inbox/event.ts";
import { type Backend, SERVER_SECRET, type StoredRow } from "./backend.ts";

export interface EventRow extends StoredRow {
  readonly eventKey: string;
  readonly status: string;
  readonly attempts: number;
  readonly fence: number;
  readonly nextAttemptAtMs: number | null;
  readonly seenCount: number;
  readonly result: string | null;
  readonly error: string | null;
  readonly accountId: string | null;
}

export interface CustomerRow extends StoredRow {
  readonly kindeUserId: string | null;
  readonly customerId: string | null;
  readonly planKey: string;
  readonly planSetBy: string | null;
  readonly email: string | null;
  readonly overdueSinceMs: number | null;
  readonly deletedAtMs: number | null;
  readonly mergedIntoAccountId: string | null;
}

export const FREE = "customer_free_plan";
export const STARTER = "customer_starter_plan";
export const PRO = "customer_pro_plan";

/** The body of a customer's event, in the shape of the provider. `at` is its event time as it is written. */
export function customerEvent(
  type: string,
  eventId: string,
  at: string,
  data: Record<string, unknown> = {},
): Record<string, unknown> {
  const customer = { user_id: "kp_a", customer_id: "customer_a", customer_type: "user" };
  return {
    type: `customer.${type}`,
    event_id: eventId,
    timestamp: at,
    event_timestamp: at,
    source: "user",
    data: { ...customer, ...data },
  };
}

/** Hands a body to the inbox as the endpoint does once it has verified it. */
export function deliver(
  backend: Pick<Backend, "mutation">,
  body: unknown,
  webhookId: string | null = null,
): Promise<{ kind: "stored" | "copy"; flags: string[] }> {
  const payload = typeof body === "string" ? body : JSON.stringify(body);
  return backend.mutation("inbox:deliver", {
    serverSecret: SERVER_SECRET,
    body: parseBody(parseJson(payload)),
    payload,
    payloadHash: createHash("sha256").update(payload).digest("hex"),
    webhookId,
    kid: "key-1",
  });
}

/** Lets scheduled functions that are due run. */
export const settle = (backend: Backend): Promise<void> => backend.advanceMs(0);

/** The credits of each month of an account: the sum of its lines. */
export async function creditsByPeriod(backend: Backend, accountId: string): Promise<Record<string, number>> {
  const rows = await backend.readAll<StoredRow & { accountId: string; period: string; units: number }>(
    "credits",
  );
  const sums: Record<string, number> = {};
  for (const row of rows) {
    if (row.accountId === accountId) sums[row.period] = (sums[row.period] ?? 0) + row.units;
  }
  return sums;
}
