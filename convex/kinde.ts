import { v } from "convex/values";

import { createKindeClient, type KindeClient } from "../lib/kinde/client";
import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery } from "./_generated/server";

/** The provider as the actions here reach it: where it is, who we are to it, and the token between calls. */

/** The client of the configured tenant. Throws when the deployment names none. */
export function kindeClient(ctx: ActionCtx): KindeClient {
  const issuerUrl = configured("KINDE_ISSUER_URL");
  const audience = process.env.KINDE_API_AUDIENCE;
  return createKindeClient({
    issuerUrl,
    clientId: configured("KINDE_M2M_CLIENT_ID"),
    clientSecret: configured("KINDE_M2M_CLIENT_SECRET"),
    ...(audience === undefined || audience === "" ? {} : { audience }),
    tokenStore: {
      read: () => ctx.runQuery(internal.kinde.readToken, { issuerUrl }),
      write: async (token) => {
        await ctx.runMutation(internal.kinde.writeToken, { issuerUrl, ...token });
      },
    },
    nowMs: () => Date.now(),
    random: () => Math.random(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
}

function configured(name: string): string {
  return must(process.env[name], `the deployment's environment variable ${name} is not set`);
}

/** The billing customer of an account: from its row, else from the provider, which is then remembered. */
export async function customerIdOf(
  ctx: ActionCtx,
  client: KindeClient,
  accountId: Id<"accounts">,
): Promise<string | null> {
  const ids = await ctx.runQuery(internal.kinde.providerIds, { accountId });
  if (ids.customerId !== null || ids.kindeUserId === null) return ids.customerId;
  const found = await client.findCustomer({ userId: ids.kindeUserId });
  if (found.kind !== "found" || found.customerId === null) return null;
  await ctx.runMutation(internal.signIn.link, {
    kindeUserId: ids.kindeUserId,
    customerId: found.customerId,
    email: found.email,
  });
  return found.customerId;
}

export const providerIds = internalQuery({
  args: { accountId: v.id("accounts") },
  returns: v.object({
    kindeUserId: v.union(v.string(), v.null()),
    customerId: v.union(v.string(), v.null()),
  }),
  handler: async (ctx, { accountId }) => {
    const { kindeUserId, customerId } = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
    return { kindeUserId, customerId };
  },
});

export const readToken = internalQuery({
  args: { issuerUrl: v.string() },
  returns: v.union(v.object({ accessToken: v.string(), expiresAtMs: v.number() }), v.null()),
  handler: async (ctx, { issuerUrl }) => {
    const row = await ctx.db
      .query("providerTokens")
      .withIndex("by_issuer", (q) => q.eq("issuerUrl", issuerUrl))
      .unique();
    return row === null ? null : { accessToken: row.accessToken, expiresAtMs: row.expiresAtMs };
  },
});

export const writeToken = internalMutation({
  args: { issuerUrl: v.string(), accessToken: v.string(), expiresAtMs: v.number() },
  returns: v.null(),
  handler: async (ctx, { issuerUrl, ...token }) => {
    const row = await ctx.db
      .query("providerTokens")
      .withIndex("by_issuer", (q) => q.eq("issuerUrl", issuerUrl))
      .unique();
    if (row === null) await ctx.db.insert("providerTokens", { issuerUrl, ...token });
    else await ctx.db.patch(row._id, token);
    return null;
  },
});
