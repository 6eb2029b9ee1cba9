import { mutationGeneric as mutation, queryGeneric as query } from "convex/server";
import { v } from "convex/values";

export const open = mutation({
  args: { name: v.string(), balance: v.number() },
  returns: v.string(),
  handler: async (ctx, args) => ctx.db.insert("accounts", args),
});

export const byName = query({
  args: { name: v.string() },
  handler: async (ctx, { name }) =>
    ctx.db
      .query("accounts")
      .withIndex("by_name", (q) => q.eq("name", name))
      .first(),
});

export const add = mutation({
  args: { name: v.string(), units: v.number() },
  handler: async (ctx, { name, units }) => {
    const account = await ctx.db
      .query("accounts")
      .withIndex("by_name", (q) => q.eq("name", name))
      .unique();
    if (account === null) throw new Error(`no account ${name}`);
    await ctx.db.patch(account._id, { balance: account.balance + units });
    return account.balance + units;
  },
});
