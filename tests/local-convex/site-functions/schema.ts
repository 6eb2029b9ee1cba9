import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({ seen: defineTable({ where: v.string(), who: v.union(v.string(), v.null()) }) });
