import { v } from "convex/values";

import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import {
  type ActionCtx,
  internalMutation,
  internalQuery,
  type MutationCtx,
  type QueryCtx,
} from "./_generated/server";

/** Keeps one row for each periodic worker, so that health can say when it last ran and how it went. */

/** Workers whose runs are worth looking back at. The others run every few seconds and would bury them. */
const KEPT = new Set(["reconciler", "drift", "audit"]);
const KEPT_MAX = 50;

export type RunCounts = Record<string, number>;

/** Runs a periodic worker between two marks. What it throws is marked as a failure and thrown on, with its cause. */
export async function withRun<Counts extends RunCounts>(
  ctx: ActionCtx,
  name: string,
  work: () => Promise<Counts>,
  /** Whether a run that came to its end has done what it is for. */
  judge: (counts: Counts) => Promise<"good" | "failed"> = () => Promise.resolve("good"),
): Promise<Counts> {
  await beginRun(ctx, name);
  try {
    const counts = await work();
    await finishRun(ctx, name, await judge(counts), counts);
    return counts;
  } catch (error) {
    await finishRun(ctx, name, "failed", {});
    throw error;
  }
}

/** The two marks by themselves, for a run that spans several actions or fails without throwing. */
export async function beginRun(ctx: ActionCtx, name: string): Promise<void> {
  await ctx.runMutation(internal.runs.begin, { name });
}

export async function finishRun(
  ctx: ActionCtx,
  name: string,
  status: "good" | "failed",
  counts: RunCounts,
): Promise<void> {
  await ctx.runMutation(internal.runs.finish, { name, status, counts });
}

/** When the newest run of a worker began, whether it has ended or not; null before the first. */
export async function lastStartedAtMs(ctx: ActionCtx, name: string): Promise<number | null> {
  return (await ctx.runQuery(internal.runs.get, { name }))?.lastStartedAtMs ?? null;
}

/** Shows how far a run has come, while it is running. */
export async function noteProgress(ctx: ActionCtx, name: string, counts: RunCounts): Promise<void> {
  await ctx.runMutation(internal.runs.progress, { name, counts });
}

export const get = internalQuery({
  args: { name: v.string() },
  returns: v.union(
    v.object({
      status: v.union(v.literal("running"), v.literal("good"), v.literal("failed")),
      lastStartedAtMs: v.number(),
    }),
    v.null(),
  ),
  handler: async (ctx, { name }) => {
    const row = await findRun(ctx, name);
    return row === null ? null : { status: row.status, lastStartedAtMs: row.lastStartedAtMs };
  },
});

export const progress = internalMutation({
  args: { name: v.string(), counts: v.record(v.string(), v.number()) },
  returns: v.null(),
  handler: async (ctx, { name, counts }) => {
    await save(ctx, name, { counts, progressAtMs: Date.now() });
    return null;
  },
});

export const begin = internalMutation({
  args: { name: v.string() },
  returns: v.null(),
  handler: async (ctx, { name }) => {
    const nowMs = Date.now();
    await save(ctx, name, { status: "running", lastStartedAtMs: nowMs, progressAtMs: nowMs });
    return null;
  },
});

export const finish = internalMutation({
  args: {
    name: v.string(),
    status: v.union(v.literal("good"), v.literal("failed")),
    counts: v.record(v.string(), v.number()),
  },
  returns: v.null(),
  handler: async (ctx, { name, status, counts }) => {
    const nowMs = Date.now();
    const good = status === "good" ? { lastGoodAtMs: nowMs } : {};
    await save(ctx, name, { status, counts, lastFinishedAtMs: nowMs, ...good });
    if (KEPT.has(name)) await keepRun(ctx, name, status, counts, nowMs);
    return null;
  },
});

async function keepRun(
  ctx: MutationCtx,
  name: string,
  status: "good" | "failed",
  counts: RunCounts,
  nowMs: number,
): Promise<void> {
  const startedAtMs = (await findRun(ctx, name))?.lastStartedAtMs ?? nowMs;
  await ctx.db.insert("runHistory", { name, status, startedAtMs, finishedAtMs: nowMs, counts });
  const kept = await ctx.db
    .query("runHistory")
    .withIndex("by_name", (q) => q.eq("name", name))
    .order("desc")
    .take(KEPT_MAX + 1);
  const oldest = kept[KEPT_MAX];
  if (oldest !== undefined) await ctx.db.delete(oldest._id);
}

export function findRun(ctx: Pick<QueryCtx, "db">, name: string): Promise<Doc<"runs"> | null> {
  return ctx.db
    .query("runs")
    .withIndex("by_name", (q) => q.eq("name", name))
    .unique();
}

async function save(ctx: MutationCtx, name: string, change: Partial<Doc<"runs">>): Promise<void> {
  const row = await findRun(ctx, name);
  if (row !== null) {
    await ctx.db.patch(row._id, change);
    return;
  }
  const first = { status: "running" as const, lastStartedAtMs: Date.now(), counts: {} };
  await ctx.db.insert("runs", { name, lastFinishedAtMs: null, lastGoodAtMs: null, ...first, ...change });
}
