import { type Infer, v } from "convex/values";

import { RUNNING_LISTED_MAX } from "../lib/gate/running";
import { deletionObstacles, isConfirmed } from "../lib/inbox/deletion";
import { allowances } from "./allowances";
import type { Doc } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import { accountMutation, accountQuery } from "./functions";
import { findLimit } from "./rows";
import { buryAccount } from "./tombstone";

/** The own account of a signed-in customer, and its end. No API key can do either. */

const obstaclesValidator = v.array(
  v.union(
    v.object({ code: v.literal("paid_plan"), planKey: v.string() }),
    v.object({ code: v.literal("jobs_running"), count: v.number(), lastLeaseExpiresAtMs: v.number() }),
  ),
);

/** Who the account is, and what would have to be done before it can be deleted. */
export const standing = accountQuery({
  scope: null,
  args: {},
  returns: v.object({
    id: v.string(),
    name: v.string(),
    email: v.union(v.string(), v.null()),
    planKey: v.string(),
    customerId: v.union(v.string(), v.null()),
    createdAtMs: v.number(),
    overdueSinceMs: v.union(v.number(), v.null()),
    obstacles: obstaclesValidator,
  }),
  handler: async (ctx) => {
    const { account } = ctx.principal;
    const { _id: id, name, email, planKey, customerId, createdAtMs, overdueSinceMs } = account;
    const obstacles = await obstaclesOf(ctx, account);
    return { id, name, email, planKey, customerId, createdAtMs, overdueSinceMs, obstacles };
  },
});

/**
 * Deletes the account of the caller for good: what lets somebody in ends in this transaction, links and reminders
 * follow in batches. The ledger stays. `typed` is what the customer typed to confirm.
 */
export const remove = accountMutation({
  scope: null,
  args: { typed: v.string() },
  returns: v.union(
    v.object({ kind: v.literal("deleted"), deletedAtMs: v.number() }),
    v.object({ kind: v.literal("refused"), obstacles: obstaclesValidator }),
    v.object({ kind: v.literal("not_confirmed") }),
  ),
  handler: async (ctx, { typed }) => {
    const { account, accountId } = ctx.principal;
    if (!isConfirmed(account, typed)) return { kind: "not_confirmed" as const };
    const obstacles = await obstaclesOf(ctx, account);
    if (obstacles.length > 0) return { kind: "refused" as const, obstacles };
    const nowMs = Date.now();
    await buryAccount(ctx, account, nowMs, nowMs);
    await recordAct(ctx, { actor: "customer", action: "account_deleted", accountId, details: {}, nowMs });
    return { kind: "deleted" as const, deletedAtMs: nowMs };
  },
});

async function obstaclesOf(
  ctx: Pick<QueryCtx, "db">,
  { _id: accountId, planKey }: Doc<"accounts">,
): Promise<Infer<typeof obstaclesValidator>> {
  const running = await ctx.db
    .query("jobs")
    .withIndex("by_account_status_lease", (q) => q.eq("accountId", accountId).eq("status", "running"))
    .order("desc")
    .take(RUNNING_LISTED_MAX);
  const limitPlanKey = (await findLimit(ctx, accountId))?.planKey ?? null;
  return deletionObstacles({ freePlanKey: allowances().freePlanKey, planKey, limitPlanKey, running });
}
