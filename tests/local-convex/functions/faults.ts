import {
  actionGeneric as action,
  internalMutationGeneric as internalMutation,
  makeFunctionReference,
  mutationGeneric as mutation,
  queryGeneric as query,
} from "convex/server";
import { ConvexError, v } from "convex/values";

const ADD_NOTE = makeFunctionReference<"mutation">("faults:addNote");
const INCREMENT = makeFunctionReference<"mutation">("faults:increment");
const SLOW = makeFunctionReference<"action">("faults:slowAction");

export const addNote = mutation({
  args: { text: v.string() },
  handler: async (ctx, { text }) => ctx.db.insert("notes", { text }),
});

export const notes = query({
  args: {},
  handler: async (ctx) => (await ctx.db.query("notes").collect()).map((row) => row["text"] as string),
});

/** Adds to a counter: reads, then writes, so two at once conflict. */
export const increment = mutation({
  args: { name: v.string() },
  handler: async (ctx, { name }) => {
    const row = await ctx.db
      .query("counters")
      .withIndex("by_name", (q) => q.eq("name", name))
      .unique();
    if (row === null) await ctx.db.insert("counters", { name, units: 1 });
    else await ctx.db.patch(row._id, { units: row["units"] + 1 });
  },
});

export const incrementLater = action({
  args: { name: v.string() },
  handler: async (ctx, { name }) => void (await ctx.scheduler.runAfter(0, INCREMENT, { name })),
});

export const counters = query({ args: {}, handler: async (ctx) => ctx.db.query("counters").collect() });

/** Takes from one account if both together allow it: the classic write skew. */
export const withdraw = mutation({
  args: { from: v.string(), units: v.number() },
  handler: async (ctx, { from, units }) => {
    const rows = await ctx.db.query("counters").collect();
    const total = rows.reduce((sum, row) => sum + row["units"], 0);
    if (total < units) return false;
    const row = rows.find((each) => each["name"] === from)!;
    await ctx.db.patch(row._id, { units: row["units"] - units });
    return true;
  },
});

export const setCounter = mutation({
  args: { name: v.string(), units: v.number() },
  handler: async (ctx, { name, units }) => ctx.db.insert("counters", { name, units }),
});

/** Moves units; the sum never changes. */
export const move = mutation({
  args: { from: v.string(), to: v.string() },
  handler: async (ctx, { from, to }) => {
    const find = (name: string) =>
      ctx.db
        .query("counters")
        .withIndex("by_name", (q) => q.eq("name", name))
        .unique();
    const source = (await find(from))!;
    await ctx.db.patch(source._id, { units: source["units"] - 1 });
    const target = (await find(to))!;
    await ctx.db.patch(target._id, { units: target["units"] + 1 });
  },
});

/** Reads the rows one after another. */
export const sumSlowly = query({
  args: { names: v.array(v.string()) },
  handler: async (ctx, { names }) => {
    let sum = 0;
    for (const name of names) {
      const row = await ctx.db
        .query("counters")
        .withIndex("by_name", (q) => q.eq("name", name))
        .unique();
      sum += row!["units"];
    }
    return sum;
  },
});

export const never = mutation({
  args: {},
  handler: async () => {
    await new Promise(() => undefined);
  },
});

export const endless = query({
  args: {},
  handler: async () => {
    for (;;);
  },
});

export const throwsText = mutation({
  args: {},
  handler: async () => {
    // oxlint-disable-next-line no-throw-literal
    throw "only text";
  },
});

export const throwsObject = mutation({
  args: {},
  handler: async () => {
    // oxlint-disable-next-line no-throw-literal
    throw { code: "odd" };
  },
});

export const throwsData = mutation({
  args: {},
  handler: async () => {
    console.log("before the end", 42);
    throw new ConvexError({ code: "refused", units: 5n });
  },
});

export const logs = query({
  args: {},
  handler: async () => {
    console.log("hello", 42, { a: 1 });
    console.warn("careful");
    return 1;
  },
});

/** The write fails, and nobody waits for it. */
export const forgottenFailure = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("notes", { text: "must not stay" });
    void ctx.db.insert("notes", { text: 5 });
    return "answered";
  },
});

export const handledFailure = mutation({
  args: {},
  handler: async (ctx) => {
    const failed = await ctx.db.insert("notes", { text: 5 }).catch(() => "handled");
    await ctx.db.insert("notes", { text: "stays" });
    return failed;
  },
});

/** The write succeeds, and nobody waits for it. */
export const forgottenWrite = mutation({
  args: {},
  handler: async (ctx) => {
    void ctx.db.insert("notes", { text: "written anyway" });
  },
});

export const leak = query({
  args: {},
  handler: async () => {
    console.log(`the secret is ${process.env["HOLDFAST_TEST_SECRET"]}`);
    throw new Error(`failed with ${process.env["HOLDFAST_TEST_SECRET"]}`);
  },
});

export const unsupported = action({
  args: { what: v.string() },
  handler: async (ctx, { what }) => {
    if (what === "upload") return ctx.storage.generateUploadUrl();
    if (what === "store") return ctx.storage.store(new Blob(["x"]));
    return ctx.vectorSearch("notes", "by_vector" as never, { vector: [1], limit: 1 });
  },
});

export const textSearch = query({
  args: {},
  handler: async (ctx) =>
    ctx.db
      .query("notes")
      .withSearchIndex("by_words" as never, (q: any) => q.search("text", "x"))
      .collect(),
});

export const schedule = mutation({
  args: { text: v.string(), delayMs: v.number() },
  handler: async (ctx, { text, delayMs }) => ctx.scheduler.runAfter(delayMs, ADD_NOTE, { text }),
});

export const scheduleSlow = mutation({
  args: {},
  handler: async (ctx) => ctx.scheduler.runAfter(0, SLOW, {}),
});

/** Says that it began, then takes longer than any test. */
export const slowAction = action({
  args: {},
  handler: async (ctx) => {
    await ctx.runMutation(ADD_NOTE, { text: "began" });
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  },
});

export const scheduleNowhere = mutation({
  args: {},
  handler: async (ctx) => ctx.scheduler.runAfter(0, makeFunctionReference<"mutation">("faults:nothing"), {}),
});

export const jobs = query({
  args: {},
  handler: async (ctx) => ctx.db.system.query("_scheduled_functions").collect(),
});

export const hidden = internalMutation({ args: {}, handler: async () => "hidden" });

/** A nested mutation that fails while its own forgotten write still waits behind a nested call. */
export const lateWriteOfNested = mutation({
  args: {},
  handler: async (ctx) => {
    await ctx.runMutation(makeFunctionReference<"mutation">("faults:failsEarly"), {}).catch(() => undefined);
    await ctx.db.insert("notes", { text: "parent" });
  },
});

export const failsEarly = internalMutation({
  args: {},
  handler: async (ctx) => {
    ctx.runMutation(ADD_NOTE, { text: "nested" }).catch(() => undefined);
    ctx.db.insert("notes", { text: "late" }).catch(() => undefined);
    throw new Error("early");
  },
});
