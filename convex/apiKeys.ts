import { v } from "convex/values";

import type { Doc, Id } from "./_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import {
  accountMutation,
  accountQuery,
  findApiKey,
  operatorMutation,
  operatorQuery,
  refuse,
  resolveKey,
} from "./functions";
import { notFoundValidator, type Scope, scopeValidator } from "./validators";

/**
 * API keys of an account. The raw key never gets here: whoever makes it, our server for an operator or the browser of
 * the customer, sends its hash and prefix.
 */

const KEYS_LISTED_MAX = 1_000;
/** Live keys of one account; revoked ones do not count. */
const KEYS_LIVE_MAX = 50;
const NAME_LENGTH_MAX = 200;

const NOT_FOUND = { kind: "not_found" as const };

const apiKeyValidator = v.object({
  id: v.string(),
  prefix: v.string(),
  name: v.string(),
  scopes: v.array(scopeValidator),
  createdAtMs: v.number(),
  revokedAtMs: v.union(v.number(), v.null()),
  lastUsedAtMs: v.union(v.number(), v.null()),
});

const secretArgs = { keyHashNew: v.string(), prefix: v.string() };
const makeArgs = { ...secretArgs, name: v.string(), scopes: v.array(scopeValidator) };
const createdValidator = v.object({ kind: v.literal("created"), apiKey: apiKeyValidator });
const revokedValidator = v.object({ kind: v.literal("revoked"), apiKey: apiKeyValidator });
const rotatedValidator = v.object({ kind: v.literal("rotated"), apiKey: apiKeyValidator });

export const create = operatorMutation({
  args: { accountId: v.string(), ...makeArgs },
  returns: v.union(createdValidator, notFoundValidator),
  handler: async (ctx, { accountId, ...args }) => {
    const account = await findAccount(ctx, accountId);
    return account === null ? NOT_FOUND : await createKey(ctx, account, args, ctx.actor);
  },
});

export const createOwn = accountMutation({
  scope: null,
  args: makeArgs,
  returns: createdValidator,
  handler: async (ctx, args) => await createKey(ctx, ctx.principal.accountId, args, "customer"),
});

export const list = operatorQuery({
  args: { accountId: v.string() },
  returns: v.object({ apiKeys: v.array(apiKeyValidator) }),
  handler: async (ctx, args) => {
    const accountId = ctx.db.normalizeId("accounts", args.accountId);
    return { apiKeys: accountId === null ? [] : await listKeys(ctx, accountId) };
  },
});

export const listOwn = accountQuery({
  scope: null,
  args: {},
  returns: v.object({ apiKeys: v.array(apiKeyValidator) }),
  handler: async (ctx) => ({ apiKeys: await listKeys(ctx, ctx.principal.accountId) }),
});

export const revoke = operatorMutation({
  args: { accountId: v.string(), apiKeyId: v.string() },
  returns: v.union(revokedValidator, notFoundValidator),
  handler: async (ctx, { accountId, apiKeyId }) => await revokeKey(ctx, accountId, apiKeyId, ctx.actor),
});

export const revokeOwn = accountMutation({
  scope: null,
  args: { apiKeyId: v.string() },
  returns: v.union(revokedValidator, notFoundValidator),
  handler: async (ctx, { apiKeyId }) => await revokeKey(ctx, ctx.principal.accountId, apiKeyId, "customer"),
});

export const rotate = operatorMutation({
  args: { accountId: v.string(), apiKeyId: v.string(), ...secretArgs },
  returns: v.union(rotatedValidator, notFoundValidator),
  handler: async (ctx, { accountId, apiKeyId, ...secret }) =>
    await rotateKey(ctx, accountId, apiKeyId, secret, ctx.actor),
});

export const rotateOwn = accountMutation({
  scope: null,
  args: { apiKeyId: v.string(), ...secretArgs },
  returns: v.union(rotatedValidator, notFoundValidator),
  handler: async (ctx, { apiKeyId, ...secret }) =>
    await rotateKey(ctx, ctx.principal.accountId, apiKeyId, secret, "customer"),
});

interface Secret {
  readonly keyHashNew: string;
  readonly prefix: string;
}

/** Also for the lab. */
export async function createKey(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  args: Secret & { name: string; scopes: Scope[] },
  actor: string,
) {
  await checkSecret(ctx, args);
  const { keyHashNew: keyHash, prefix, name, scopes } = args;
  if (name.length < 1 || name.length > NAME_LENGTH_MAX) {
    refuse("invalid", `name must have 1 to ${NAME_LENGTH_MAX} characters`);
  }
  if (scopes.length === 0) refuse("invalid", "scopes must name at least one scope");
  const live = (await listKeys(ctx, accountId)).filter((key) => key.revokedAtMs === null);
  if (live.length >= KEYS_LIVE_MAX) {
    refuse("invalid", `an account has at most ${KEYS_LIVE_MAX} live API keys; revoke one first`);
  }
  const nowMs = Date.now();
  const fields = { accountId, keyHash, prefix, name, scopes, createdAtMs: nowMs };
  const id = await ctx.db.insert("apiKeys", { ...fields, revokedAtMs: null, lastUsedAtMs: null });
  const details = { apiKeyId: id, prefix };
  await recordAct(ctx, { actor, action: "api_key_created", accountId, details, nowMs });
  return {
    kind: "created" as const,
    apiKey: { id, prefix, name, scopes, createdAtMs: nowMs, revokedAtMs: null, lastUsedAtMs: null },
  };
}

async function listKeys(ctx: Pick<QueryCtx, "db">, accountId: Id<"accounts">) {
  const keys = await ctx.db
    .query("apiKeys")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .order("desc")
    .take(KEYS_LISTED_MAX);
  return keys.map(viewKey);
}

/** Ends a key for good. Revoking twice keeps the first instant. */
async function revokeKey(ctx: MutationCtx, accountId: string, apiKeyId: string, actor: string) {
  const key = await findKey(ctx, accountId, apiKeyId);
  if (key === null) return NOT_FOUND;
  if (key.revokedAtMs !== null) return { kind: "revoked" as const, apiKey: viewKey(key) };
  const nowMs = Date.now();
  await ctx.db.patch(key._id, { revokedAtMs: nowMs });
  const details = { apiKeyId: key._id, prefix: key.prefix };
  await recordAct(ctx, { actor, action: "api_key_revoked", accountId: key.accountId, details, nowMs });
  return { kind: "revoked" as const, apiKey: viewKey({ ...key, revokedAtMs: nowMs }) };
}

/** Gives a key a new secret under the same id, name and scopes. The old secret stops at once. */
async function rotateKey(
  ctx: MutationCtx,
  accountId: string,
  apiKeyId: string,
  secret: Secret,
  actor: string,
) {
  const key = await findKey(ctx, accountId, apiKeyId);
  if (key === null || key.revokedAtMs !== null) return NOT_FOUND;
  await checkSecret(ctx, secret);
  const { keyHashNew: keyHash, prefix } = secret;
  await ctx.db.patch(key._id, { keyHash, prefix });
  const details = { apiKeyId: key._id, prefixBefore: key.prefix, prefix };
  await recordAct(ctx, {
    actor,
    action: "api_key_rotated",
    accountId: key.accountId,
    details,
    nowMs: Date.now(),
  });
  return { kind: "rotated" as const, apiKey: viewKey({ ...key, prefix }) };
}

/** A key by the ids a caller sent, only when it belongs to the account. */
async function findKey(
  ctx: Pick<QueryCtx, "db">,
  accountId: string,
  apiKeyId: string,
): Promise<Doc<"apiKeys"> | null> {
  const id = ctx.db.normalizeId("apiKeys", apiKeyId);
  const key = id === null ? null : await ctx.db.get(id);
  return key?.accountId === accountId ? key : null;
}

async function findAccount(ctx: Pick<QueryCtx, "db">, accountId: string): Promise<Id<"accounts"> | null> {
  const id = ctx.db.normalizeId("accounts", accountId);
  return id === null || (await ctx.db.get(id)) === null ? null : id;
}

/** For actions, which cannot read the database themselves. Throws what `resolveKey` throws. */
export const accountOf = internalQuery({
  args: { keyHash: v.string(), scope: v.union(scopeValidator, v.null()) },
  returns: v.id("accounts"),
  handler: async (ctx, { keyHash, scope }) => (await resolveKey(ctx, keyHash, scope)).principal.accountId,
});

/** A hash that exists already would make one of two keys answer for the other's account. */
async function checkSecret(ctx: Pick<QueryCtx, "db">, { keyHashNew, prefix }: Secret): Promise<void> {
  if (!/^[0-9a-f]{64}$/.test(keyHashNew)) {
    refuse("invalid", "keyHashNew must be a SHA-256 digest in lower-case hex");
  }
  if (!/^hf_[\w-]{1,30}$/.test(prefix)) refuse("invalid", "prefix must be the beginning of an hf_ key");
  if ((await findApiKey(ctx, keyHashNew)) !== null) refuse("invalid", "keyHashNew belongs to another key");
}

function viewKey(key: Doc<"apiKeys">) {
  const { _id: id, prefix, name, scopes, createdAtMs, revokedAtMs, lastUsedAtMs } = key;
  return { id, prefix, name, scopes, createdAtMs, revokedAtMs, lastUsedAtMs };
}
