import { type Infer, v } from "convex/values";

import {
  type AlertProgress,
  claimAlert,
  newAlert,
  parseAlertSecret,
  SEND_TIMEOUT_MS,
  settleAlert,
  signAlert,
} from "../lib/inbox/alert";
import { judgeAlertUrl } from "../lib/inbox/environment";
import { exchange } from "../lib/kinde/http";
import { must } from "../lib/shared/assert";
import { checkUnits } from "../lib/shared/units";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery, type MutationCtx } from "./_generated/server";
import { operatorQuery, refuse } from "./functions";
import { internalAction } from "./patience";
import { nextCursor } from "./rows";
import { withRun } from "./runs";

/**
 * Tells the people who run this that something waits for them: one message to HOLDFAST_ALERT_URL for every new review,
 * signed, and tried again for a while. It may arrive more than once; its id stays the same.
 */

/** Due alerts that one run takes up. More than that at once is a flood that nobody reads. */
const DUE_MAX = 20;
const LIST_LIMIT_MAX = 100;

/** In the transaction that opens the review. Without an address nobody is told, and nothing is kept. */
export async function raiseAlert(
  ctx: MutationCtx,
  { kind, subject, detail, nowMs }: { kind: string; subject: string; detail: string; nowMs: number },
): Promise<void> {
  if ((process.env.HOLDFAST_ALERT_URL ?? "") === "") return;
  const fields = { kind, subject, detail, createdAtMs: nowMs, ...newAlert(nowMs) };
  const alertId = await ctx.db.insert("alerts", fields);
  await ctx.scheduler.runAfter(0, internal.alerts.send, { alertId });
}

/** One attempt, if it is due. */
export const send = internalAction({
  args: { alertId: v.id("alerts") },
  returns: v.null(),
  handler: async (ctx, { alertId }) => {
    await attempt(ctx, alertId);
    return null;
  },
});

/** By cron: attempts whose sender died, and those whose scheduled call was lost. */
export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const work = async () => {
      const due: Id<"alerts">[] = await ctx.runQuery(internal.alerts.listDue, {});
      await Promise.all(due.map((alertId) => attempt(ctx, alertId)));
      return { due: due.length };
    };
    await withRun(ctx, "alerts", work, async () =>
      (await ctx.runQuery(internal.alerts.isTurnedDown, {})) ? "failed" : "good",
    );
    return null;
  },
});

/** Whether an alert waits that the address did not take when it was tried. */
export const isTurnedDown = internalQuery({
  args: {},
  returns: v.boolean(),
  handler: async (ctx) => {
    const waiting = await ctx.db
      .query("alerts")
      .withIndex("by_due", (q) => q.gte("nextAttemptAtMs", 0))
      .take(DUE_MAX);
    return waiting.some(({ error }) => error !== null);
  },
});

async function attempt(ctx: ActionCtx, alertId: Id<"alerts">): Promise<void> {
  const claimed: Claimed | null = await ctx.runMutation(internal.alerts.claim, { alertId });
  if (claimed === null) return;
  const error = await post(claimed);
  await ctx.runMutation(internal.alerts.settle, { alertId, attempt: claimed.attempt, error });
}

/** Null when it arrived, else why not: in our own words, since the address and the secret must not be shown. */
async function post(alert: Claimed): Promise<string | null> {
  const url = process.env.HOLDFAST_ALERT_URL ?? "";
  const fault = url === "" ? "is not set any more" : judgeAlertUrl(url);
  if (fault !== null) return `HOLDFAST_ALERT_URL ${fault}`;
  const key = parseAlertSecret(process.env.HOLDFAST_ALERT_SECRET);
  if (key === null) return "HOLDFAST_ALERT_SECRET cannot be used to sign";
  const { body, headers } = await signAlert(alert, key, Date.now());
  const request = { method: "POST" as const, url: new URL(url), headers, body };
  const outcome = await exchange(fetch, request, SEND_TIMEOUT_MS);
  if (outcome.kind === "lost") return outcome.reason;
  return outcome.status >= 200 && outcome.status < 300 ? null : `it answered ${outcome.status}`;
}

export const listDue = internalQuery({
  args: {},
  returns: v.array(v.id("alerts")),
  handler: async (ctx) => {
    const due = await ctx.db
      .query("alerts")
      .withIndex("by_due", (q) => q.gte("nextAttemptAtMs", 0).lte("nextAttemptAtMs", Date.now()))
      .take(DUE_MAX);
    return due.map(({ _id }) => _id);
  },
});

const claimedValidator = v.object({
  id: v.string(),
  kind: v.string(),
  subject: v.string(),
  detail: v.string(),
  createdAtMs: v.number(),
  attempt: v.number(),
});
type Claimed = Infer<typeof claimedValidator>;

/** Takes an alert for one attempt; null when it is not due, is being sent, or is given up. */
export const claim = internalMutation({
  args: { alertId: v.id("alerts") },
  returns: v.union(claimedValidator, v.null()),
  handler: async (ctx, { alertId }) => {
    const row = must(await ctx.db.get(alertId), `alert ${alertId} is gone`);
    const result = claimAlert(progressOf(row), Date.now());
    if (result.kind === "not_due") return null;
    await ctx.db.patch(alertId, result.progress);
    if (result.kind === "given_up") return null;
    const { kind, subject, detail, createdAtMs } = row;
    return { id: alertId, kind, subject, detail, createdAtMs, attempt: result.progress.attempts };
  },
});

export const settle = internalMutation({
  args: { alertId: v.id("alerts"), attempt: v.number(), error: v.union(v.string(), v.null()) },
  returns: v.null(),
  handler: async (ctx, { alertId, attempt: number, error }) => {
    const row = must(await ctx.db.get(alertId), `alert ${alertId} is gone`);
    const progress = settleAlert(progressOf(row), number, error, Date.now());
    if (progress === null) return null;
    await ctx.db.patch(alertId, progress);
    const { nextAttemptAtMs } = progress;
    if (nextAttemptAtMs !== null)
      await ctx.scheduler.runAt(nextAttemptAtMs, internal.alerts.send, { alertId });
    return null;
  },
});

function progressOf({ status, attempts, nextAttemptAtMs, error, sentAtMs }: Doc<"alerts">): AlertProgress {
  return { status, attempts, nextAttemptAtMs, error, sentAtMs };
}

const statusValidator = v.union(v.literal("waiting"), v.literal("sent"), v.literal("given_up"));

const alertValidator = v.object({
  id: v.string(),
  kind: v.string(),
  subject: v.string(),
  detail: v.string(),
  status: statusValidator,
  attempts: v.number(),
  nextAttemptAtMs: v.union(v.number(), v.null()),
  error: v.union(v.string(), v.null()),
  createdAtMs: v.number(),
  sentAtMs: v.union(v.number(), v.null()),
});

/** Newest first; with a status only those. */
export const list = operatorQuery({
  args: {
    status: v.optional(statusValidator),
    cursor: v.union(v.string(), v.null()),
    limit: v.number(),
  },
  returns: v.object({
    /** Whether anybody is told at all: an address is set. */
    isConfigured: v.boolean(),
    alerts: v.array(alertValidator),
    cursor: v.union(v.string(), v.null()),
  }),
  handler: async (ctx, { status, cursor, limit }) => {
    if (checkUnits("limit", limit, { minimum: 1, maximum: LIST_LIMIT_MAX }) !== null) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const rows = ctx.db.query("alerts");
    const wanted = status === undefined ? rows : rows.withIndex("by_status", (q) => q.eq("status", status));
    const page = await wanted.order("desc").paginate({ numItems: limit, cursor });
    const alerts = page.page.map(({ _id: id, _creationTime, ...fields }) => ({ id, ...fields }));
    const isConfigured = (process.env.HOLDFAST_ALERT_URL ?? "") !== "";
    return { isConfigured, alerts, cursor: nextCursor(page) };
  },
});
