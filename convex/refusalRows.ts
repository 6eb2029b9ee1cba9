import { EXPIRE_BATCH_MAX } from "../lib/gate/expire";
import type { HeldRefusal } from "../lib/gate/admit";
import { decideRefusalRow } from "../lib/gate/refusal-rows";
import type { AdmissionRequest } from "../lib/gate/request";
import type { Refusal } from "../lib/gate/types";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";

/** What a refusal reads and leaves behind. */

/** Only a refusal for held room names the earliest lease end, so only it pays for the read. */
export async function withEarliestLease(
  ctx: QueryCtx,
  accountId: Id<"accounts">,
  cycle: string,
  nowMs: number,
  refusal: Refusal | HeldRefusal,
): Promise<Refusal> {
  if (refusal.code !== "held_by_running_jobs") return refusal;
  const running = ctx.db
    .query("jobs")
    .withIndex("by_account_status_lease", (q) =>
      q.eq("accountId", accountId).eq("status", "running").gt("leaseExpiresAtMs", nowMs),
    );
  // Jobs of the cycle before may come first; they hold nothing of this one. Past fifty of them the bound is taken.
  const first = await running.take(EXPIRE_BATCH_MAX);
  const earliest = first.find((job) => job.cycle === cycle) ?? first[0];
  return { ...refusal, earliestLeaseExpiresAtMs: earliest?.leaseExpiresAtMs ?? nowMs };
}

/**
 * Keeps the numbers of a refusal. A flood cannot fill the disk: past a number of rows a minute the rest is counted in
 * one, rate refusals are kept once a window, and a number or key that no state of the account could accept not at all.
 */
export async function recordRefusal(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  billing: Doc<"billing"> | null,
  request: AdmissionRequest,
  refusal: Refusal,
  nowMs: number,
): Promise<void> {
  if (refusal.code === "out_of_range" || refusal.code === "key_conflict") return;
  if (refusal.code === "rate_limited" && billing !== null) {
    if (billing.refusedWindowStartMs === billing.windowStartMs) return;
    await ctx.db.patch(billing._id, { refusedWindowStartMs: billing.windowStartMs });
  }
  const { key, kind, units: requestedUnits } = request;
  const newest = await ctx.db
    .query("refusals")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .order("desc")
    .first();
  const last = { key, kind, requestedUnits, refusal, atMs: nowMs };
  const row = decideRefusalRow(newest, nowMs);
  if (row.kind === "gathered" && newest !== null) {
    await ctx.db.patch(newest._id, { ...last, times: row.times });
  } else if (row.kind === "own") {
    await ctx.db.insert("refusals", { accountId, ...last, ordinal: row.ordinal, times: 1 });
  }
}
