import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  tokens: defineTable({ accessToken: v.string(), expiresAtMs: v.number() }),
});
