import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";

/** Puts something before a person. While a review of the same kind and subject is open, nothing is written. */
export async function openReview(
  ctx: MutationCtx,
  finding: Pick<Doc<"reviews">, "kind" | "subject" | "accountId" | "detail"> & { nowMs: number },
): Promise<void> {
  const { nowMs, ...review } = finding;
  const open = await ctx.db
    .query("reviews")
    .withIndex("by_kind_subject_status", (q) =>
      q.eq("kind", review.kind).eq("subject", review.subject).eq("status", "open"),
    )
    .first();
  if (open === null) await ctx.db.insert("reviews", { ...review, status: "open", openedAtMs: nowMs });
}
