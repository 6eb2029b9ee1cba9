import { mutationGeneric as mutation, queryGeneric as query } from "convex/server";
import { v } from "convex/values";

export const fill = mutation({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    for (let b = 0; b < count; b++) await ctx.db.insert("rows", { a: 1, b });
  },
});

/** A page of the rows whose `b` is `only`, in the given order. */
export const page = query({
  args: {
    options: v.any(),
    only: v.optional(v.number()),
    order: v.union(v.literal("asc"), v.literal("desc")),
  },
  handler: async (ctx, { options, only, order }) => {
    const rows = ctx.db.query("rows").order(order);
    const wanted = only === undefined ? rows : rows.filter((q) => q.eq(q.field("b"), only));
    const result = await wanted.paginate(options);
    return { ...result, page: result.page.map((row) => row["b"]) };
  },
});

/** Rows around one row by index fields, creation time and id, as pagers of libraries ask for them. */
export const around = query({
  args: { b: v.number() },
  handler: async (ctx, { b }) => {
    const rows = await ctx.db.query("rows").collect();
    const row = rows.find((each) => each["b"] === b)!;
    const other = rows.find((each) => each["b"] !== b)!;
    const read = async (index: string, build: (q: any) => any) =>
      (await ctx.db.query("rows").withIndex(index, build).collect()).map((each) => each["b"]);
    const time = row._creationTime;
    const same = (q: any) => q.eq("a", 1).eq("_creationTime", time);
    return {
      exact: await read("by_a", (q) => same(q).eq("_id", row._id)),
      from: await read("by_a", (q) => same(q).gte("_id", row._id)),
      after: await read("by_a", (q) => same(q).gt("_id", row._id)),
      other: await read("by_a", (q) => same(q).eq("_id", other._id)),
      byId: await read("by_id", (q) => q.gt("_id", row._id)),
      allTimes: await read("by_a", (q) =>
        q.eq("a", 1).gte("_creationTime", -Infinity).lt("_creationTime", Infinity),
      ),
      noTime: await read("by_a", (q) => q.eq("a", 1).eq("_creationTime", null)),
      aboveNull: await read("by_a", (q) => q.eq("a", 1).gt("_creationTime", null)),
    };
  },
});
