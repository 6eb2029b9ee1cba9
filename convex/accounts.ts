import { v } from "convex/values";

import { emptyLimitRow } from "../lib/gate/limit-cache";
import { JOBS_PER_MINUTE_DEFAULT, JOBS_PER_MINUTE_MAX } from "../lib/gate/rate";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { parseAnchor } from "../lib/ledger/cycle";
import { checkUnits } from "../lib/shared/units";
import type { Doc, Id } from "./_generated/dataModel";
import { internalQuery, type MutationCtx } from "./_generated/server";
import { fixedAgreement } from "./agreements";
import { allowances } from "./allowances";
import { recordAct } from "./auditLog";
import { operatorMutation, operatorQuery, refuse } from "./functions";
import { findAccount, findAccountOfUser, findBilling, findFixedLimit, findLimit, nextCursor } from "./rows";
import { anchorSourceValidator } from "./inboxValidators";
import { limitUnitsValidator, notFoundValidator, providerValidator } from "./validators";

/** Accounts as an operator sees them: creation, fixed limits, job rate, cycle anchor. Every act leaves an audit row. */

const NAME_LENGTH_MAX = 200;
const LIST_LIMIT_MAX = 100;

const accountValidator = v.object({
  id: v.string(),
  name: v.string(),
  email: v.union(v.string(), v.null()),
  createdAtMs: v.number(),
  cycleAnchorMs: v.number(),
  cycleAnchorSource: anchorSourceValidator,
  jobsPerMinute: v.number(),
  provider: providerValidator,
});

const setValidator = v.object({ kind: v.literal("set"), account: accountValidator });

/**
 * Makes an account. The cycle anchor is the given start, else this instant. With a limit the cached limit is written
 * too: what an operator sets in this transaction is what a read at this instant would bring. Without one the first
 * admission asks for a read, and the fixed provider fails it until a limit is set.
 */
export const create = operatorMutation({
  args: {
    name: v.string(),
    email: v.optional(v.string()),
    limitUnits: v.optional(limitUnitsValidator),
    jobsPerMinute: v.optional(v.number()),
    cycleAnchor: v.optional(v.string()),
  },
  returns: v.object({ account: accountValidator }),
  handler: async (ctx, args) => {
    const nowMs = Date.now();
    if (args.name.length < 1 || args.name.length > NAME_LENGTH_MAX) {
      refuse("invalid", `name must have 1 to ${NAME_LENGTH_MAX} characters`);
    }
    const jobsPerMinute = args.jobsPerMinute ?? JOBS_PER_MINUTE_DEFAULT;
    checkRate(jobsPerMinute);
    const anchorMs = args.cycleAnchor === undefined ? null : anchorFrom(args.cycleAnchor);
    const accountId = await insertAccount(ctx, {
      name: args.name,
      email: args.email ?? null,
      source: "operator",
      anchorMs,
      jobsPerMinute,
      limitUnits: args.limitUnits,
      nowMs,
    });
    const details = { name: args.name, jobsPerMinute, limitUnits: args.limitUnits ?? null };
    await recordAct(ctx, { actor: ctx.actor, action: "account_created", accountId, details, nowMs });
    const account = await ctx.db.get(accountId);
    return { account: viewAccount(account!, jobsPerMinute) };
  },
});

/**
 * The rows of a new account: on the fixed provider for operators and the labs, on the billing provider for whoever
 * signs in or whom a billing event names.
 */
export async function insertAccount(
  ctx: MutationCtx,
  fields: {
    name: string;
    email: string | null;
    source: Doc<"accounts">["source"];
    kindeUserId?: string | null;
    customerId?: string | null;
    anchorMs: number | null;
    jobsPerMinute: number;
    /** Undefined: none is set. Null: unlimited. */
    limitUnits: number | null | undefined;
    nowMs: number;
  },
): Promise<Id<"accounts">> {
  const { name, email, source, anchorMs, nowMs, limitUnits } = fields;
  const accountId = await ctx.db.insert("accounts", {
    name,
    email,
    source,
    ...(source === "lab" ? { isThrowAway: true as const } : {}),
    provider: source === "sign_in" || source === "event" ? "kinde" : "fixed",
    kindeUserId: fields.kindeUserId ?? null,
    customerId: fields.customerId ?? null,
    mergedIntoAccountId: null,
    cycleAnchorMs: anchorMs ?? nowMs,
    cycleAnchorSource: anchorMs === null ? "creation" : "operator",
    cycleAnchorFrozenAtMs: null,
    planKey: allowances().freePlanKey,
    planSetBy: null,
    overdueSinceMs: null,
    profile: null,
    deletedAtMs: null,
    createdAtMs: nowMs,
  });
  // A meter outside is counted under an agreement. A throw-away account has none, so nothing of it is ever sent.
  if (source === "operator") {
    await ctx.db.insert("agreements", { accountId, ...fixedAgreement(accountId), fromMs: 0 });
  }
  await ctx.db.insert("billing", {
    accountId,
    limitPerMinute: fields.jobsPerMinute,
    windowStartMs: 0,
    count: 0,
    refusedWindowStartMs: null,
  });
  if (limitUnits !== undefined) {
    checkLimit(limitUnits);
    await ctx.db.insert("fixedLimits", { accountId, feature: FEATURE_TOKENS, limitUnits, setAtMs: nowMs });
    const cached = { ...emptyLimitRow("fixed"), limitUnits, readAtMs: nowMs };
    await ctx.db.insert("limits", { accountId, feature: FEATURE_TOKENS, ...cached });
  }
  return accountId;
}

/**
 * Sets the fixed limit. A cached limit is brought up to date in the same transaction, so the next admission already
 * obeys it; one that was never read stays unread. Running jobs keep their holds whatever the new limit is.
 */
export const setLimit = operatorMutation({
  args: { accountId: v.string(), feature: v.optional(v.string()), limitUnits: limitUnitsValidator },
  returns: v.union(
    v.object({
      kind: v.literal("set"),
      feature: v.string(),
      limitUnits: limitUnitsValidator,
      setAtMs: v.number(),
    }),
    notFoundValidator,
  ),
  handler: async (ctx, args) => {
    const account = await findAccount(ctx, args.accountId);
    if (account === null) return { kind: "not_found" as const };
    const feature = args.feature ?? FEATURE_TOKENS;
    if (feature !== FEATURE_TOKENS) refuse("invalid", `feature must be "${FEATURE_TOKENS}"`);
    const { limitUnits } = args;
    checkLimit(limitUnits);
    const nowMs = Date.now();
    const accountId = account._id;
    const fixed = await findFixedLimit(ctx, accountId, feature);
    if (fixed === null)
      await ctx.db.insert("fixedLimits", { accountId, feature, limitUnits, setAtMs: nowMs });
    else await ctx.db.patch(fixed._id, { limitUnits, setAtMs: nowMs });
    const cached = await findLimit(ctx, accountId, feature);
    if (cached !== null) {
      const read = {
        limitUnits,
        readAtMs: nowMs,
        refreshFailedAtMs: null,
        refreshFailure: null,
        refreshRequiredAtMs: null,
      };
      await ctx.db.patch(cached._id, read);
    }
    const details = { feature, before: fixed?.limitUnits ?? null, wasSet: fixed !== null, after: limitUnits };
    await recordAct(ctx, { actor: ctx.actor, action: "limit_set", accountId, details, nowMs });
    return { kind: "set" as const, feature, limitUnits, setAtMs: nowMs };
  },
});

/** Takes the fixed limit away. Reads then fail, and the last limit serves until it is ten minutes old. */
export const removeLimit = operatorMutation({
  args: { accountId: v.string() },
  returns: v.union(v.object({ kind: v.literal("removed") }), notFoundValidator),
  handler: async (ctx, args) => {
    const account = await findAccount(ctx, args.accountId);
    if (account === null) return { kind: "not_found" as const };
    const fixed = await findFixedLimit(ctx, account._id, FEATURE_TOKENS);
    if (fixed !== null) {
      await ctx.db.delete(fixed._id);
      const details = { feature: FEATURE_TOKENS, before: fixed.limitUnits };
      await recordAct(ctx, {
        actor: ctx.actor,
        action: "limit_removed",
        accountId: account._id,
        details,
        nowMs: Date.now(),
      });
    }
    return { kind: "removed" as const };
  },
});

/** Sets how many new jobs the account may start in a minute. The window that is open goes on. */
export const setRate = operatorMutation({
  args: { accountId: v.string(), jobsPerMinute: v.number() },
  returns: v.union(setValidator, notFoundValidator),
  handler: async (ctx, { accountId, jobsPerMinute }) => {
    const account = await findAccount(ctx, accountId);
    const billing = account === null ? null : await findBilling(ctx, account._id);
    if (account === null || billing === null) return { kind: "not_found" as const };
    checkRate(jobsPerMinute);
    await ctx.db.patch(billing._id, { limitPerMinute: jobsPerMinute });
    const details = { before: billing.limitPerMinute, after: jobsPerMinute };
    await recordAct(ctx, {
      actor: ctx.actor,
      action: "rate_set",
      accountId: account._id,
      details,
      nowMs: Date.now(),
    });
    return { kind: "set" as const, account: viewAccount(account, jobsPerMinute) };
  },
});

/** Moves the cycle anchor, until the first job freezes it: budgets of admitted jobs are named after the old cycles. */
export const setCycleAnchor = operatorMutation({
  args: { accountId: v.string(), cycleAnchor: v.string() },
  returns: v.union(
    setValidator,
    v.object({ kind: v.literal("frozen"), frozenAtMs: v.number() }),
    notFoundValidator,
  ),
  handler: async (ctx, args) => {
    const account = await findAccount(ctx, args.accountId);
    if (account === null) return { kind: "not_found" as const };
    const frozenAtMs = account.cycleAnchorFrozenAtMs;
    if (frozenAtMs !== null) return { kind: "frozen" as const, frozenAtMs };
    const anchor = { cycleAnchorMs: anchorFrom(args.cycleAnchor), cycleAnchorSource: "operator" as const };
    await ctx.db.patch(account._id, anchor);
    const details = { before: account.cycleAnchorMs, after: anchor.cycleAnchorMs };
    await recordAct(ctx, {
      actor: ctx.actor,
      action: "cycle_anchor_set",
      accountId: account._id,
      details,
      nowMs: Date.now(),
    });
    const billing = await findBilling(ctx, account._id);
    return { kind: "set" as const, account: viewAccount({ ...account, ...anchor }, billing?.limitPerMinute) };
  },
});

export const get = operatorQuery({
  args: { accountId: v.string() },
  returns: v.union(accountValidator, v.null()),
  handler: async (ctx, { accountId }) => {
    const account = await findAccount(ctx, accountId);
    if (account === null) return null;
    return viewAccount(account, (await findBilling(ctx, account._id))?.limitPerMinute);
  },
});

/** Customers, the newest first. */
export const list = operatorQuery({
  args: { cursor: v.union(v.string(), v.null()), limit: v.number() },
  returns: v.object({ accounts: v.array(accountValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor, limit }) => {
    if (checkUnits("limit", limit, { minimum: 1, maximum: LIST_LIMIT_MAX }) !== null) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const page = await ctx.db
      .query("accounts")
      .withIndex("by_throw_away", (q) => q.eq("isThrowAway", undefined))
      .order("desc")
      .paginate({ numItems: limit, cursor });
    const accounts = [];
    for (const account of page.page) {
      accounts.push(viewAccount(account, (await findBilling(ctx, account._id))?.limitPerMinute));
    }
    return { accounts, cursor: nextCursor(page) };
  },
});

/** For actions, which cannot read the database themselves. Complete: nothing is left to ask the provider for. */
export const ofUser = internalQuery({
  args: { kindeUserId: v.string() },
  returns: v.union(
    v.object({ accountId: v.id("accounts"), isComplete: v.boolean(), isDeleted: v.boolean() }),
    v.null(),
  ),
  handler: async (ctx, { kindeUserId }) => {
    const account = await findAccountOfUser(ctx, kindeUserId);
    if (account === null) return null;
    // One that a billing event made knows its customer, and nobody has entered it yet.
    const isComplete = account.customerId !== null && account.source !== "event";
    return { accountId: account._id, isComplete, isDeleted: account.deletedAtMs !== null };
  },
});

/** The account that an operator names; null when there is none. For actions. */
export const idOf = internalQuery({
  args: { accountId: v.string() },
  returns: v.union(v.id("accounts"), v.null()),
  handler: async (ctx, { accountId }) => (await findAccount(ctx, accountId))?._id ?? null,
});

function anchorFrom(text: string): number {
  const parsed = parseAnchor(text);
  return parsed.ok ? parsed.anchorMs : refuse("invalid", `cycleAnchor ${parsed.message}`);
}

function checkLimit(limitUnits: number | null): void {
  const fault = limitUnits === null ? null : checkUnits("limitUnits", limitUnits);
  if (fault !== null) refuse("invalid", fault.message);
}

function checkRate(jobsPerMinute: number): void {
  const fault = checkUnits("jobsPerMinute", jobsPerMinute, { maximum: JOBS_PER_MINUTE_MAX });
  if (fault !== null) refuse("invalid", fault.message);
}

function viewAccount(account: Doc<"accounts">, jobsPerMinute: number = JOBS_PER_MINUTE_DEFAULT) {
  const { _id: id, name, email, createdAtMs, cycleAnchorMs, cycleAnchorSource, provider } = account;
  return { id, name, email, createdAtMs, cycleAnchorMs, cycleAnchorSource, jobsPerMinute, provider };
}
