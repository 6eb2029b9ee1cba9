import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

/** A table of the usual kind: a row has its own number, belongs to a group in order of time, and has an owner. */
export default defineSchema({
  rows: defineTable({
    number: v.number(),
    group: v.string(),
    atMs: v.number(),
    owner: v.string(),
    note: v.string(),
  })
    .index("by_number", ["number"])
    .index("by_group_at", ["group", "atMs"])
    .index("by_owner", ["owner"]),
});
