import {
  actionGeneric as action,
  internalActionGeneric as internalAction,
  internalMutationGeneric as internalMutation,
  makeFunctionReference,
  mutationGeneric as mutation,
  queryGeneric as query,
} from "convex/server";
import { v } from "convex/values";

const NOTE = makeFunctionReference<"mutation">("jobs:note");
const NOTE_LATER = makeFunctionReference<"action">("jobs:noteFromAction");
const FAILING = makeFunctionReference<"mutation">("jobs:failing");

export const note = internalMutation({
  args: { b: v.string() },
  handler: async (ctx, { b }) => {
    await ctx.db.insert("things", { a: 0, b });
  },
});

export const noteFromAction = internalAction({
  args: { b: v.string() },
  handler: async (ctx, { b }) => {
    await ctx.runMutation(NOTE, { b });
  },
});

export const failing = internalMutation({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("things", { a: 0, b: "never" });
    throw new Error("the job failed");
  },
});

export const schedule = mutation({
  args: { what: v.string(), b: v.string(), delayMs: v.number() },
  handler: async (ctx, { what, b, delayMs }) => {
    if (what === "action") return ctx.scheduler.runAfter(delayMs, NOTE_LATER, { b });
    if (what === "failing") return ctx.scheduler.runAfter(delayMs, FAILING, {});
    return ctx.scheduler.runAfter(delayMs, NOTE, { b });
  },
});

export const scheduleAt = mutation({
  args: { b: v.string(), inMs: v.number() },
  handler: async (ctx, { b, inMs }) => ctx.scheduler.runAt(new Date(Date.now() + inMs), NOTE, { b }),
});

export const scheduleAndFail = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(0, NOTE, { b: "never" });
    throw new Error("rolled back");
  },
});

export const scheduleFromAction = action({
  args: { b: v.string() },
  handler: async (ctx, { b }) => ctx.scheduler.runAfter(0, NOTE, { b }),
});

export const cancel = mutation({
  args: { id: v.string() },
  handler: async (ctx, { id }) => ctx.scheduler.cancel(id as never),
});

export const state = query({
  args: { id: v.string() },
  handler: async (ctx, { id }) => {
    const job = await ctx.db.system.get(id as never);
    if (job === null) return null;
    const { name, args, state: current } = job as Record<string, any>;
    return { name, args, kind: current.kind, completed: "completedTime" in job };
  },
});

export const notes = query({
  args: {},
  handler: async (ctx) => (await ctx.db.query("things").collect()).map((row) => row["b"]),
});

export const allJobs = query({
  args: {},
  handler: async (ctx) => (await ctx.db.system.query("_scheduled_functions").collect()).length,
});
