import { mutationGeneric as mutation, queryGeneric as query } from "convex/server";
import { v } from "convex/values";

const bound = v.object({ op: v.string(), field: v.string(), value: v.optional(v.any()) });

export const fill = mutation({
  args: { rows: v.array(v.any()) },
  handler: async (ctx, { rows }) => {
    for (const row of rows) await ctx.db.insert("things", row);
  },
});

/** Values of field `b` of the rows in an index range; a bound without a value compares with undefined. */
export const range = query({
  args: {
    index: v.string(),
    bounds: v.array(bound),
    order: v.union(v.literal("asc"), v.literal("desc")),
    take: v.optional(v.number()),
  },
  handler: async (ctx, { index, bounds, order, take }) => {
    const rows = ctx.db
      .query("things")
      .withIndex(index as never, (q) => {
        let built: any = q;
        for (const { op, field, value } of bounds) built = built[op](field, value);
        return built;
      })
      .order(order);
    const found = take === undefined ? await rows.collect() : await rows.take(take);
    return found.map((row) => row["b"]);
  },
});

/** As `range`, but bounded by the creation time of the row whose `b` is given. */
export const createdAround = query({
  args: { b: v.string() },
  handler: async (ctx, { b }) => {
    const row = await ctx.db
      .query("things")
      .filter((q) => q.eq(q.field("b"), b))
      .unique();
    const time = row!._creationTime;
    const names = (rows: { [field: string]: unknown }[]) => rows.map((each) => each["b"]);
    const byTime = (build: (q: any) => any) => ctx.db.query("things").withIndex("by_creation_time", build);
    const byA = (build: (q: any) => any) => ctx.db.query("things").withIndex("by_a", build);
    return {
      upTo: names(await byTime((q) => q.lte("_creationTime", time)).collect()),
      after: names(await byTime((q) => q.gt("_creationTime", time)).collect()),
      sameA: names(await byA((q) => q.eq("a", row!["a"]).lt("_creationTime", time)).collect()),
      exact: names(await byA((q) => q.eq("a", row!["a"]).eq("_creationTime", time)).collect()),
    };
  },
});

export const filtered = query({
  args: { name: v.string() },
  handler: async (ctx, { name }) => {
    const filters: Record<string, (q: any) => unknown> = {
      sum: (q) => q.gt(q.add(q.field("a"), 1), 3),
      product: (q) => q.eq(q.mod(q.mul(q.field("a"), 2), 4), 0),
      negated: (q) => q.not(q.lt(q.neg(q.field("a")), -2)),
      either: (q) => q.or(q.eq(q.field("a"), 1), q.eq(q.field("b"), "four")),
      both: (q) => q.and(q.gte(q.field("a"), 2), q.neq(q.field("b"), "two")),
      missing: (q) => q.eq(q.field("c"), undefined),
      nested: (q) => q.eq(q.field("n.x"), 7),
      mixed: (q) => q.gt(q.field("a"), "text"),
      division: (q) => q.eq(q.div(q.field("a"), 2), 1),
    };
    const rows = await ctx.db
      .query("things")
      .filter(filters[name] as never)
      .collect();
    return rows.map((row) => row["b"]);
  },
});

export const endings = query({
  args: {},
  handler: async (ctx) => {
    const rows = () => ctx.db.query("things").withIndex("by_a");
    const seen: unknown[] = [];
    for await (const row of rows()) {
      seen.push(row["b"]);
      if (seen.length === 2) break;
    }
    return {
      first: (await rows().first())?.["b"],
      none: await rows()
        .filter((q) => q.eq(q.field("a"), 99))
        .first(),
      one: (
        await ctx.db
          .query("things")
          .withIndex("by_a", (q) => q.eq("a", 2))
          .unique()
      )?.["b"],
      noUnique: await ctx.db
        .query("things")
        .withIndex("by_a", (q) => q.eq("a", 99))
        .unique(),
      taken: (await rows().take(3)).map((row) => row["b"]),
      takenNone: await rows().take(0),
      filteredTake: (
        await rows()
          .filter((q) => q.neq(q.field("b"), "one"))
          .take(2)
      ).map((row) => row["b"]),
      broken: seen,
    };
  },
});

export const uniqueOfMany = query({ args: {}, handler: async (ctx) => ctx.db.query("things").unique() });

export const unknownIndex = query({
  args: {},
  handler: async (ctx) =>
    ctx.db
      .query("things")
      .withIndex("by_nothing" as never)
      .collect(),
});

export const outOfOrder = query({
  args: {},
  handler: async (ctx) =>
    ctx.db
      .query("things")
      .withIndex("by_a_b", (q: any) => q.eq("b", 1))
      .collect(),
});

export const page = query({
  args: {
    numItems: v.number(),
    cursor: v.union(v.string(), v.null()),
    order: v.optional(v.union(v.literal("asc"), v.literal("desc"))),
    even: v.optional(v.boolean()),
    endCursor: v.optional(v.string()),
  },
  handler: async (ctx, { numItems, cursor, order, even, endCursor }) => {
    const rows = ctx.db
      .query("things")
      .withIndex("by_a")
      .order(order ?? "asc");
    const wanted = even === true ? rows.filter((q) => q.eq(q.mod(q.field("a"), 2), 0)) : rows;
    const result = await wanted.paginate({
      numItems,
      cursor,
      ...(endCursor === undefined ? {} : { endCursor }),
    });
    return { ...result, page: result.page.map((row) => row["b"]) };
  },
});

export const pageWithOwnWrites = mutation({
  args: { numItems: v.number() },
  handler: async (ctx, { numItems }) => {
    await ctx.db.insert("things", { a: 1.5, b: "own" });
    const result = await ctx.db.query("things").withIndex("by_a").paginate({ numItems, cursor: null });
    return result.page.map((row) => row["b"]);
  },
});

export const twoPages = query({
  args: {},
  handler: async (ctx) => {
    await ctx.db.query("things").paginate({ numItems: 1, cursor: null });
    await ctx.db.query("things").paginate({ numItems: 1, cursor: null });
  },
});
