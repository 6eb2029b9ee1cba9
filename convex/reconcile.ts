import { type Infer, v } from "convex/values";

import {
  CAUSES,
  type Decision,
  decide,
  type Evidence,
  isRepeat,
  judgeReadBack,
  type RepairResult,
  statusOf,
} from "../lib/ledger/reconcile";
import { nextStep } from "../lib/ledger/report";
import { afterReadBack, afterSend, type Reading, type SendOutcome } from "../lib/ledger/report-outcome";
import { lapsed, withResend } from "../lib/ledger/report-state";
import { DAY_MS } from "../lib/shared/durations";
import type { Doc, Id } from "./_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "./_generated/server";
import { closingOf, ledgerUnitsOf, reportStateOf } from "./meterState";
import { isAtProvider, meterTarget, meterTargetValidator } from "./providers";
import {
  applySettled,
  applyStep,
  meterAndAccount,
  outcomeValidator,
  readingValidator,
  reviewBelowZero,
} from "./reports";
import { isToldGone, openReview } from "./reviews";
import { nextCursor } from "./rows";
import { evidenceStatusValidator, verdictValidator } from "./validators";

/**
 * The transactions of the reconciler for one meter: what it is, the judgement of what the provider showed, and what
 * became of a repair. Decided by lib/ledger/reconcile.ts.
 */

const ACCOUNTS_PAGE = 50;
const METERS_MAX = 2_000;
/** A meter that closed longer ago than this is not looked at any more: its invoice is out. */
const CLOSED_SPAN_MS = 62 * DAY_MS;

export const listAccounts = internalQuery({
  args: { cursor: v.union(v.string(), v.null()) },
  returns: v.object({ accountIds: v.array(v.id("accounts")), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("accounts")
      .withIndex("by_throw_away", (q) => q.eq("isThrowAway", undefined))
      .paginate({ numItems: ACCOUNTS_PAGE, cursor });
    const accounts = page.page.filter(({ source }) => source !== "lab");
    return { accountIds: accounts.map(({ _id }) => _id), cursor: nextCursor(page) };
  },
});

export const listMeters = internalQuery({
  args: { accountId: v.id("accounts") },
  returns: v.array(v.id("meters")),
  handler: async (ctx, { accountId }) => {
    const sinceMs = Date.now() - CLOSED_SPAN_MS;
    const meters = await ctx.db
      .query("meters")
      .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId))
      .take(METERS_MAX);
    return meters.filter(({ cycleEndMs }) => cycleEndMs > sinceMs).map(({ _id }) => _id);
  },
});

/** The meter before the provider is read. `version` and `isBusy` tell afterwards whether it was written meanwhile. */
export const look = internalQuery({
  args: { meterId: v.id("meters") },
  returns: v.object({
    target: meterTargetValidator,
    accountName: v.string(),
    version: v.number(),
    isBusy: v.boolean(),
    isClosed: v.boolean(),
    /** The customer was deleted, so the provider may have no meter any more. */
    isGone: v.boolean(),
  }),
  handler: async (ctx, { meterId }) => {
    const nowMs = Date.now();
    const { meter, account } = await meterAndAccount(ctx, meterId);
    const state = lapsed(await reportStateOf(ctx, meterId), nowMs);
    const target = await meterTarget(ctx, meter, account);
    const isClosed = nowMs >= target.closesAtMs;
    const isBusy = state.pending !== null;
    const isGone = account.deletedAtMs !== null || (await isToldGone(ctx, account._id));
    return { target, accountName: account.name, version: state.version, isBusy, isClosed, isGone };
  },
});

const factsFields = {
  ledgerUnits: v.number(),
  counterUnits: v.number(),
  sentUnits: v.union(v.number(), v.null()),
  providerUnits: v.union(v.number(), v.null()),
  verdict: verdictValidator,
  cause: v.union(v.string(), v.null()),
};
const factsValidator = v.object(factsFields);
export type Facts = Infer<typeof factsValidator>;

const resultValidator = v.object({
  ...factsFields,
  status: evidenceStatusValidator,
  readBackUnits: v.union(v.number(), v.null()),
  error: v.union(v.string(), v.null()),
  isNew: v.boolean(),
});
export type Result = Infer<typeof resultValidator>;

const judgedValidator = v.union(
  /** Somebody sent to the meter while it was read, or it has closed: look again. */
  v.object({ kind: v.literal("moved") }),
  v.object({ kind: v.literal("judged"), result: resultValidator }),
  v.object({
    kind: v.literal("repair"),
    facts: factsValidator,
    totalUnits: v.number(),
    version: v.number(),
    startBeforeMs: v.number(),
  }),
);
export type Judged = Infer<typeof judgedValidator>;

/** Judges what the provider showed, and claims the meter when it has to be written. */
export const judge = internalMutation({
  args: {
    meterId: v.id("meters"),
    version: v.number(),
    wasClosed: v.boolean(),
    rebuiltUnits: v.number(),
    reading: readingValidator,
  },
  returns: judgedValidator,
  handler: async (ctx, { meterId, version, wasClosed, rebuiltUnits, reading }): Promise<Judged> => {
    const nowMs = Date.now();
    const { meter, account } = await meterAndAccount(ctx, meterId);
    const stored = await reportStateOf(ctx, meterId);
    const state = lapsed(stored, nowMs);
    const closesAtMs = await closingOf(ctx, meter);
    const isClosed = nowMs >= closesAtMs;
    if (state.version !== version || state.pending !== null || isClosed !== wasClosed)
      return { kind: "moved" };

    const ledgerUnits = await ledgerUnitsOf(ctx, meterId);
    const counterUnits = ledgerUnits - rebuiltUnits;
    const decision = decide({ ledgerUnits, counterUnits, report: state, provider: reading, isClosed });
    const facts = factsOf(decision, reading, state.confirmed?.totalUnits ?? null, ledgerUnits, counterUnits);
    const { verdict } = decision;
    if (verdict !== "under_billed" && verdict !== "over_billed") {
      const error = reading.kind === "unreadable" ? reading.error : null;
      const status = statusOf(verdict, isAtProvider(account));
      const end = { status, readBackUnits: null, error };
      return { kind: "judged", result: await keep(ctx, meter, account, facts, end, nowMs) };
    }
    const place = { agreementId: meter.agreementId, closesAtMs };
    const resent = withResend(state);
    const step = nextStep(resent, place, ledgerUnits, nowMs);
    await applyStep(ctx, meter, account, step, stored, nowMs);
    if (step.kind === "send") {
      const { totalUnits, version: claimed, startBeforeMs } = step;
      return { kind: "repair", facts, totalUnits, version: claimed, startBeforeMs };
    }
    const waitSeconds = step.kind === "wait" ? Math.ceil((step.untilMs - nowMs) / 1000) : null;
    const wait = waitSeconds === null ? "it is closed" : `another ${waitSeconds} s have to pass`;
    const end = {
      status: "error" as const,
      readBackUnits: null,
      error: `not written: ${wait}`,
    };
    return { kind: "judged", result: await keep(ctx, meter, account, facts, end, nowMs) };
  },
});

/** Books what became of a repair, for the sender and as evidence, in one transaction. */
export const settleRepair = internalMutation({
  args: {
    meterId: v.id("meters"),
    version: v.number(),
    totalUnits: v.number(),
    facts: factsValidator,
    outcome: outcomeValidator,
    readSentAtMs: v.number(),
    reading: v.union(readingValidator, v.null()),
  },
  returns: resultValidator,
  handler: async (ctx, { meterId, version, totalUnits, facts, outcome, readSentAtMs, reading }) => {
    const nowMs = Date.now();
    const { meter, account } = await meterAndAccount(ctx, meterId);
    const closesAtMs = await closingOf(ctx, meter);
    const repair = repairOf(totalUnits, outcome, reading);
    const state = await reportStateOf(ctx, meterId);
    // What was confirmed and then not seen may have been overtaken: the reporter reads it back until it is right.
    const booked = wasSeen(repair) || outcome.kind !== "confirmed" ? outcome : unseen(repair);
    const sent = afterSend(state, version, booked, { closesAtMs }, nowMs);
    if (!(await applySettled(ctx, meter, sent, nowMs))) {
      const error = "another sender took the meter before the repair was over";
      const end = { status: "error" as const, readBackUnits: null, error };
      return await keep(ctx, meter, account, facts, end, nowMs);
    }
    if (sent.kind === "settled" && booked.kind === "unknown" && reading !== null && wasSeen(repair)) {
      const read = { sentAtMs: readSentAtMs, reading };
      await applySettled(ctx, meter, afterReadBack(sent.state, version, read, nowMs), nowMs);
    }
    const error = repair.status === "error" ? repair.error : null;
    const { status, readBackUnits } = repair;
    return await keep(ctx, meter, account, facts, { status, readBackUnits, error }, nowMs);
  },
});

/** A meter that cannot be reconciled at all goes to a person. */
export const noteBroken = internalMutation({
  args: { meterId: v.id("meters"), detail: v.string() },
  returns: v.null(),
  handler: async (ctx, { meterId, detail }) => {
    if (await reviewBelowZero(ctx, meterId)) return null;
    const meter = await ctx.db.get(meterId);
    const accountId = meter?.accountId ?? null;
    const finding = { kind: "repeated_failure" as const, subject: meterId, accountId };
    await openReview(ctx, { ...finding, detail: `not reconciled: ${detail}`, nowMs: Date.now() });
    return null;
  },
});

function repairOf(totalUnits: number, outcome: SendOutcome, reading: Reading | null): RepairResult {
  if (reading !== null) return judgeReadBack(totalUnits, reading);
  const why = outcome.kind === "failed" ? outcome.error : "it was too late to write";
  return { status: "error", readBackUnits: null, error: `${totalUnits} was not written: ${why}` };
}

function wasSeen(repair: RepairResult): boolean {
  return repair.status === "repaired_and_confirmed";
}

function unseen(repair: RepairResult): SendOutcome {
  return { kind: "unknown", retryAfterMs: null, error: repair.status === "error" ? repair.error : "" };
}

function factsOf(
  { verdict, cause }: Decision,
  reading: Reading,
  sentUnits: number | null,
  ledgerUnits: number,
  counterUnits: number,
): Facts {
  return {
    ledgerUnits,
    counterUnits,
    sentUnits,
    providerUnits: reading.kind === "read" ? reading.totalUnits : null,
    verdict,
    cause: cause === null ? null : CAUSES[cause],
  };
}

/** Keeps a result as evidence; where the last row of the meter says the same already, that it was seen again. */
async function keep(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  account: Doc<"accounts">,
  facts: Facts,
  end: Pick<Doc<"evidence">, "status" | "readBackUnits" | "error">,
  nowMs: number,
): Promise<Result> {
  const previous = await ctx.db
    .query("evidence")
    .withIndex("by_meter", (q) => q.eq("meterId", meter._id))
    .order("desc")
    .first();
  const place = { isAtProvider: isAtProvider(account) };
  const next: Evidence = { ...facts, status: end.status, ...place };
  const isNew = !isRepeat(previous === null ? null : { ...previous, ...place }, next);
  if (!isNew && previous !== null) await ctx.db.patch(previous._id, { seenAtMs: nowMs });
  if (isNew && previous?.verdict === "match") await ctx.db.patch(previous._id, { supersededAtMs: nowMs });
  if (isNew) {
    const { _id: meterId, accountId } = meter;
    await ctx.db.insert("evidence", { accountId, meterId, ...facts, ...end, atMs: nowMs });
    if (end.status === "needs_review") await reviewDrift(ctx, meter, facts, nowMs);
  }
  return { ...facts, ...end, isNew };
}

/** A closed meter is never written, so a person is told; not twice of what late usage has told, or was decided on. */
async function reviewDrift(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  { ledgerUnits, providerUnits }: Facts,
  nowMs: number,
): Promise<void> {
  const subject: Id<"meters"> = meter._id;
  for (const status of ["open", "decided"] as const) {
    const late = await ctx.db
      .query("reviews")
      .withIndex("by_kind_subject_status", (q) =>
        q.eq("kind", "late_usage").eq("subject", subject).eq("status", status),
      )
      .order("desc")
      .first();
    if (late !== null && (status === "open" || late.late?.ledgerUnits === ledgerUnits)) return;
  }
  await openReview(ctx, {
    kind: "closed_cycle_drift",
    subject,
    accountId: meter.accountId,
    detail: `${meter.feature} ${meter.cycle} has closed: the meter shows ${providerUnits}, the ledger ${ledgerUnits}`,
    nowMs,
  });
}
