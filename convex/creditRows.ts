import { balanceOf, type CreditRow } from "../lib/inbox/allowance";
import { assert } from "../lib/shared/assert";
import type { Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";

/** The credit ledger: append only, and a key is never written twice. */

/** Lines of one month: a grant for each plan, and two for each reminder at most. */
const PERIOD_ROWS_MAX = 8_000;

export async function insertCredit(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  row: CreditRow,
  nowMs: number,
): Promise<void> {
  const known = await ctx.db
    .query("credits")
    .withIndex("by_account_key", (q) => q.eq("accountId", accountId).eq("entryKey", row.entryKey))
    .unique();
  assert(known === null, `the credit line ${row.entryKey} is already written`);
  await ctx.db.insert("credits", { accountId, ...row, atMs: nowMs });
}

/** All lines of a month. */
export async function creditsOfPeriod(
  ctx: Pick<QueryCtx, "db">,
  accountId: Id<"accounts">,
  period: string,
): Promise<CreditRow[]> {
  const rows = await ctx.db
    .query("credits")
    .withIndex("by_account_period", (q) => q.eq("accountId", accountId).eq("period", period))
    .take(PERIOD_ROWS_MAX + 1);
  assert(rows.length <= PERIOD_ROWS_MAX, `${accountId} has too many credit lines in ${period}`);
  return rows.map(({ units, reason, entryKey, planKey }) => ({ period, units, reason, entryKey, planKey }));
}

export async function balanceIn(
  ctx: Pick<QueryCtx, "db">,
  accountId: Id<"accounts">,
  period: string,
): Promise<number> {
  return balanceOf(period, await creditsOfPeriod(ctx, accountId, period));
}
