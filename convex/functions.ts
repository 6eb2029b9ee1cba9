import { customAction, customMutation, customQuery } from "convex-helpers/server/customFunctions";
import { ConvexError, v } from "convex/values";

import { type ContractCode, contractError } from "../lib/shared/errors";
import { grantsOperator, OPERATOR_PERMISSION } from "../lib/kinde/permissions";
import { MINUTE_MS } from "../lib/shared/durations";
import { equalInConstantTime } from "../lib/shared/secrets";

import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { action, mutation, type MutationCtx, query, type QueryCtx } from "./_generated/server";
import { withPatience } from "./patience";
import { findAccountOfUser } from "./rows";
import type { Scope } from "./validators";

/**
 * The only file with the bare public builders. Every public function is made by one of these:
 *
 * - `server*`: our own server alone, which proves itself with the server secret.
 * - `account*`: on behalf of one account. Either our server vouches for an API key, or a signed-in customer calls
 *   with the token of the sign-in provider; both end in the same principal and the same owner checks.
 * - `operator*`: on behalf of an operator. Either our server vouches for the operator key, or the caller's token
 *   carries the permission `operate:holdfast`.
 * - `signedInAction`: anybody with a valid token, for the one call that makes the account.
 *
 * Functions that nobody outside calls use the `internal*` builders of _generated/server, and `internalAction` of
 * patience.ts.
 */

/** Who a call speaks for. */
export interface Principal {
  readonly accountId: Id<"accounts">;
  readonly account: Doc<"accounts">;
  /** Null for a signed-in customer. */
  readonly apiKeyId: Id<"apiKeys"> | null;
}

/** What the sign-in provider vouches for in a token. */
export interface SignedIn {
  readonly kindeUserId: string;
  readonly isOperator: boolean;
}

interface NeedsScope {
  /** What an API key needs. Null: no key may do this, only the signed-in customer. */
  readonly scope: Scope | null;
}

const serverArgs = { serverSecret: v.string() };
/** Both from our server, or neither from a caller with a token. */
const vouchedArgs = { serverSecret: v.optional(v.string()), keyHash: v.optional(v.string()) };

interface Vouched {
  readonly serverSecret?: string;
  readonly keyHash?: string;
}

/** `lastUsedAtMs` of a key is a hint for its owner, not a log: one write a minute keeps it off the hot path. */
const LAST_USED_EVERY_MS = MINUTE_MS;

export function refuse(code: ContractCode, message: string): never {
  throw new ConvexError(contractError(code, message));
}

function refuseWithoutAccount(): never {
  refuse("no_account", "this sign-in has no account yet");
}

function refuseDeleted(isDeleted: boolean): void {
  if (isDeleted) refuse("forbidden", "this customer was deleted");
}

function checkServer(serverSecret: string): void {
  const accepted = (process.env.HOLDFAST_SERVER_SECRETS ?? "").split(",").filter((secret) => secret !== "");
  // Every accepted secret is compared, so that the time taken does not tell which one it was.
  const matches = accepted.map((secret) => equalInConstantTime(secret, serverSecret));
  if (!matches.includes(true)) refuse("server_refused", "the server secret is not accepted");
}

/** The key that our server vouches for; null when the caller brings a token instead. */
function vouchedKey({ serverSecret, keyHash }: Vouched): string | null {
  if (serverSecret === undefined && keyHash === undefined) return null;
  checkServer(serverSecret ?? "");
  return keyHash ?? refuse("unauthorized", "a key is needed");
}

/** Throws `unauthorized` without a valid token. */
async function requireSignedIn(ctx: Pick<QueryCtx, "auth">): Promise<SignedIn> {
  const identity = await ctx.auth.getUserIdentity();
  if (identity === null) refuse("unauthorized", "sign in first");
  return { kindeUserId: identity.subject, isOperator: grantsOperator(identity["permissions"]) };
}

async function checkOperator(ctx: Pick<QueryCtx, "auth">, args: Vouched): Promise<{ actor: string }> {
  const keyHash = vouchedKey(args);
  if (keyHash === null) {
    const signedIn = await requireSignedIn(ctx);
    if (!signedIn.isOperator) refuse("forbidden", `the permission ${OPERATOR_PERMISSION} is needed`);
    return { actor: signedIn.kindeUserId };
  }
  const expected = process.env.HOLDFAST_OPERATOR_KEY_HASH ?? "";
  if (expected === "" || !equalInConstantTime(expected, keyHash))
    refuse("forbidden", "the operator key is needed");
  return { actor: "operator key" };
}

/** The key with this hash, revoked or not. */
export async function findApiKey(ctx: Pick<QueryCtx, "db">, keyHash: string): Promise<Doc<"apiKeys"> | null> {
  return await ctx.db
    .query("apiKeys")
    .withIndex("by_key_hash", (q) => q.eq("keyHash", keyHash))
    .unique();
}

/** The account behind a key hash. Throws `unauthorized` for an unknown or revoked key, `forbidden` without scope. */
export async function resolveKey(
  ctx: Pick<QueryCtx, "db">,
  keyHash: string,
  scope: Scope | null,
): Promise<{ principal: Principal; apiKey: Doc<"apiKeys"> }> {
  const apiKey = await findApiKey(ctx, keyHash);
  if (apiKey === null || apiKey.revokedAtMs !== null) refuse("unauthorized", "the API key is not known");
  if (scope === null) refuse("forbidden", "an API key cannot do this; sign in");
  if (!apiKey.scopes.includes(scope)) refuse("forbidden", `the API key lacks the scope ${scope}`);
  const account = await ctx.db.get(apiKey.accountId);
  if (account === null) refuse("unauthorized", "the account of this API key is gone");
  refuseDeleted(account.deletedAtMs !== null);
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

export const serverMutation = customMutation(mutation, {
  args: serverArgs,
  input: async (_ctx, { serverSecret }) => {
    checkServer(serverSecret);
    return { ctx: {}, args: {} };
  },
});

/** Who the call speaks for, and the key row when it was a key. */
async function resolvePrincipal(
  ctx: Pick<QueryCtx, "db" | "auth">,
  args: Vouched,
  scope: Scope | null,
): Promise<{ principal: Principal; apiKey: Doc<"apiKeys"> | null }> {
  const keyHash = vouchedKey(args);
  if (keyHash !== null) return await resolveKey(ctx, keyHash, scope);
  const { kindeUserId } = await requireSignedIn(ctx);
  const account = await findAccountOfUser(ctx, kindeUserId);
  if (account === null) refuseWithoutAccount();
  refuseDeleted(account.deletedAtMs !== null);
  return { principal: { accountId: account._id, account, apiKeyId: null }, apiKey: null };
}

export const operatorQuery = customQuery(query, {
  args: vouchedArgs,
  input: async (ctx, args) => ({ ctx: await checkOperator(ctx, args), args: {} }),
});

export const operatorMutation = customMutation(mutation, {
  args: vouchedArgs,
  input: async (ctx, args) => ({ ctx: await checkOperator(ctx, args), args: {} }),
});

export const operatorAction = customAction(action, {
  args: vouchedArgs,
  input: async (ctx, args) => ({
    ctx: { ...(await checkOperator(ctx, args)), ...withPatience(ctx) },
    args: {},
  }),
});

export const accountQuery = customQuery(query, {
  args: vouchedArgs,
  input: async (ctx, args, { scope }: NeedsScope) => {
    const { principal } = await resolvePrincipal(ctx, args, scope);
    return { ctx: { principal }, args: {} };
  },
});

export const accountMutation = customMutation(mutation, {
  args: vouchedArgs,
  input: async (ctx, args, { scope }: NeedsScope) => {
    const { principal, apiKey } = await resolvePrincipal(ctx, args, scope);
    if (apiKey !== null) await noteUse(ctx, apiKey);
    return { ctx: { principal }, args: {} };
  },
});

/** Actions have no database, so whoever is behind a key or a token is looked up by an internal query. */
export const accountAction = customAction(action, {
  args: vouchedArgs,
  input: async (ctx, args, { scope }: NeedsScope) => {
    const keyHash = vouchedKey(args);
    if (keyHash !== null) {
      const accountId: Id<"accounts"> = await ctx.runQuery(internal.apiKeys.accountOf, { keyHash, scope });
      return { ctx: { accountId, ...withPatience(ctx) }, args: {} };
    }
    const { kindeUserId } = await requireSignedIn(ctx);
    const known: { accountId: Id<"accounts">; isDeleted: boolean } =
      (await ctx.runQuery(internal.accounts.ofUser, { kindeUserId })) ?? refuseWithoutAccount();
    refuseDeleted(known.isDeleted);
    return { ctx: { accountId: known.accountId, ...withPatience(ctx) }, args: {} };
  },
});

export const signedInAction = customAction(action, {
  args: {},
  input: async (ctx) => ({ ctx: { signedIn: await requireSignedIn(ctx), ...withPatience(ctx) }, args: {} }),
});

export const signedInQuery = customQuery(query, {
  args: {},
  input: async (ctx) => ({ ctx: { signedIn: await requireSignedIn(ctx) }, args: {} }),
});
