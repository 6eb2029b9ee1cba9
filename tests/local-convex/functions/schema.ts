import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  /** What the model test writes: small keys, so that they meet. */
  rows: defineTable({ a: v.optional(v.any()), b: v.number(), text: v.optional(v.string()) })
    .index("by_a", ["a"])
    .index("by_b_a", ["b", "a"]),
  counters: defineTable({ name: v.string(), units: v.number() }).index("by_name", ["name"]),
  notes: defineTable({ text: v.string() }).index("by_text", ["text"]),
});
