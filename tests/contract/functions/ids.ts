import { mutationGeneric as mutation } from "convex/server";
import { v } from "convex/values";

export const entry = mutation({
  args: { value: v.any() },
  handler: async (ctx, { value }) => ctx.db.insert("entries", value),
});
