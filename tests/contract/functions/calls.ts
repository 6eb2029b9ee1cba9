import {
  actionGeneric as action,
  internalMutationGeneric as internalMutation,
  internalQueryGeneric as internalQuery,
  makeFunctionReference,
  mutationGeneric as mutation,
  queryGeneric as query,
} from "convex/server";
import { ConvexError, v } from "convex/values";

const q = (name: string) => makeFunctionReference<"query">(`calls:${name}`);
const m = (name: string) => makeFunctionReference<"mutation">(`calls:${name}`);
const a = (name: string) => makeFunctionReference<"action">(`calls:${name}`);

export const count = query({
  args: {},
  handler: async (ctx) => (await ctx.db.query("things").collect()).length,
});

export const hiddenCount = internalQuery({
  args: {},
  handler: async (ctx) => (await ctx.db.query("things").collect()).length,
});

export const add = internalMutation({
  args: { b: v.string() },
  handler: async (ctx, { b }) => {
    await ctx.db.insert("things", { a: 0, b });
    return b;
  },
});

export const addAndFail = internalMutation({
  args: { b: v.string() },
  handler: async (ctx, { b }) => {
    await ctx.db.insert("things", { a: 0, b });
    throw new ConvexError({ code: "refused", big: 5n, b });
  },
});

export const rollback = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("things", { a: 0, b: "mine" });
    let data: unknown = null;
    try {
      await ctx.runMutation(m("addAndFail"), { b: "theirs" });
    } catch (error) {
      data = error instanceof ConvexError ? error.data : "no ConvexError";
    }
    await ctx.runMutation(m("add"), { b: "second" });
    const inside = await ctx.runQuery(q("hiddenCount"), {});
    const rows = await ctx.db.query("things").collect();
    return { data, inside, rows: rows.map((row) => row["b"]) };
  },
});

export const parallelNested = mutation({
  args: {},
  handler: async (ctx) => {
    await Promise.all(["x", "y", "z"].map((b) => ctx.runMutation(m("add"), { b })));
    return (await ctx.db.query("things").collect()).map((row) => row["b"]);
  },
});

export const queryInQuery = query({
  args: {},
  handler: async (ctx) => ({ nested: await ctx.runQuery(q("hiddenCount"), {}) }),
});

export const failWithData = mutation({
  args: { data: v.any() },
  handler: async (ctx, { data }) => {
    await ctx.db.insert("things", { a: 0, b: "never" });
    throw new ConvexError(data);
  },
});

export const failPlain = query({
  args: {},
  handler: async () => {
    throw new TypeError("plain failure");
  },
});

export const actionMix = action({
  args: {},
  handler: async (ctx) => {
    const before: number = await ctx.runQuery(q("hiddenCount"), {});
    await ctx.runMutation(m("add"), { b: "from action" });
    let data: unknown = null;
    try {
      await ctx.runMutation(m("addAndFail"), { b: "lost" });
    } catch (error) {
      data = error instanceof ConvexError ? error.data : "no ConvexError";
    }
    const after: number = await ctx.runQuery(q("hiddenCount"), {});
    return { before, after, data };
  },
});

export const actionThrows = action({
  args: {},
  handler: async (ctx) => {
    await ctx.runAction(a("inner"), {});
  },
});

export const inner = action({
  args: {},
  handler: async (): Promise<void> => {
    throw new ConvexError({ from: "inner", bytes: new Uint8Array([1, 2]).buffer });
  },
});

export const identity = query({ args: {}, handler: async (ctx) => ctx.auth.getUserIdentity() });

export const strictArgs = query({
  args: { name: v.string(), count: v.optional(v.number()), kind: v.union(v.literal("a"), v.literal("b")) },
  handler: async (_ctx, args) => args,
});

export const wrongReturn = query({
  args: {},
  returns: v.number(),
  handler: async () => "text" as unknown as number,
});

export const returnsNothing = mutation({ args: {}, handler: async () => undefined });

export const nestedBadArgs = mutation({
  args: {},
  handler: async (ctx) => {
    try {
      await ctx.runMutation(m("add"), { b: 5 });
    } catch (error) {
      return (error as Error).message.includes("ArgumentValidationError") ||
        (error as Error).message.includes("Validator error")
        ? "caught"
        : (error as Error).message;
    }
    return "not refused";
  },
});

export default query({ args: {}, handler: async () => "the default export" });
