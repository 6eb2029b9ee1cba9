import { stream } from "convex-helpers/server/stream";
import { v } from "convex/values";

import { freeUnitsOf } from "../lib/gate/room";
import { JOBS_PER_MINUTE_DEFAULT } from "../lib/gate/rate";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { accountsNamed } from "./exactIds";
import { operatorAction, operatorQuery } from "./functions";
import { accountSourceValidator, anchorSourceValidator } from "./inboxValidators";
import { refreshLimit } from "./limits";
import { findAccount, findBilling, findBudget, findLimit, hasPart, nextCursor, runningJobs } from "./rows";
import schema from "./schema";
import {
  afterArgs,
  jobViewValidator,
  limitUnitsValidator,
  notFoundValidator,
  providerValidator,
} from "./validators";

/** Accounts as the operators' screens show them: who, which plan, how much of it is used, and what stands in the way. */

const PAGE = 20;
/** A page looks through this many accounts at most; one with a filter may be short and still have a next one. */
const ROWS_READ_MAX = 500;
const AGREEMENTS_SHOWN = 20;

type Reader = Pick<QueryCtx, "db">;

const summaryFields = {
  id: v.string(),
  name: v.string(),
  email: v.union(v.string(), v.null()),
  source: accountSourceValidator,
  provider: providerValidator,
  planKey: v.string(),
  createdAtMs: v.number(),
  overdueSinceMs: v.union(v.number(), v.null()),
  deletedAtMs: v.union(v.number(), v.null()),
  usedUnits: v.number(),
  heldUnits: v.number(),
  /** Null while no limit was read; `limitUnits` null in it stands for unlimited. */
  limit: v.union(v.object({ limitUnits: limitUnitsValidator, readAtMs: v.number() }), v.null()),
};

export const list = operatorQuery({
  args: {
    only: v.optional(v.union(v.literal("overdue"), v.literal("deleted"), v.literal("lab"))),
    /** Part of the name, the email or an id. What names an account exactly finds it at once (exactIds.ts). */
    text: v.optional(v.string()),
    cursor: v.union(v.string(), v.null()),
  },
  returns: v.object({
    accounts: v.array(v.object(summaryFields)),
    cursor: v.union(v.string(), v.null()),
  }),
  handler: async (ctx, { only, text, cursor }) => {
    const nowMs = Date.now();
    const summariesOf = async (found: readonly Doc<"accounts">[]) => {
      const summaries = [];
      for (const account of found) {
        summaries.push(await summaryOf(ctx, account, await findLimit(ctx, account._id), nowMs));
      }
      return summaries;
    };
    const named = await accountsNamed(ctx, text);
    if (named.length > 0) {
      // Whoever asks for one account by its id is shown it, merged and throw-away ones as well.
      const wanted = named.filter((account) => only === undefined || isWanted(account, only));
      return { accounts: await summariesOf(wanted), cursor: null };
    }
    const rows = stream(ctx.db, schema)
      .query("accounts")
      .withIndex("by_throw_away", (q) => q.eq("isThrowAway", only === "lab" ? true : undefined))
      .order("desc")
      .filterWith((account) => Promise.resolve(isWanted(account, only) && hasPart(namesOf(account), text)));
    const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    return { accounts: await summariesOf(page.page), cursor: nextCursor(page) };
  },
});

/** Throw-away accounts of the labs are many and nobody's; they are listed only when they are asked for. */
function isWanted(account: Doc<"accounts">, only: "overdue" | "deleted" | "lab" | undefined): boolean {
  if (only === "lab") return account.source === "lab";
  if (account.source === "lab" || account.mergedIntoAccountId !== null) return false;
  if (only === "overdue") return account.overdueSinceMs !== null;
  return only === undefined || account.deletedAtMs !== null;
}

function namesOf({ _id, name, email, customerId, kindeUserId }: Doc<"accounts">) {
  return [_id, name, email, customerId, kindeUserId];
}

async function summaryOf(ctx: Reader, account: Doc<"accounts">, limit: Doc<"limits"> | null, nowMs: number) {
  const {
    _id: id,
    name,
    email,
    source,
    provider,
    planKey,
    createdAtMs,
    overdueSinceMs,
    deletedAtMs,
  } = account;
  const cycle = cycleAt(account.cycleAnchorMs, nowMs);
  const budget = await findBudget(ctx, id, FEATURE_TOKENS, cycle.name);
  const who = { id, name, email, source, provider, planKey, createdAtMs, overdueSinceMs, deletedAtMs };
  return {
    ...who,
    usedUnits: budget?.usedUnits ?? 0,
    heldUnits: budget?.heldUnits ?? 0,
    limit:
      limit === null || limit.readAtMs === null
        ? null
        : { limitUnits: limit.limitUnits, readAtMs: limit.readAtMs },
  };
}

export const get = operatorQuery({
  args: { accountId: v.string(), ...afterArgs },
  returns: v.union(
    v.object({
      ...summaryFields,
      freeUnits: v.union(v.number(), v.null()),
      kindeUserId: v.union(v.string(), v.null()),
      customerId: v.union(v.string(), v.null()),
      mergedIntoAccountId: v.union(v.string(), v.null()),
      jobsPerMinute: v.number(),
      cycle: v.object({ name: v.string(), startMs: v.number(), endMs: v.number() }),
      cycleAnchorSource: anchorSourceValidator,
      cycleAnchorFrozenAtMs: v.union(v.number(), v.null()),
      /** Why the limit could not be read last; null when it could. */
      limitFailure: v.union(v.object({ reason: v.string(), atMs: v.number() }), v.null()),
      agreements: v.array(
        v.object({
          agreementId: v.string(),
          planKey: v.union(v.string(), v.null()),
          fromMs: v.number(),
          untilMs: v.union(v.number(), v.null()),
        }),
      ),
    }),
    v.null(),
  ),
  handler: async (ctx, { accountId }) => {
    const account = await findAccount(ctx, accountId);
    if (account === null) return null;
    const nowMs = Date.now();
    const cached = await findLimit(ctx, account._id);
    const summary = await summaryOf(ctx, account, cached, nowMs);
    const { usedUnits, heldUnits, limit } = summary;
    const agreements = await ctx.db
      .query("agreements")
      .withIndex("by_account", (q) => q.eq("accountId", account._id))
      .order("desc")
      .take(AGREEMENTS_SHOWN);
    const { kindeUserId, customerId, mergedIntoAccountId, cycleAnchorSource, cycleAnchorFrozenAtMs } =
      account;
    const { name, startMs, endMs } = cycleAt(account.cycleAnchorMs, nowMs);
    const { refreshFailure: reason = null, refreshFailedAtMs: atMs = null } = cached ?? {};
    return {
      ...summary,
      freeUnits: limit === null ? null : freeUnitsOf(limit.limitUnits, { usedUnits, heldUnits }),
      kindeUserId,
      customerId,
      mergedIntoAccountId,
      jobsPerMinute: (await findBilling(ctx, account._id))?.limitPerMinute ?? JOBS_PER_MINUTE_DEFAULT,
      cycle: { name, startMs, endMs },
      cycleAnchorSource,
      cycleAnchorFrozenAtMs,
      limitFailure: reason === null || atMs === null ? null : { reason, atMs },
      agreements: agreements.map(({ agreementId, planKey, fromMs, untilMs }) => {
        return { agreementId, planKey, fromMs, untilMs };
      }),
    };
  },
});

/** The running jobs behind what an account holds: the 100 whose lease ends first. */
export const holds = operatorQuery({
  args: { accountId: v.string() },
  returns: v.array(jobViewValidator),
  handler: async (ctx, { accountId }) => {
    const account = await findAccount(ctx, accountId);
    return account === null ? [] : await runningJobs(ctx, account._id);
  },
});

/** Reads the limit of an account from its provider again. "failed" also when somebody else is reading it just now. */
export const readLimit = operatorAction({
  args: { accountId: v.string() },
  returns: v.union(
    v.object({ kind: v.union(v.literal("refreshed"), v.literal("failed")) }),
    notFoundValidator,
  ),
  handler: async (ctx, args): Promise<{ kind: "refreshed" | "failed" | "not_found" }> => {
    const accountId: Id<"accounts"> | null = await ctx.runQuery(internal.accounts.idOf, args);
    return accountId === null ? { kind: "not_found" } : await refreshLimit(ctx, accountId);
  },
});
