import type { LimitRow } from "../lib/gate/limit-cache";
import { formatRefreshLease } from "../lib/gate/refresh-lease";
import { FEATURE_TOKENS } from "../lib/gate/types";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";

/** The limit has to be read first: whoever is given the lease reads it, everybody else waits. */
export type RefreshAnswer =
  | { kind: "refresh_needed"; accountId: string; feature: string; refreshLease: string }
  | { kind: "refresh_pending"; retryAfterMs: number };

/** Writes the lease that `lib/gate/limit-cache.ts` granted and tells it to its holder. */
export async function grantRefreshLease(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  stored: Doc<"limits"> | null,
  granted: LimitRow,
): Promise<RefreshAnswer> {
  const { refreshFence, refreshLeaseExpiresAtMs } = granted;
  if (stored === null) {
    await ctx.db.insert("limits", { accountId, feature: FEATURE_TOKENS, ...granted });
  } else {
    await ctx.db.patch(stored._id, { refreshFence, refreshLeaseExpiresAtMs });
  }
  return {
    kind: "refresh_needed",
    accountId,
    feature: FEATURE_TOKENS,
    refreshLease: formatRefreshLease(FEATURE_TOKENS, refreshFence),
  };
}
