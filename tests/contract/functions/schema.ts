import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  accounts: defineTable({ name: v.string(), balance: v.number(), note: v.optional(v.string()) }).index(
    "by_name",
    ["name"],
  ),
  entries: defineTable({
    account: v.id("accounts"),
    kind: v.union(v.literal("credit"), v.literal("debit")),
    units: v.number(),
    tag: v.optional(
      v.union(v.string(), v.number(), v.null(), v.int64(), v.boolean(), v.bytes(), v.array(v.number())),
    ),
  })
    .index("by_account_units", ["account", "units"])
    .index("by_tag", ["tag"]),
  /** Documents of any shape, for the order of values and for what an index does with missing fields. */
  things: defineTable(v.any()).index("by_a", ["a"]).index("by_a_b", ["a", "b"]).index("by_nested", ["n.x"]),
});
