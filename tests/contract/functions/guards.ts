import { actionGeneric as action, mutationGeneric as mutation, queryGeneric as query } from "convex/server";
import { v } from "convex/values";

export const time = mutation({
  args: {},
  handler: async (ctx) => {
    const first = Date.now();
    for (let i = 0; i < 20; i++) await ctx.db.insert("things", { a: i });
    return {
      isFrozen: Date.now() === first && new Date().getTime() === first,
      isWhole: Number.isInteger(first),
    };
  },
});

export const random = query({
  args: {},
  handler: async () => {
    const numbers = Array.from({ length: 50 }, () => Math.random());
    return {
      inRange: numbers.every((x) => x >= 0 && x < 1),
      differ: new Set(numbers).size > 40,
      uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
    };
  },
});

export const useFetch = mutation({
  args: {},
  handler: async () => {
    await fetch("http://127.0.0.1:9/");
  },
});

export const useTimer = query({
  args: {},
  handler: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
  },
});

export const timerInAction = action({
  args: {},
  handler: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return "waited";
  },
});

export const echo = query({ args: { value: v.any() }, handler: async (_ctx, { value }) => value });

export const store = mutation({
  args: { value: v.any() },
  handler: async (ctx, { value }) => {
    const id = await ctx.db.insert("things", { a: value });
    const back = await ctx.db
      .query("things")
      .withIndex("by_a", (q) => q.eq("a", value))
      .collect();
    return { same: back.map((row) => row._id === id), value: (await ctx.db.get(id))!["a"] };
  },
});
