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

const reference = <Kind extends "query" | "mutation" | "action">(name: string) =>
  makeFunctionReference<Kind>(`identity:${name}`);

const subjectOf = async (ctx: { auth: Auth }) => (await ctx.auth.getUserIdentity())?.subject ?? null;

export const whole = query({ args: {}, handler: async (ctx) => ctx.auth.getUserIdentity() });
export const innerQuery = internalQuery({ args: {}, handler: subjectOf });
export const innerMutation = internalMutation({ args: {}, handler: subjectOf });
export const innerAction = internalAction({ args: {}, handler: subjectOf });

export const inMutation = mutation({
  args: {},
  handler: async (ctx): Promise<unknown> => [
    await subjectOf(ctx),
    await ctx.runQuery(reference<"query">("innerQuery"), {}),
    await ctx.runMutation(reference<"mutation">("innerMutation"), {}),
  ],
});

export const inAction = action({
  args: {},
  handler: async (ctx): Promise<unknown> => [
    await subjectOf(ctx),
    await ctx.runQuery(reference<"query">("innerQuery"), {}),
    await ctx.runMutation(reference<"mutation">("innerMutation"), {}),
    await ctx.runAction(reference<"action">("innerAction"), {}),
  ],
});

/** Notes who a scheduled function takes its caller for. */
export const note = internalMutation({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("things", { a: 0, b: `mutation by ${await subjectOf(ctx)}` });
  },
});

export const schedule = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(0, reference<"mutation">("note"), {});
  },
});

export const scheduleFromAction = action({
  args: {},
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(0, reference<"mutation">("note"), {});
  },
});
