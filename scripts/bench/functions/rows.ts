import {
  mutationGeneric,
  queryGeneric,
  type DataModelFromSchemaDefinition,
  type MutationBuilder,
  type QueryBuilder,
} from "convex/server";
import { v } from "convex/values";
import type schema from "./schema";

type DataModel = DataModelFromSchemaDefinition<typeof schema>;
const query: QueryBuilder<DataModel, "public"> = queryGeneric;
const mutation: MutationBuilder<DataModel, "public"> = mutationGeneric;

/** What the engine bench measures, and what fills its tables. */

const GROUP_ROWS = 200;
const RANGE_ROWS = 20;

const rowOf = (number: number) => ({
  number,
  group: `group-${Math.floor(number / GROUP_ROWS)}`,
  atMs: number,
  owner: `owner-${number % 997}`,
  note: "a line of text as long as such lines usually are",
});

export const insert = mutation({
  args: { number: v.number() },
  returns: v.null(),
  handler: async (ctx, { number }) => {
    await ctx.db.insert("rows", rowOf(number));
    return null;
  },
});

export const fill = mutation({
  args: { from: v.number(), count: v.number() },
  returns: v.null(),
  handler: async (ctx, { from, count }) => {
    for (let number = from; number < from + count; number += 1) await ctx.db.insert("rows", rowOf(number));
    return null;
  },
});

export const point = query({
  args: { number: v.number() },
  returns: v.number(),
  handler: async (ctx, { number }) => {
    const row = await ctx.db
      .query("rows")
      .withIndex("by_number", (q) => q.eq("number", number))
      .unique();
    if (row === null) throw new Error(`row ${number} is missing`);
    return row.number;
  },
});

/** The number of rows read: always twenty, wherever the range begins. */
export const range = query({
  args: { number: v.number() },
  returns: v.number(),
  handler: async (ctx, { number }) => {
    const first = Math.min(number % GROUP_ROWS, GROUP_ROWS - RANGE_ROWS);
    const start = Math.floor(number / GROUP_ROWS) * GROUP_ROWS + first;
    const rows = await ctx.db
      .query("rows")
      .withIndex("by_group_at", (q) =>
        q.eq("group", `group-${Math.floor(number / GROUP_ROWS)}`).gte("atMs", start),
      )
      .take(RANGE_ROWS);
    return rows.length;
  },
});
