/** What sync clients subscribe to: rows `a` = owner, `b` = number, `text`. */
import {
  actionGeneric as action,
  makeFunctionReference,
  mutationGeneric as mutation,
  paginationOptsValidator,
  queryGeneric as query,
} from "convex/server";
import { ConvexError, v } from "convex/values";

export const add = mutation({
  args: { owner: v.string(), b: v.number(), text: v.optional(v.string()) },
  handler: async (ctx, { owner, b, text }) => {
    console.log("adding", b);
    await ctx.db.insert("rows", { a: owner, b, ...(text === undefined ? {} : { text }) });
    return b;
  },
});

export const set = mutation({
  args: { owner: v.string(), b: v.number() },
  handler: async (ctx, { owner, b }) => {
    const row = await ctx.db
      .query("rows")
      .withIndex("by_a", (q) => q.eq("a", owner))
      .first();
    if (row === null) throw new ConvexError({ code: "no_row" });
    await ctx.db.patch(row._id, { b });
  },
});

export const remove = mutation({
  args: { owner: v.string(), b: v.number() },
  handler: async (ctx, { owner, b }) => {
    const rows = await ctx.db
      .query("rows")
      .withIndex("by_a", (q) => q.eq("a", owner))
      .collect();
    for (const row of rows) if (row["b"] === b) await ctx.db.delete(row._id);
  },
});

export const nothing = mutation({ args: {}, handler: async () => "nothing" });

export const ofOwner = query({
  args: { owner: v.string() },
  handler: async (ctx, { owner }) => {
    const rows = await ctx.db
      .query("rows")
      .withIndex("by_a", (q) => q.eq("a", owner))
      .collect();
    return rows.map((row) => row["b"] as number);
  },
});

export const total = query({
  args: {},
  handler: async (ctx) => (await ctx.db.query("rows").collect()).reduce((sum, row) => sum + row["b"], 0),
});

/** Fails while the owner has more rows than `max`. */
export const atMost = query({
  args: { owner: v.string(), max: v.number() },
  handler: async (ctx, { owner, max }) => {
    const rows = await ctx.db
      .query("rows")
      .withIndex("by_a", (q) => q.eq("a", owner))
      .collect();
    console.log("rows", rows.length);
    if (rows.length > max) throw new ConvexError({ rows: BigInt(rows.length) });
    return rows.length;
  },
});

export const large = query({
  args: { chars: v.number() },
  handler: async (_ctx, { chars }) => `${"x".repeat(61)}"😀`.repeat(chars / 64),
});

export const page = query({
  args: { owner: v.string(), paginationOpts: paginationOptsValidator },
  handler: async (ctx, { owner, paginationOpts }) => {
    const result = await ctx.db
      .query("rows")
      .withIndex("by_a", (q) => q.eq("a", owner))
      .order("desc")
      .paginate(paginationOpts);
    return { ...result, page: result.page.map((row) => row["b"] as number) };
  },
});

/** Pages by `b`, so that rows can be put between others. */
export const sorted = query({
  args: { paginationOpts: paginationOptsValidator },
  handler: async (ctx, { paginationOpts }) => {
    const result = await ctx.db.query("rows").withIndex("by_b_a").paginate(paginationOpts);
    return { ...result, page: result.page.map((row) => row["b"] as number) };
  },
});

export const whoami = query({
  args: {},
  handler: async (ctx) => (await ctx.auth.getUserIdentity())?.subject ?? null,
});

export const addMine = mutation({
  args: { b: v.number() },
  handler: async (ctx, { b }) => {
    const identity = await ctx.auth.getUserIdentity();
    await ctx.db.insert("rows", { a: identity?.subject ?? "nobody", b });
  },
});

export const fail = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("rows", { a: "failed", b: 1 });
    throw new ConvexError({ code: "refused", units: 5n });
  },
});

export const double = action({
  args: { b: v.number() },
  handler: async (ctx, { b }) => {
    console.log("doubling");
    if (b < 0) throw new ConvexError("negative");
    await ctx.runMutation(makeFunctionReference<"mutation">("sync:add"), { owner: "action", b: 2 * b });
    return 2 * b;
  },
});

export const rows = query({ args: {}, handler: async (ctx) => ctx.db.query("rows").collect() });

export const byId = query({
  args: { id: v.id("notes") },
  handler: async (ctx, { id }) => (await ctx.db.get(id))?.["text"] ?? null,
});

export const rename = mutation({
  args: { id: v.id("notes"), text: v.string() },
  handler: async (ctx, { id, text }) => ctx.db.patch(id, { text }),
});

export const echo = mutation({ args: { text: v.string() }, handler: async (_ctx, { text }) => text });

export const fill = mutation({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    for (let b = 0; b < count; b++) await ctx.db.insert("rows", { a: "filled", b });
  },
});

export const metrics = mutation({ args: {}, handler: async (ctx) => ctx.meta.getTransactionMetrics() });
