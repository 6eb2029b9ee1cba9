import { mutationGeneric as mutation, queryGeneric as query } from "convex/server";
import { v } from "convex/values";

const id = v.string();

export const insert = mutation({
  args: { value: v.any() },
  handler: async (ctx, { value }) => ctx.db.insert("things", value),
});

export const insertAccount = mutation({
  args: { value: v.any() },
  handler: async (ctx, { value }) => ctx.db.insert("accounts", value),
});

export const get = query({ args: { id }, handler: async (ctx, args) => ctx.db.get(args.id as never) });

export const patch = mutation({
  args: { id, fields: v.any(), unset: v.optional(v.array(v.string())) },
  handler: async (ctx, { id, fields, unset }) => {
    const removed = Object.fromEntries((unset ?? []).map((field) => [field, undefined]));
    await ctx.db.patch(id as never, { ...fields, ...removed });
    return ctx.db.get(id as never);
  },
});

export const replace = mutation({
  args: { id, value: v.any() },
  handler: async (ctx, { id, value }) => {
    await ctx.db.replace(id as never, value);
    return ctx.db.get(id as never);
  },
});

export const remove = mutation({
  args: { id },
  handler: async (ctx, { id }) => {
    await ctx.db.delete(id as never);
    return ctx.db.get(id as never);
  },
});

export const normalize = query({
  args: { table: v.string(), id },
  handler: async (ctx, { table, id }) => ctx.db.normalizeId(table, id),
});

/** Writes, then reads them back by id, by a range and by a whole scan inside one transaction. */
export const ownWrites = mutation({
  args: {},
  handler: async (ctx) => {
    const kept = await ctx.db.insert("things", { a: 1, b: "kept" });
    const gone = await ctx.db.insert("things", { a: 2, b: "gone" });
    const moved = await ctx.db.insert("things", { a: 3, b: "moved" });
    await ctx.db.delete(gone);
    await ctx.db.patch(moved, { a: 0 });
    const inRange = await ctx.db
      .query("things")
      .withIndex("by_a", (q) => q.gte("a", 0).lte("a", 2))
      .collect();
    const above = await ctx.db
      .query("things")
      .withIndex("by_a", (q) => q.gt("a", 2))
      .collect();
    const all = await ctx.db.query("things").order("desc").collect();
    return {
      inRange: inRange.map((row) => row["b"]),
      above: above.length,
      all: all.map((row) => row["b"]),
      byId: [(await ctx.db.get(kept))?.["b"], await ctx.db.get(gone)],
    };
  },
});

/** Patches and deletes committed rows and reads the ranges they left and entered. */
export const changeAndRead = mutation({
  args: { move: id, drop: id, a: v.number() },
  handler: async (ctx, { move, drop, a }) => {
    await ctx.db.patch(move as never, { a });
    await ctx.db.delete(drop as never);
    const rows = await ctx.db.query("things").withIndex("by_a").order("desc").collect();
    return rows.map((row) => row["b"]);
  },
});

export const failAfterWrite = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("things", { a: "never" });
    throw new Error("no, not this one");
  },
});
