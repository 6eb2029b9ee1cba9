import { createHash } from "node:crypto";

import { type Caller, SYSTEM_CALLER } from "../../lib/local-convex/invocation.ts";
import { type RunningServer, startServer } from "../../lib/local-convex/server.ts";
import { scope } from "../../lib/server/api/answer-schemas.ts";
import { createApiKey, hashApiKey } from "../../lib/server/api-keys.ts";
import { must } from "../../lib/shared/assert.ts";
import { type Backend, BACKEND_ENV, SERVER_SECRET } from "../helpers/backend.ts";
import { foldersTogether } from "../helpers/functions-folder.ts";
import { customerEvent, deliver } from "../helpers/inbox.ts";
import { type LocalBackend, localBackend } from "../helpers/local-backend.ts";
import { startTestIssuer, type TestIssuer } from "../helpers/test-issuer.ts";

/** The functions behind the engine's own door, with an issuer that signs real tokens. */
export interface World {
  readonly url: string;
  readonly issuer: TestIssuer;
  readonly backend: LocalBackend;
  /** The same backend with the calls that helpers of the functions' tests make: past the door, as the system. */
  readonly inside: Backend;
  call(kind: Kind, path: string, args: object, token?: string): Promise<CallAnswer>;
  close(): Promise<void>;
}

export type Kind = "query" | "mutation" | "action";

/** What the door answered: a value, an error of the function, or a request that was refused as such. */
export interface CallAnswer {
  readonly status: number;
  readonly text: string;
  readonly body: {
    readonly status?: "success" | "error";
    readonly value?: unknown;
    readonly errorData?: { readonly code?: string };
    readonly errorMessage?: string;
    readonly code?: string;
  };
}

export const ADMIN_KEY = "admin-key-of-the-attack-suite-0123456789";

export const OPERATOR_KEY = `hf_op_${"Op".repeat(21)}A`;
export const OPERATOR_KEYS = { serverSecret: SERVER_SECRET, keyHash: hashApiKey(OPERATOR_KEY) };

export async function openWorld(): Promise<World> {
  const issuer = await startTestIssuer();
  const backend = await localBackend({
    functionsDir: foldersTogether(),
    env: {
      ...BACKEND_ENV,
      KINDE_ISSUER_URL: issuer.url,
      HOLDFAST_OPERATOR_KEY_HASH: OPERATOR_KEYS.keyHash,
    },
  });
  await backend.engine.settled();
  const options = { host: "127.0.0.1", port: 0, adminKey: ADMIN_KEY };
  const server: RunningServer = await startServer(backend.engine, options);
  const url = `http://127.0.0.1:${server.port}`;
  const inside: Backend = {
    ...backend,
    as({ subject, permissions = [] }) {
      const identity = {
        tokenIdentifier: `${issuer.url}|${subject}`,
        issuer: issuer.url,
        subject,
        permissions,
      };
      const caller: Caller = { ...SYSTEM_CALLER, admin: false, identity };
      return backend.as(caller);
    },
    conflictCount: () => backend.engine.counts.conflicts,
  };
  return {
    url,
    issuer,
    backend,
    inside,
    async call(kind, path, args, token) {
      const headers: Record<string, string> = { "content-type": "application/json" };
      if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
      const body = JSON.stringify({ path, args: [args], format: "convex_encoded_json" });
      const response = await fetch(`${url}/api/${kind}`, { method: "POST", headers, body });
      const text = await response.text();
      return { status: response.status, text, body: JSON.parse(text) as CallAnswer["body"] };
    },
    async close() {
      await server.close();
      await backend.close();
      await issuer.close();
    },
  };
}

/** A customer with one row of every kind that has an owner, and the ids that name them. */
export interface Customer {
  readonly accountId: string;
  readonly token: string;
  /** The key itself, and what our server makes of it. */
  readonly secret: string;
  readonly keys: { readonly serverSecret: string; readonly keyHash: string };
  /** By the name of the argument or path parameter that takes it. */
  readonly ids: Readonly<Record<string, string>>;
  /** Stands in every text of this customer and in no other. */
  readonly mark: string;
}

let made = 0;

export async function createCustomer({ inside, issuer }: World): Promise<Customer> {
  made += 1;
  const mark = `mark${made.toString().padStart(4, "0")}x`;
  const [kindeUserId, customerId] = [`kp_${mark}`, `customer_${mark}`];
  const email = `${mark}@example.org`;
  const accountId = await inside.mutation<string>("signIn:link", { kindeUserId, customerId, email });
  const { secret, keyHash, prefix } = createApiKey();
  const { apiKey } = await inside.mutation<{ apiKey: { id: string } }>("apiKeys:create", {
    ...OPERATOR_KEYS,
    accountId,
    keyHashNew: keyHash,
    prefix,
    name: mark,
    scopes: scope.options,
  });
  const insert = async (table: string, row: object) =>
    (await inside.mutation<[string]>("testRows:insert", { table, row, times: 1 }))[0];
  await insert("limits", limitRow(accountId, inside.nowMs()));
  const reviewId = await insert("reviews", reviewRow(accountId, mark, inside.nowMs()));
  const keys = { serverSecret: SERVER_SECRET, keyHash };
  const act = <Answer>(path: string, args: object) => inside.mutation<Answer>(path, { ...keys, ...args });

  const runner = { steps: 5, stepUnits: 1, stepMs: 30_000, endAs: "completed" };
  const admitted = await act<{ kind: string; job?: { id: string } }>("gate:admit", {
    key: mark,
    units: 50,
    runner,
  });
  const { link } = await act<{ link: { id: string; code: string } }>("links:create", {
    target: `https://example.com/${mark}`,
    title: mark,
  });
  const click = {
    key: createHash("sha256").update(mark).digest("hex").slice(0, 32),
    linkId: link.id,
    accountId,
    atMs: inside.nowMs(),
    served: "target",
    class: "billable",
    rule: "",
    referrer: null,
    agent: null,
  };
  await inside.mutation("clicks:record", {
    serverSecret: SERVER_SECRET,
    linkId: link.id,
    accountId,
    clicks: [click],
  });
  const { reminder } = await act<{ reminder: { id: string } }>("reminders:create", {
    key: mark,
    text: mark,
    dueAtMs: inside.nowMs() + 3_600_000,
  });
  const at = new Date(inside.nowMs()).toISOString();
  const data = { user_id: kindeUserId, customer_id: customerId, note: mark };
  await deliver(inside, customerEvent("payment_succeeded", `event_${mark}`, at, data));
  await inside.advanceMs(0);
  const own = async (table: string) => {
    const rows = await inside.readAll<{ _id: string; _creationTime: number; accountId?: string }>(table);
    return must(
      rows.find((row) => row.accountId === accountId),
      `no row of ${mark} in ${table}`,
    )._id;
  };
  const eventId = await own("inboxEvents");
  // One replay, so that the list of them has something to hide.
  await act("inboxEvents:replay", { id: eventId });
  await inside.advanceMs(0);
  const ids = {
    accountId,
    jobId: must(admitted.job, `not admitted: ${JSON.stringify(admitted)}`).id,
    linkId: link.id,
    entryId: await own("entries"),
    reminderId: reminder.id,
    keyId: apiKey.id,
    apiKeyId: apiKey.id,
    eventId,
    id: eventId,
    reviewId,
    code: link.code,
  };
  return { accountId, token: await issuer.sign({ sub: kindeUserId }), secret, keys, ids, mark };
}

/** The cached limit of an account, as a read of the provider a moment ago would have left it. */
function limitRow(accountId: string, nowMs: number): object {
  return {
    accountId,
    feature: "tokens",
    limitUnits: 1_000,
    readAtMs: nowMs,
    provider: "kinde",
    planKey: null,
    refreshFence: 0,
    refreshLeaseExpiresAtMs: null,
    refreshFailedAtMs: null,
    refreshFailure: null,
    refreshRequiredAtMs: null,
  };
}

function reviewRow(accountId: string, mark: string, openedAtMs: number): object {
  const decided = { decision: null, decidedBy: null, decidedAtMs: null, note: null };
  return {
    kind: "repeated_failure",
    subject: mark,
    accountId,
    detail: mark,
    late: null,
    status: "open",
    openedAtMs,
    ...decided,
  };
}

/** Every row that names the customer or something of the customer's: what nobody else may change. */
export async function rowsOf({ backend }: World, { accountId, ids }: Customer): Promise<string[]> {
  const names = [accountId, ...Object.values(ids)];
  const rows: string[] = [];
  const { schema } = backend.engine.runtime.modules;
  for (const { tableName } of must(schema, "no schema").tables) {
    for (const row of await backend.readAll(tableName)) {
      const text = JSON.stringify(row, (_key, value: unknown) =>
        typeof value === "bigint" ? `${value}n` : value,
      );
      if (names.some((name) => text.includes(name))) rows.push(`${tableName} ${text}`);
    }
  }
  return rows.toSorted();
}
