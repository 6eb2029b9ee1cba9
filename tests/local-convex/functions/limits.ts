import { makeFunctionReference, mutationGeneric as mutation, queryGeneric as query } from "convex/server";
import { v } from "convex/values";

const DEEPER = makeFunctionReference<"query">("limits:nest");

export const fill = mutation({
  args: { count: v.number(), chars: v.number() },
  handler: async (ctx, { count, chars }) => {
    const text = "x".repeat(chars);
    for (let i = 0; i < count; i++) await ctx.db.insert("notes", { text });
  },
});

export const readAll = query({
  args: {},
  handler: async (ctx) => (await ctx.db.query("notes").collect()).length,
});

export const manyRanges = query({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    for (let i = 0; i < count; i++) {
      await ctx.db
        .query("notes")
        .withIndex("by_text", (q) => q.eq("text", String(i)))
        .first();
    }
  },
});

export const scheduleMany = mutation({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    const target = makeFunctionReference<"mutation">("faults:addNote");
    for (let i = 0; i < count; i++) await ctx.scheduler.runAfter(60_000, target, { text: "x" });
  },
});

export const scheduleFar = mutation({
  args: {},
  handler: async (ctx) =>
    ctx.scheduler.runAfter(6 * 366 * 86_400_000, makeFunctionReference<"mutation">("faults:addNote"), {}),
});

export const nest = query({
  args: { levels: v.number() },
  handler: async (ctx, { levels }): Promise<number> =>
    levels === 0 ? 0 : 1 + (await ctx.runQuery(DEEPER, { levels: levels - 1 })),
});

export const returnArray = query({
  args: { length: v.number() },
  handler: async (_ctx, { length }) => Array.from({ length }, () => 1),
});

export const insertAny = mutation({
  args: { value: v.any() },
  handler: async (ctx, { value }) => ctx.db.insert("rows", { a: value, b: 0 }),
});

export const catchesLimit = query({
  args: {},
  handler: async (ctx) => {
    try {
      for (let i = 0; i < 5_000; i++) {
        await ctx.db
          .query("notes")
          .withIndex("by_text", (q) => q.eq("text", "y"))
          .first();
      }
    } catch {
      return "caught";
    }
    return "no limit";
  },
});

export const longCode = mutation({
  args: {},
  handler: async () => {
    // Work rather than time: a processor that others use as well needs longer for it.
    for (let i = 0; i < 4e7; i++) performance.now();
  },
});

export const writeAndRead = mutation({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    for (let i = 0; i < count; i++) {
      await ctx.db.insert("notes", { text: `k${(i * 7919) % count}` });
      if (i % 3 === 0) await ctx.db.query("notes").withIndex("by_text").first();
    }
  },
});
