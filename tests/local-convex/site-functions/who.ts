import {
  actionGeneric as action,
  type Auth,
  internalActionGeneric as internalAction,
  internalMutationGeneric as internalMutation,
  internalQueryGeneric as internalQuery,
  makeFunctionReference,
  mutationGeneric as mutation,
  queryGeneric as query,
} from "convex/server";
import { v } from "convex/values";

/* Who is it, asked everywhere a function can ask. */

const reference = <Kind extends "query" | "mutation" | "action">(name: string) =>
  makeFunctionReference<Kind>(`who:${name}`);

const subjectOf = async (ctx: { auth: Auth }) => (await ctx.auth.getUserIdentity())?.subject ?? null;

export const identity = query({ args: {}, handler: async (ctx) => ctx.auth.getUserIdentity() });
export const identityInMutation = mutation({ args: {}, handler: async (ctx) => ctx.auth.getUserIdentity() });

export const innerQuery = internalQuery({ args: {}, handler: subjectOf });
export const innerMutation = internalMutation({ args: {}, handler: subjectOf });
export const innerAction = internalAction({ args: {}, handler: subjectOf });

export const inMutation = mutation({
  args: {},
  handler: async (ctx): Promise<unknown> => ({
    own: await subjectOf(ctx),
    query: await ctx.runQuery(reference<"query">("innerQuery"), {}),
    mutation: await ctx.runMutation(reference<"mutation">("innerMutation"), {}),
  }),
});

export const inAction = action({
  args: {},
  handler: async (ctx): Promise<unknown> => ({
    own: await subjectOf(ctx),
    query: await ctx.runQuery(reference<"query">("innerQuery"), {}),
    mutation: await ctx.runMutation(reference<"mutation">("inMutation"), {}),
    action: await ctx.runAction(reference<"action">("innerAction"), {}),
  }),
});

/** Who a scheduled function, and the function it calls, takes its caller for. */
export const note = internalMutation({
  args: { where: v.string() },
  handler: async (ctx, { where }) => {
    await ctx.db.insert("seen", { where, who: await subjectOf(ctx) });
  },
});

export const noteInAction = internalAction({
  args: {},
  handler: async (ctx) => {
    await ctx.runMutation(reference<"mutation">("note"), { where: `action as ${await subjectOf(ctx)}` });
  },
});

export const scheduleFromMutation = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(0, reference<"mutation">("note"), { where: "mutation" });
    await ctx.scheduler.runAfter(0, reference<"action">("noteInAction"), {});
  },
});

export const scheduleFromAction = action({
  args: {},
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(0, reference<"mutation">("note"), { where: "from action" });
  },
});

export const seen = query({
  args: {},
  handler: async (ctx) => (await ctx.db.query("seen").collect()).map(({ where, who }) => `${where}: ${who}`),
});
