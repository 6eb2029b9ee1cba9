import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { recordAct } from "./auditLog";

/** Two rows that turn out to be one customer. */

/** Rows of each kind that one merge moves: what billing events told of a customer who never signed in. */
const MOVED_MAX = 2_000;
const MOVED_TABLES = ["planChanges", "payments", "agreements", "inboxEvents"] as const;

/**
 * Merges the row that a billing event made into the row of the user, in the transaction of the caller. Nobody could
 * sign in to the former, so it has neither jobs nor entries of its own; the ledger is never moved. Its facts move, but
 * not what followed from them: the caller settles the facts of the survivor. The row stays as a pointer without ids.
 */
export async function mergeAccounts(
  ctx: MutationCtx,
  {
    survivor,
    merged,
    actor,
    nowMs,
  }: { survivor: Doc<"accounts">; merged: Doc<"accounts">; actor: string; nowMs: number },
): Promise<void> {
  const known = new Set<string>();
  for (const { eventId } of await factsOf(ctx, survivor._id)) known.add(eventId);
  for (const table of MOVED_TABLES) {
    const rows = await ctx.db
      .query(table)
      .withIndex("by_account", (q) => q.eq("accountId", merged._id))
      .take(MOVED_MAX + 1);
    if (rows.length > MOVED_MAX) throw new Error(`account ${merged._id} has too many ${table} to merge`);
    for (const row of rows) {
      // An event is applied to one account, so both rows know it only when it came before they were told apart.
      const isDouble = table === "planChanges" && "eventId" in row && known.has(row.eventId as string);
      if (!isDouble) await ctx.db.patch(row._id, { accountId: survivor._id });
    }
  }
  await ctx.db.patch(survivor._id, {
    customerId: survivor.customerId ?? merged.customerId,
    profile: newerProfile(survivor.profile, merged.profile),
    deletedAtMs: earlier(survivor.deletedAtMs, merged.deletedAtMs),
  });
  await ctx.db.patch(merged._id, {
    kindeUserId: null,
    customerId: null,
    mergedIntoAccountId: survivor._id,
  });
  await recordAct(ctx, {
    actor,
    action: "accounts_merged",
    accountId: survivor._id,
    details: { mergedAccountId: merged._id },
    nowMs,
  });
}

async function factsOf(ctx: MutationCtx, accountId: Id<"accounts">): Promise<Doc<"planChanges">[]> {
  return await ctx.db
    .query("planChanges")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .collect();
}

type Profile = Doc<"accounts">["profile"];

function newerProfile(one: Profile, other: Profile): Profile {
  if (one === null || other === null) return one ?? other;
  if (one.atNs === other.atNs) return one.eventId > other.eventId ? one : other;
  return one.atNs > other.atNs ? one : other;
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
