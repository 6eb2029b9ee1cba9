import { type Infer, v } from "convex/values";

import { decideLateUsage, type LateOutcome } from "../lib/ledger/late-usage";
import { meterAt, meterKey } from "../lib/ledger/meter";
import type { ReportState } from "../lib/ledger/report-state";
import { must } from "../lib/shared/assert";
import { checkUnits } from "../lib/shared/units";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { raiseAlert } from "./alerts";
import { recordAct } from "./auditLog";
import { operatorMutation, operatorQuery, refuse } from "./functions";
import { meteredAccount, openMeter, recordInMeter } from "./ledger";
import { closingOf, ledgerUnitsOf, reportStateOf, saveReportState } from "./meterState";
import { nextCursor } from "./rows";
import { lateUsageValidator, notFoundValidator } from "./validators";

/** What a person must look at, and what the person decides. */

const LIST_LIMIT_MAX = 100;
const NOTE_LENGTH_MAX = 2_000;

/**
 * Puts something before a person. While a review of the same kind and subject is open there is no second one; its
 * numbers are brought up to date, because a decision is taken on the numbers that were shown. A new one is told to the
 * alert address.
 */
export async function openReview(
  ctx: MutationCtx,
  finding: Pick<Doc<"reviews">, "kind" | "subject" | "accountId" | "detail"> & {
    late?: Doc<"reviews">["late"];
    nowMs: number;
  },
): Promise<void> {
  const { nowMs, late = null, ...review } = finding;
  const open = await ctx.db
    .query("reviews")
    .withIndex("by_kind_subject_status", (q) =>
      q.eq("kind", review.kind).eq("subject", review.subject).eq("status", "open"),
    )
    .first();
  if (open !== null) {
    if (open.detail !== review.detail) await ctx.db.patch(open._id, { detail: review.detail, late });
    return;
  }
  const undecided = { decision: null, decidedBy: null, decidedAtMs: null, note: null };
  await ctx.db.insert("reviews", { ...review, late, status: "open", openedAtMs: nowMs, ...undecided });
  await raiseAlert(ctx, { ...review, nowMs });
}

/** Whether somebody was told that the provider does not have this customer any more, and has answered or not. */
export async function isToldGone(
  ctx: Pick<QueryCtx, "db">,
  accountId: Doc<"accounts">["_id"],
): Promise<boolean> {
  const told = await ctx.db
    .query("reviews")
    .withIndex("by_kind_subject_status", (q) => q.eq("kind", "customer_gone").eq("subject", accountId))
    .first();
  return told !== null;
}

export const reviewValidator = v.object({
  id: v.string(),
  kind: v.string(),
  subject: v.string(),
  accountId: v.union(v.string(), v.null()),
  detail: v.string(),
  late: v.union(lateUsageValidator, v.null()),
  status: v.union(v.literal("open"), v.literal("decided")),
  openedAtMs: v.number(),
  decision: v.union(v.string(), v.null()),
  decidedBy: v.union(v.string(), v.null()),
  decidedAtMs: v.union(v.number(), v.null()),
  note: v.union(v.string(), v.null()),
});
type ReviewView = Infer<typeof reviewValidator>;

/** Newest first. */
export const list = operatorQuery({
  args: {
    status: v.union(v.literal("open"), v.literal("decided")),
    cursor: v.union(v.string(), v.null()),
    limit: v.number(),
  },
  returns: v.object({ reviews: v.array(reviewValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { status, cursor, limit }) => {
    if (checkUnits("limit", limit, { minimum: 1, maximum: LIST_LIMIT_MAX }) !== null) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const page = await ctx.db
      .query("reviews")
      .withIndex("by_status", (q) => q.eq("status", status))
      .order("desc")
      .paginate({ numItems: limit, cursor });
    return { reviews: page.page.map(viewReview), cursor: nextCursor(page) };
  },
});

export const decisionValidator = v.union(
  v.literal("carry_over"),
  v.literal("write_off"),
  v.literal("accept"),
);

/**
 * Decides a review. Late usage is booked and signed in this one transaction; of everything else a person can only say
 * that it was seen, with a note of what was done about it.
 */
export const decide = operatorMutation({
  args: {
    reviewId: v.string(),
    decision: decisionValidator,
    /** For late usage: what the closed meter is billed as. Left out where there is only one such number. */
    billedUnits: v.optional(v.number()),
    note: v.optional(v.string()),
  },
  returns: v.union(
    v.object({ kind: v.literal("decided"), review: reviewValidator, entries: v.number() }),
    v.object({ kind: v.literal("refused"), code: v.string(), message: v.string() }),
    notFoundValidator,
  ),
  handler: async (ctx, args) => {
    const id = ctx.db.normalizeId("reviews", args.reviewId);
    const review = id === null ? null : await ctx.db.get(id);
    if (review === null) return { kind: "not_found" as const };
    const note = args.note ?? null;
    if (note !== null && note.length > NOTE_LENGTH_MAX) {
      refuse("invalid", `note must have at most ${NOTE_LENGTH_MAX} characters`);
    }
    const nowMs = Date.now();
    const decided =
      review.late === null
        ? decideOther(review, args.decision, note)
        : await decideLate(ctx, review, review.late, args, nowMs);
    if (decided.kind === "refused") return decided;
    if (decided.kind === "decided") {
      const { decision } = args;
      const signed = { status: "decided" as const, decision, decidedBy: ctx.actor, decidedAtMs: nowMs, note };
      await ctx.db.patch(review._id, signed);
      await recordAct(ctx, {
        actor: ctx.actor,
        action: "review_decided",
        accountId: review.accountId,
        details: {
          reviewId: review._id,
          kind: review.kind,
          decision,
          units: decided.lateUnits,
          entries: decided.entries.length,
          note,
        },
        nowMs,
      });
    }
    const entries = decided.kind === "decided" ? decided.entries.length : 0;
    return { kind: "decided" as const, review: viewReview((await ctx.db.get(review._id))!), entries };
  },
});

function decideOther(review: Doc<"reviews">, decision: string, note: string | null): LateOutcome {
  if (review.status === "decided") return { kind: "already_decided" };
  if (decision !== "accept") {
    const message = `a review of the kind ${review.kind} has no usage to book: accept it`;
    return { kind: "refused", code: "not_late", message };
  }
  if (note === null || note.trim() === "") refuse("invalid", "note must say what was done about it");
  return { kind: "decided", lateUnits: 0, entries: [] };
}

async function decideLate(
  ctx: MutationCtx,
  review: Doc<"reviews">,
  late: NonNullable<Doc<"reviews">["late"]>,
  args: { decision: Infer<typeof decisionValidator>; billedUnits?: number },
  nowMs: number,
): Promise<LateOutcome> {
  const meterId = must(ctx.db.normalizeId("meters", review.subject), `${review.subject} is no meter`);
  const meter = must(await ctx.db.get(meterId), `meter ${meterId} is gone`);
  const account = must(await ctx.db.get(meter.accountId), `account ${meter.accountId} is gone`);
  // Two numbers are possible only where the last write had no answer; then the person has to say which.
  if (args.billedUnits === undefined && late.maybeSentUnits !== null && review.status === "open") {
    refuse("invalid", `billedUnits must say ${late.sentUnits} or ${late.maybeSentUnits}`);
  }
  const billedUnits = args.billedUnits ?? late.sentUnits;
  const current = meterAt(await meteredAccount(ctx, account), meter.feature, nowMs);
  const currentRow = args.decision === "carry_over" ? await openMeter(ctx, account, current) : null;
  const currentUnits = currentRow === null ? 0 : await ledgerUnitsOf(ctx, currentRow._id);
  const outcome = decideLateUsage(
    {
      reviewId: review._id,
      meter,
      closedAtMs: await closingOf(ctx, meter),
      late,
      decision: review.decision as Infer<typeof decisionValidator> | null,
    },
    { decision: args.decision, billedUnits },
    {
      ledgerUnits: await ledgerUnitsOf(ctx, meterId),
      current: { meter: current, ledgerUnits: currentUnits },
      nowMs,
    },
  );
  if (outcome.kind !== "decided") return outcome;
  for (const entry of outcome.entries) {
    const origin = { kind: entry.reason, reviewId: review._id };
    const { key, units, atMs } = entry;
    const place = meterKey(entry.meter) === meterKey(meter) ? meter : currentRow;
    await recordInMeter(
      ctx,
      must(place, "carried over without a current meter"),
      { key, units, atMs, origin },
      nowMs,
    );
  }
  await saveReportState(ctx, meterId, billedAs(await reportStateOf(ctx, meterId), billedUnits, nowMs));
  return outcome;
}

/** From now on the closed meter counts as billed with what the person said, and no attempt is open any more. */
function billedAs(state: ReportState, totalUnits: number, nowMs: number): ReportState {
  return {
    ...state,
    pending: null,
    confirmed: { totalUnits, atMs: nowMs },
    lastTotalUnits: totalUnits,
    lastOutcome: "confirmed",
    unsure: null,
    resend: false,
    attempts: 0,
    notBeforeMs: 0,
    error: null,
  };
}

export function viewReview(review: Doc<"reviews">): ReviewView {
  const { _id: id, _creationTime, ...fields } = review;
  return { id, ...fields };
}
