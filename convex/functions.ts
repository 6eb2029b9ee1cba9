import { customAction, customMutation, customQuery } from "convex-helpers/server/customFunctions";
import { ConvexError, v } from "convex/values";

import { type ContractCode, contractError } from "../lib/shared/errors";
import { MINUTE_MS } from "../lib/shared/durations";
import { equalInConstantTime } from "../lib/shared/secrets";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { action, mutation, type MutationCtx, query, type QueryCtx } from "./_generated/server";
import type { Scope } from "./validators";

/**
 * The only file with the bare public builders. Every public function is made by one of these:
 * `server*` for our own server alone, `operator*` for it on behalf of an operator, `key*` on behalf of an account.
 * Functions that nobody outside calls use the `internal*` builders of _generated/server.
 */

/** Who an API key speaks for. */
export interface Principal {
  readonly accountId: Id<"accounts">;
  readonly account: Doc<"accounts">;
  readonly apiKeyId: Id<"apiKeys">;
}

interface NeedsScope {
  readonly scope: Scope;
}

const serverArgs = { serverSecret: v.string() };
const keyedArgs = { serverSecret: v.string(), keyHash: v.string() };

/** `lastUsedAtMs` of a key is a hint for its owner, not a log: one write a minute keeps it off the hot path. */
const LAST_USED_EVERY_MS = MINUTE_MS;

export function refuse(code: ContractCode, message: string): never {
  throw new ConvexError(contractError(code, message));
}

function checkServer(serverSecret: string): void {
  const accepted = (process.env.HOLDFAST_SERVER_SECRETS ?? "").split(",").filter((secret) => secret !== "");
  // Every accepted secret is compared, so that the time taken does not tell which one it was.
  const matches = accepted.map((secret) => equalInConstantTime(secret, serverSecret));
  if (!matches.includes(true)) refuse("server_refused", "the server secret is not accepted");
}

function checkOperator(keyHash: string): void {
  const expected = process.env.HOLDFAST_OPERATOR_KEY_HASH ?? "";
  if (expected === "" || !equalInConstantTime(expected, keyHash))
    refuse("forbidden", "the operator key is needed");
}

/** The account behind a key hash. Throws `unauthorized` for an unknown or revoked key, `forbidden` without scope. */
export async function resolveKey(
  ctx: Pick<QueryCtx, "db">,
  keyHash: string,
  scope: Scope,
): Promise<{ principal: Principal; apiKey: Doc<"apiKeys"> }> {
  const apiKey = await ctx.db
    .query("apiKeys")
    .withIndex("by_key_hash", (q) => q.eq("keyHash", keyHash))
    .unique();
  if (apiKey === null || apiKey.revokedAtMs !== null) refuse("unauthorized", "the API key is not known");
  if (!apiKey.scopes.includes(scope)) refuse("forbidden", `the API key lacks the scope ${scope}`);
  const account = await ctx.db.get(apiKey.accountId);
  if (account === null) refuse("unauthorized", "the account of this API key is gone");
  return { principal: { accountId: account._id, account, apiKeyId: apiKey._id }, apiKey };
}

async function noteUse(ctx: MutationCtx, apiKey: Doc<"apiKeys">): Promise<void> {
  const nowMs = Date.now();
  if (apiKey.lastUsedAtMs !== null && nowMs - apiKey.lastUsedAtMs < LAST_USED_EVERY_MS) return;
  await ctx.db.patch(apiKey._id, { lastUsedAtMs: nowMs });
}

export const serverQuery = customQuery(query, {
  args: serverArgs,
  input: async (_ctx, { serverSecret }) => {
    checkServer(serverSecret);
    return { ctx: {}, args: {} };
  },
});

export const operatorQuery = customQuery(query, {
  args: keyedArgs,
  input: async (_ctx, { serverSecret, keyHash }) => {
    checkServer(serverSecret);
    checkOperator(keyHash);
    return { ctx: {}, args: {} };
  },
});

export const operatorMutation = customMutation(mutation, {
  args: keyedArgs,
  input: async (_ctx, { serverSecret, keyHash }) => {
    checkServer(serverSecret);
    checkOperator(keyHash);
    return { ctx: {}, args: {} };
  },
});

export const operatorAction = customAction(action, {
  args: keyedArgs,
  input: async (_ctx, { serverSecret, keyHash }) => {
    checkServer(serverSecret);
    checkOperator(keyHash);
    return { ctx: {}, args: {} };
  },
});

export const keyQuery = customQuery(query, {
  args: keyedArgs,
  input: async (ctx, { serverSecret, keyHash }, { scope }: NeedsScope) => {
    checkServer(serverSecret);
    const { principal } = await resolveKey(ctx, keyHash, scope);
    return { ctx: { principal }, args: {} };
  },
});

export const keyMutation = customMutation(mutation, {
  args: keyedArgs,
  input: async (ctx, { serverSecret, keyHash }, { scope }: NeedsScope) => {
    checkServer(serverSecret);
    const { principal, apiKey } = await resolveKey(ctx, keyHash, scope);
    await noteUse(ctx, apiKey);
    return { ctx: { principal }, args: {} };
  },
});

export const keyAction = customAction(action, {
  args: keyedArgs,
  input: async (ctx, { serverSecret, keyHash }, { scope }: NeedsScope) => {
    checkServer(serverSecret);
    const accountId: Id<"accounts"> = await ctx.runQuery(internal.apiKeys.accountOf, { keyHash, scope });
    return { ctx: { accountId }, args: {} };
  },
});
