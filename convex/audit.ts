import { v } from "convex/values";

import { budgetDiffers, recomputeBudget, sumUnits } from "../lib/gate/audit";
import { FEATURE_TOKENS } from "../lib/gate/types";
import { MINUTE_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import { type ActionCtx, internalMutation, internalQuery, type QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import { internalAction } from "./patience";
import { openReview } from "./reviews";
import { findBudget, nextCursor } from "./rows";
import { withRun } from "./runs";

/**
 * Recomputes every budget from the rows it is a copy of: held from running jobs, used from ledger entries. Runs at
 * start, after a restore and hourly.
 *
 * A budget may have more entries than one function may read. Entries are never changed, so those that have settled
 * long enough are added up page by page first; then one transaction reads the rest, the running jobs and the budget,
 * and what it compares is one snapshot however busy the account is. A query compares; only a difference costs a
 * mutation, so that an audit of sound budgets never stands in the way of an admission.
 */

/** A transaction that began before this long ago has committed or failed: no entry can appear behind the mark. */
const SETTLED_AGE_MS = MINUTE_MS;
const ENTRIES_PAGE = 2_000;
const ACCOUNTS_PAGE = 100;
/** Below the 32,000 documents a function may read, for the newest entries and for the running jobs each. */
const TAIL_MAX = 12_000;
/** Cycles of one account in one look: two centuries of months. */
const CYCLES_MAX = 2_400;

export interface AuditCounts extends Record<string, number> {
  readonly budgets: number;
  readonly repaired: number;
}

export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await auditBudgets(ctx);
    return null;
  },
});

export function auditBudgets(ctx: ActionCtx): Promise<AuditCounts> {
  return withRun(ctx, "audit", async () => {
    let counts: AuditCounts = { budgets: 0, repaired: 0 };
    let cursor: string | null = null;
    do {
      const page: AccountsPage = await ctx.runQuery(internal.audit.listAccounts, { cursor });
      for (const accountId of page.accountIds) {
        const cycles: string[] = await ctx.runQuery(internal.audit.listCycles, { accountId });
        for (const cycle of cycles) {
          const repaired = await auditBudget(ctx, accountId, cycle);
          counts = { budgets: counts.budgets + 1, repaired: counts.repaired + (repaired ? 1 : 0) };
        }
      }
      cursor = page.cursor;
    } while (cursor !== null);
    return counts;
  });
}

interface AccountsPage {
  accountIds: Id<"accounts">[];
  cursor: string | null;
}

interface EntriesPage {
  units: number;
  cursor: string | null;
}

async function auditBudget(ctx: ActionCtx, accountId: Id<"accounts">, cycle: string): Promise<boolean> {
  const settledBeforeMs = Date.now() - SETTLED_AGE_MS;
  let settledUnits = 0;
  let cursor: string | null = null;
  do {
    const args = { accountId, cycle, settledBeforeMs, cursor };
    const page: EntriesPage = await ctx.runQuery(internal.audit.sumSettled, args);
    settledUnits += page.units;
    cursor = page.cursor;
  } while (cursor !== null);
  const args = { accountId, cycle, settledBeforeMs, settledUnits };
  const differs: boolean = await ctx.runQuery(internal.audit.differs, args);
  return differs && (await ctx.runMutation(internal.audit.repair, args));
}

export const listAccounts = internalQuery({
  args: { cursor: v.union(v.string(), v.null()) },
  returns: v.object({ accountIds: v.array(v.id("accounts")), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db.query("accounts").paginate({ numItems: ACCOUNTS_PAGE, cursor });
    return {
      accountIds: page.page.map((account) => account._id),
      cursor: nextCursor(page),
    };
  },
});

/** Every cycle that has a budget, an entry or a running job: a budget row may be what a restore has lost. */
export const listCycles = internalQuery({
  args: { accountId: v.id("accounts") },
  returns: v.array(v.string()),
  handler: async (ctx, { accountId }) => {
    const cycles = new Set<string>();
    const budgets = await ctx.db
      .query("budgets")
      .withIndex("by_account_feature_cycle", (q) =>
        q.eq("accountId", accountId).eq("feature", FEATURE_TOKENS),
      )
      .take(CYCLES_MAX);
    for (const budget of budgets) cycles.add(budget.cycle);
    for (const job of await runningJobs(ctx, accountId)) cycles.add(job.cycle);

    // One read a cycle, whatever the number of its entries: the next row past the cycle just seen.
    let after = "";
    while (cycles.size < CYCLES_MAX) {
      const entry = await ctx.db
        .query("entries")
        .withIndex("by_account_feature_budgetCycle", (q) =>
          q.eq("accountId", accountId).eq("feature", FEATURE_TOKENS).gt("budgetCycle", after),
        )
        .first();
      if (entry === null) break;
      after = entry.budgetCycle!;
      cycles.add(after);
    }
    return [...cycles].toSorted();
  },
});

export const sumSettled = internalQuery({
  args: {
    accountId: v.id("accounts"),
    cycle: v.string(),
    settledBeforeMs: v.number(),
    cursor: v.union(v.string(), v.null()),
  },
  returns: v.object({ units: v.number(), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { accountId, cycle, settledBeforeMs, cursor }) => {
    const page = await ctx.db
      .query("entries")
      .withIndex("by_account_feature_budgetCycle", (q) =>
        q
          .eq("accountId", accountId)
          .eq("feature", FEATURE_TOKENS)
          .eq("budgetCycle", cycle)
          .lte("_creationTime", settledBeforeMs),
      )
      .paginate({ numItems: ENTRIES_PAGE, cursor });
    return { units: sumUnits(page.page), cursor: nextCursor(page) };
  },
});

const compareArgs = {
  accountId: v.id("accounts"),
  cycle: v.string(),
  settledBeforeMs: v.number(),
  settledUnits: v.number(),
};

export const differs = internalQuery({
  args: compareArgs,
  returns: v.boolean(),
  handler: async (ctx, args) => {
    const { stored, recomputed } = await compare(ctx, args);
    return recomputed === null || budgetDiffers(stored, recomputed);
  },
});

/** Compares again in its own snapshot and repairs what still differs. True when it did. */
export const repair = internalMutation({
  args: compareArgs,
  returns: v.boolean(),
  handler: async (ctx, args) => {
    const { accountId, cycle } = args;
    const nowMs = Date.now();
    const { stored, recomputed } = await compare(ctx, args);
    if (recomputed === null) {
      const subject = `${accountId}/${cycle}`;
      const detail = `more than ${TAIL_MAX} running jobs or new entries: not compared`;
      await openReview(ctx, { kind: "audit_too_large", subject, accountId, detail, nowMs });
      return false;
    }
    if (!budgetDiffers(stored, recomputed)) return false;
    if (stored === null) {
      await ctx.db.insert("budgets", { accountId, feature: FEATURE_TOKENS, cycle, ...recomputed });
    } else {
      await ctx.db.patch(stored._id, recomputed);
    }
    const details = {
      cycle,
      usedBefore: stored?.usedUnits ?? null,
      usedAfter: recomputed.usedUnits,
      heldBefore: stored?.heldUnits ?? null,
      heldAfter: recomputed.heldUnits,
    };
    await recordAct(ctx, { actor: "audit", action: "budget_repaired", accountId, details, nowMs });
    return true;
  },
});

interface CompareArgs {
  accountId: Id<"accounts">;
  cycle: string;
  settledBeforeMs: number;
  settledUnits: number;
}

/** Null for `recomputed` means that there is more to read than one function may. */
async function compare(ctx: Pick<QueryCtx, "db">, args: CompareArgs) {
  const { accountId, cycle, settledBeforeMs, settledUnits } = args;
  const stored = await findBudget(ctx, accountId, FEATURE_TOKENS, cycle);
  const newest = await ctx.db
    .query("entries")
    .withIndex("by_account_feature_budgetCycle", (q) =>
      q
        .eq("accountId", accountId)
        .eq("feature", FEATURE_TOKENS)
        .eq("budgetCycle", cycle)
        .gt("_creationTime", settledBeforeMs),
    )
    .take(TAIL_MAX);
  const running = await runningJobs(ctx, accountId);
  if (newest.length === TAIL_MAX || running.length === TAIL_MAX) return { stored, recomputed: null };
  return { stored, recomputed: recomputeBudget(settledUnits + sumUnits(newest), running, cycle) };
}

function runningJobs(ctx: Pick<QueryCtx, "db">, accountId: Id<"accounts">) {
  return ctx.db
    .query("jobs")
    .withIndex("by_account_status_lease", (q) => q.eq("accountId", accountId).eq("status", "running"))
    .take(TAIL_MAX);
}
