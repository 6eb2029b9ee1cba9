import {
  type ActionBuilder,
  actionGeneric,
  type DataModelFromSchemaDefinition,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
  type MutationBuilder,
  type QueryBuilder,
} from "convex/server";
import { v } from "convex/values";

import { createKindeClient } from "../../../../lib/kinde/client";
import type { StoredToken } from "../../../../lib/kinde/token";
import type schema from "./schema";

type Model = DataModelFromSchemaDefinition<typeof schema>;
const internalQuery = internalQueryGeneric as QueryBuilder<Model, "internal">;
const internalMutation = internalMutationGeneric as MutationBuilder<Model, "internal">;
const action = actionGeneric as ActionBuilder<Model, "public">;

const readRef = makeFunctionReference<"query", Record<string, never>, StoredToken | null>("kinde:readToken");
const writeRef = makeFunctionReference<"mutation", { accessToken: string; expiresAtMs: number }, null>(
  "kinde:writeToken",
);

export const readToken = internalQuery({
  args: {},
  handler: async (ctx) => {
    const row = await ctx.db.query("tokens").first();
    return row === null ? null : { accessToken: row.accessToken, expiresAtMs: row.expiresAtMs };
  },
});

export const writeToken = internalMutation({
  args: { accessToken: v.string(), expiresAtMs: v.number() },
  handler: async (ctx, token) => {
    const row = await ctx.db.query("tokens").first();
    if (row === null) await ctx.db.insert("tokens", token);
    else await ctx.db.replace(row._id, token);
    return null;
  },
});

export const readLimits = action({
  args: { issuerUrl: v.string(), clientSecret: v.string(), callTimeoutMs: v.number() },
  handler: async (ctx, args) => {
    const client = createKindeClient({
      ...args,
      clientId: "m2m",
      attemptsMax: 2,
      tokenStore: {
        read: () => ctx.runQuery(readRef, {}),
        write: async (token) => void (await ctx.runMutation(writeRef, { ...token })),
      },
      nowMs: () => Date.now(),
      random: () => Math.random(),
      sleep: (ms) =>
        new Promise((resolve) => {
          setTimeout(resolve, ms);
        }),
    });
    return client.readEntitlements({ customerId: "customer_1" });
  },
});
