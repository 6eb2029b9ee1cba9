import { v } from "convex/values";

import type { Doc } from "./_generated/dataModel";
import { internalQuery } from "./_generated/server";
import { recordAct } from "./auditLog";
import { operatorMutation, operatorQuery, refuse, resolveKey } from "./functions";
import { notFoundValidator, scopeValidator } from "./validators";

/** API keys of an account. The raw key never gets here: the Next server makes it and sends its hash and prefix. */

const KEYS_LISTED_MAX = 100;

const apiKeyValidator = v.object({
  id: v.string(),
  prefix: v.string(),
  name: v.string(),
  scopes: v.array(scopeValidator),
  createdAtMs: v.number(),
  revokedAtMs: v.union(v.number(), v.null()),
  lastUsedAtMs: v.union(v.number(), v.null()),
});

export const create = operatorMutation({
  args: {
    accountId: v.string(),
    keyHashNew: v.string(),
    prefix: v.string(),
    name: v.string(),
    scopes: v.array(scopeValidator),
  },
  returns: v.union(v.object({ kind: v.literal("created"), apiKey: apiKeyValidator }), notFoundValidator),
  handler: async (ctx, args) => {
    const accountId = ctx.db.normalizeId("accounts", args.accountId);
    if (accountId === null || (await ctx.db.get(accountId)) === null) return { kind: "not_found" as const };
    checkHash(args.keyHashNew);
    const nowMs = Date.now();
    const { keyHashNew: keyHash, prefix, name, scopes } = args;
    const fields = { accountId, keyHash, prefix, name, scopes, createdAtMs: nowMs };
    const id = await ctx.db.insert("apiKeys", { ...fields, revokedAtMs: null, lastUsedAtMs: null });
    await recordAct(ctx, { action: "api_key_created", accountId, details: { apiKeyId: id, prefix }, nowMs });
    return {
      kind: "created" as const,
      apiKey: { id, prefix, name, scopes, createdAtMs: nowMs, revokedAtMs: null, lastUsedAtMs: null },
    };
  },
});

export const list = operatorQuery({
  args: { accountId: v.string() },
  returns: v.object({ apiKeys: v.array(apiKeyValidator) }),
  handler: async (ctx, args) => {
    const accountId = ctx.db.normalizeId("accounts", args.accountId);
    if (accountId === null) return { apiKeys: [] };
    const keys = await ctx.db
      .query("apiKeys")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .order("desc")
      .take(KEYS_LISTED_MAX);
    return { apiKeys: keys.map(viewKey) };
  },
});

/** Ends a key for good. Revoking twice keeps the first instant. */
export const revoke = operatorMutation({
  args: { accountId: v.string(), apiKeyId: v.string() },
  returns: v.union(v.object({ kind: v.literal("revoked"), apiKey: apiKeyValidator }), notFoundValidator),
  handler: async (ctx, { accountId, apiKeyId }) => {
    const id = ctx.db.normalizeId("apiKeys", apiKeyId);
    const key = id === null ? null : await ctx.db.get(id);
    if (key === null || key.accountId !== accountId) return { kind: "not_found" as const };
    if (key.revokedAtMs !== null) return { kind: "revoked" as const, apiKey: viewKey(key) };
    const nowMs = Date.now();
    await ctx.db.patch(key._id, { revokedAtMs: nowMs });
    const details = { apiKeyId: key._id, prefix: key.prefix };
    await recordAct(ctx, { action: "api_key_revoked", accountId: key.accountId, details, nowMs });
    return { kind: "revoked" as const, apiKey: viewKey({ ...key, revokedAtMs: nowMs }) };
  },
});

/** Gives a key a new secret under the same id, name and scopes. The old secret stops at once. */
export const rotate = operatorMutation({
  args: { accountId: v.string(), apiKeyId: v.string(), keyHashNew: v.string(), prefix: v.string() },
  returns: v.union(v.object({ kind: v.literal("rotated"), apiKey: apiKeyValidator }), notFoundValidator),
  handler: async (ctx, { accountId, apiKeyId, keyHashNew, prefix }) => {
    const id = ctx.db.normalizeId("apiKeys", apiKeyId);
    const key = id === null ? null : await ctx.db.get(id);
    if (key === null || key.accountId !== accountId || key.revokedAtMs !== null) {
      return { kind: "not_found" as const };
    }
    checkHash(keyHashNew);
    await ctx.db.patch(key._id, { keyHash: keyHashNew, prefix });
    const details = { apiKeyId: key._id, prefixBefore: key.prefix, prefix };
    await recordAct(ctx, { action: "api_key_rotated", accountId: key.accountId, details, nowMs: Date.now() });
    return { kind: "rotated" as const, apiKey: viewKey({ ...key, prefix }) };
  },
});

/** For actions, which cannot read the database themselves. Throws what `resolveKey` throws. */
export const accountOf = internalQuery({
  args: { keyHash: v.string(), scope: scopeValidator },
  returns: v.id("accounts"),
  handler: async (ctx, { keyHash, scope }) => (await resolveKey(ctx, keyHash, scope)).principal.accountId,
});

function checkHash(keyHash: string): void {
  if (!/^[0-9a-f]{64}$/.test(keyHash))
    refuse("invalid", "keyHashNew must be a SHA-256 digest in lower-case hex");
}

function viewKey(key: Doc<"apiKeys">) {
  const { _id: id, prefix, name, scopes, createdAtMs, revokedAtMs, lastUsedAtMs } = key;
  return { id, prefix, name, scopes, createdAtMs, revokedAtMs, lastUsedAtMs };
}
