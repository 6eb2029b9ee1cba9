import { type Infer, v } from "convex/values";

import { cycleByName, nextCycle } from "../lib/ledger/cycle";
import { afterReadBack, afterSend, type Settled } from "../lib/ledger/report-outcome";
import { type LateUsage, nextStep, type Step } from "../lib/ledger/report";
import {
  FLUSH_SPAN_MS,
  lapsed,
  MARKS_PER_ROUND,
  nextFlushMs,
  withStraddler,
} from "../lib/ledger/report-state";
import { must } from "../lib/shared/assert";
import { MINUTE_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server";
import { markMeter, openMeter } from "./ledger";
import {
  closingOf,
  findMark,
  ledgerSumOf,
  ledgerUnitsOf,
  reportStateOf,
  saveReportState,
  setMark,
} from "./meterState";
import { meterTarget, meterTargetValidator } from "./providers";
import { openReview } from "./reviews";

/**
 * The transactions of the reporter: what is due, the claim of a meter with its counters, and what an answer changes.
 * All of them are decided by lib/ledger/report*.ts; here the rows are read and written.
 */

/** A provider that could not tell the agreements of an account is asked again this much later. */
const LEARN_AGAIN_MS = 5 * MINUTE_MS;
/** How far ahead a run looks for meters that close: until the next run, and a little more. */
const PLAN_AHEAD_MS = 90_000;
/** Instants at which meters close that one run plans for. Anchors of accounts are rarely closer than a second. */
const CLOSINGS_MAX = 100;
const METERS_MAX = 2_000;

type Reader = Pick<QueryCtx, "db">;

/** Meters to look at now: ended leases, then marks, those that have waited longest first. */
export const listDue = internalQuery({
  args: { accountId: v.union(v.id("accounts"), v.null()) },
  returns: v.array(v.id("meters")),
  handler: async (ctx, { accountId }) => {
    const nowMs = Date.now();
    if (accountId !== null) return await dueOfAccount(ctx, accountId, nowMs);
    const ended = await ctx.db
      .query("reports")
      .withIndex("by_lease", (q) => q.gt("leaseExpiresAtMs", 0).lte("leaseExpiresAtMs", nowMs))
      .take(MARKS_PER_ROUND);
    const marks = await ctx.db
      .query("marks")
      .withIndex("by_due", (q) => q.lte("dueAtMs", nowMs))
      .take(MARKS_PER_ROUND);
    const meterIds = [...ended, ...marks].map(({ meterId }) => meterId);
    return [...new Set(meterIds)].slice(0, MARKS_PER_ROUND);
  },
});

/** Whether any meter may be behind, due or not. */
export const hasMarks = internalQuery({
  args: {},
  returns: v.boolean(),
  handler: async (ctx) => (await ctx.db.query("marks").first()) !== null,
});

async function dueOfAccount(ctx: Reader, accountId: Id<"accounts">, nowMs: number): Promise<Id<"meters">[]> {
  const meters = await ctx.db
    .query("meters")
    .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId))
    .take(METERS_MAX);
  const due: Id<"meters">[] = [];
  for (const { _id } of meters) {
    const mark = await findMark(ctx, _id);
    const pending = mark === null ? (await reportStateOf(ctx, _id)).pending : null;
    const dueAtMs = mark?.dueAtMs ?? pending?.leaseExpiresAtMs ?? Infinity;
    if (dueAtMs <= nowMs) due.push(_id);
  }
  return due.slice(0, MARKS_PER_ROUND);
}

const claimedValidator = v.union(
  v.object({
    kind: v.literal("send"),
    target: meterTargetValidator,
    totalUnits: v.number(),
    version: v.number(),
    startBeforeMs: v.number(),
  }),
  v.object({ kind: v.literal("read_back"), target: meterTargetValidator, version: v.number() }),
  /** Counted under no agreement; the provider may know one by now. */
  v.object({ kind: v.literal("learn"), accountId: v.id("accounts") }),
  v.object({ kind: v.literal("wait") }),
  v.object({ kind: v.literal("done") }),
  v.object({ kind: v.literal("unmetered") }),
  v.object({ kind: v.literal("review") }),
);
export type Claimed = Infer<typeof claimedValidator>;

/**
 * Takes a marked meter: reads its counters and does what the next step says, all in this transaction. `learnt` says
 * whether the agreements of its account were read in this run already, and if so whether that worked.
 */
export const claim = internalMutation({
  args: {
    meterId: v.id("meters"),
    learnt: v.union(v.literal("learnt"), v.literal("failed"), v.null()),
  },
  returns: claimedValidator,
  handler: async (ctx, { meterId, learnt }): Promise<Claimed> => {
    const nowMs = Date.now();
    const { meter, account } = await meterAndAccount(ctx, meterId);
    const stored = await reportStateOf(ctx, meterId);
    const closesAtMs = await closingOf(ctx, meter);
    const place = { agreementId: meter.agreementId, closesAtMs };
    const step = nextStep(stored, place, await ledgerUnitsOf(ctx, meterId), nowMs);
    if (step.kind === "unmetered" && learnt !== "learnt" && account.source !== "lab") {
      if (learnt === null) return { kind: "learn", accountId: account._id };
      await setMark(ctx, meterId, nowMs + LEARN_AGAIN_MS);
      return { kind: "wait" };
    }
    await applyStep(ctx, meter, account, step, stored, nowMs);
    if (step.kind !== "send" && step.kind !== "read_back") return { kind: step.kind };
    const target = await meterTarget(ctx, meter, account);
    const { kind, version } = step;
    if (kind === "read_back") return { kind, target, version };
    return { kind, target, version, totalUnits: step.totalUnits, startBeforeMs: step.startBeforeMs };
  },
});

/** What a step changes in the rows. The sender's claim of the reconciler comes through here as well. */
export async function applyStep(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  account: Doc<"accounts">,
  step: Step,
  stored: Doc<"reports">["state"],
  nowMs: number,
): Promise<void> {
  const meterId = meter._id;
  switch (step.kind) {
    case "send":
      await setMark(ctx, meterId, null);
      await saveReportState(ctx, meterId, step.state);
      return;
    case "read_back":
      await setMark(ctx, meterId, step.untilMs);
      await saveReportState(ctx, meterId, step.state);
      return;
    case "wait":
      await setMark(ctx, meterId, step.untilMs);
      break;
    case "review":
      await reviewLate(ctx, meter, step.late, nowMs);
      await setMark(ctx, meterId, null);
      break;
    case "done":
    case "unmetered":
      await setMark(ctx, meterId, null);
      break;
  }
  // A lease that has ended is not found again and again.
  const state = lapsed(stored, nowMs);
  if (state !== stored) await saveReportState(ctx, meterId, state);
  if ((step.kind === "done" || step.kind === "review") && step.straddled) {
    await writeOverNext(ctx, meter, account, nowMs);
  }
}

async function reviewLate(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  late: LateUsage,
  nowMs: number,
): Promise<void> {
  const decided = await ctx.db
    .query("reviews")
    .withIndex("by_kind_subject_status", (q) =>
      q.eq("kind", "late_usage").eq("subject", meter._id).eq("status", "decided"),
    )
    .order("desc")
    .first();
  // Accepted with this very total: it stays different, which somebody has signed.
  if (decided?.decision === "accept" && decided.late?.ledgerUnits === late.ledgerUnits) return;
  const maybe =
    late.maybeSentUnits === null ? "" : `, or ${late.maybeSentUnits}, which was sent without an answer`;
  const owed = late.ledgerUnits < 0 ? ": what was settled here belongs elsewhere by now" : "";
  await openReview(ctx, {
    kind: "late_usage",
    subject: meter._id,
    accountId: meter.accountId,
    detail:
      `${meter.feature} ${meter.cycle} closed with ${late.sentUnits} sent${maybe}; ` +
      `the ledger has ${late.ledgerUnits}${owed}`,
    late,
    nowMs,
  });
}

/** A write that crossed the end of its cycle was counted in the next one, whose meter is written over. */
async function writeOverNext(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  account: Doc<"accounts">,
  nowMs: number,
): Promise<void> {
  // Where the agreement has ended before its cycle there is no next meter for a write to land in.
  if ((await closingOf(ctx, meter)) < meter.cycleEndMs) return;
  const anchorMs = account.cycleAnchorMs;
  const cycle = must(cycleByName(anchorMs, meter.cycle), `${meter.cycle} is no cycle of ${account._id}`);
  const { accountId, agreementId, feature } = meter;
  const wanted = { accountId, agreementId, feature, cycle: nextCycle(anchorMs, cycle).name };
  const next = await openMeter(ctx, account, wanted);
  const state = await reportStateOf(ctx, next._id);
  await saveReportState(ctx, next._id, withStraddler(state, nowMs));
  await markMeter(ctx, next._id, nowMs);
}

export const outcomeValidator = v.union(
  v.object({ kind: v.literal("confirmed") }),
  v.object({
    kind: v.union(v.literal("failed"), v.literal("unknown")),
    retryAfterMs: v.union(v.number(), v.null()),
    error: v.string(),
  }),
  v.object({ kind: v.literal("not_started") }),
);

/** Books what became of a write. False when another sender has the meter by now. */
export const settleSend = internalMutation({
  args: { meterId: v.id("meters"), version: v.number(), outcome: outcomeValidator },
  returns: v.boolean(),
  handler: async (ctx, { meterId, version, outcome }) => {
    const nowMs = Date.now();
    const { meter } = await meterAndAccount(ctx, meterId);
    const closesAtMs = await closingOf(ctx, meter);
    const state = await reportStateOf(ctx, meterId);
    return await applySettled(ctx, meter, afterSend(state, version, outcome, { closesAtMs }, nowMs), nowMs);
  },
});

export const readingValidator = v.union(
  v.object({ kind: v.literal("read"), totalUnits: v.number() }),
  v.object({ kind: v.literal("unreadable"), error: v.string() }),
);

/** Books what a read-back showed. False when the meter was claimed meanwhile. */
export const settleReadBack = internalMutation({
  args: { meterId: v.id("meters"), version: v.number(), sentAtMs: v.number(), reading: readingValidator },
  returns: v.boolean(),
  handler: async (ctx, { meterId, version, ...read }) => {
    const nowMs = Date.now();
    const { meter } = await meterAndAccount(ctx, meterId);
    const state = await reportStateOf(ctx, meterId);
    const settled = afterReadBack(state, version, read, nowMs);
    // The mark stayed for the case that this run ended here; what it asked for is done.
    if (settled.kind === "settled")
      await setMark(ctx, meterId, await dueIfBehind(ctx, meterId, state, nowMs));
    return await applySettled(ctx, meter, settled, nowMs);
  },
});

/** Null when the ledger still has the total that was written last; else it is due at once. */
async function dueIfBehind(
  ctx: Reader,
  meterId: Id<"meters">,
  state: Doc<"reports">["state"],
  nowMs: number,
): Promise<number | null> {
  return (await ledgerUnitsOf(ctx, meterId)) === state.lastTotalUnits ? null : nowMs;
}

export async function applySettled(
  ctx: MutationCtx,
  meter: Doc<"meters">,
  settled: Settled,
  nowMs: number,
): Promise<boolean> {
  if (settled.kind === "stale") return false;
  const { state, markNotBeforeMs, review } = settled;
  await saveReportState(ctx, meter._id, state);
  if (markNotBeforeMs !== null) await markMeter(ctx, meter._id, markNotBeforeMs);
  if (review) {
    await openReview(ctx, {
      kind: "repeated_failure",
      subject: meter._id,
      accountId: meter.accountId,
      detail: `${meter.feature} ${meter.cycle} could not be reported ${state.attempts} times: ${state.error}`,
      nowMs,
    });
  }
  return true;
}

export const noteBelowZero = internalMutation({
  args: { meterId: v.id("meters") },
  returns: v.null(),
  handler: async (ctx, { meterId }) => {
    await reviewBelowZero(ctx, meterId);
    return null;
  },
});

/**
 * No run gets past an open meter that is below zero, so a person is told, and again only when the number is another one.
 * False when it is not below zero, or has closed: then it is late usage like any other.
 */
export async function reviewBelowZero(ctx: MutationCtx, meterId: Id<"meters">): Promise<boolean> {
  const units = await ledgerSumOf(ctx, meterId);
  if (units >= 0n) return false;
  const { meter } = await meterAndAccount(ctx, meterId);
  if ((await closingOf(ctx, meter)) <= Date.now()) return false;
  const { feature, cycle, accountId } = meter;
  const finding = { kind: "repeated_failure" as const, subject: meterId };
  const detail = `${feature} ${cycle} comes to ${units} units: more was taken back than was booked, and nothing is sent`;
  const decided = await ctx.db
    .query("reviews")
    .withIndex("by_kind_subject_status", (q) =>
      q.eq("kind", finding.kind).eq("subject", meterId).eq("status", "decided"),
    )
    .order("desc")
    .first();
  if (decided?.detail !== detail) await openReview(ctx, { ...finding, accountId, detail, nowMs: Date.now() });
  return true;
}

export async function meterAndAccount(
  ctx: Reader,
  meterId: Id<"meters">,
): Promise<{ meter: Doc<"meters">; account: Doc<"accounts"> }> {
  const meter = must(await ctx.db.get(meterId), `meter ${meterId} is gone`);
  const account = must(await ctx.db.get(meter.accountId), `account ${meter.accountId} is gone`);
  return { meter, account };
}

/**
 * Schedules the flushes until the next run for meters that close soon. Planned anew by each run, so nothing has to be
 * kept; two flushes at one instant are harmless, since a claim gives each meter to one of them, to send or to read back.
 */
export const planFlushes = internalMutation({
  args: {},
  returns: v.number(),
  handler: async (ctx) => {
    const nowMs = Date.now();
    const dueAtMs = new Set<number>();
    for (const closesAtMs of await closingsAfter(ctx, nowMs)) {
      let atMs = nextFlushMs(closesAtMs, nowMs);
      while (atMs !== null && atMs < nowMs + PLAN_AHEAD_MS) {
        dueAtMs.add(atMs);
        atMs = nextFlushMs(closesAtMs, atMs);
      }
    }
    for (const atMs of dueAtMs) await ctx.scheduler.runAt(atMs, internal.reporter.flush, {});
    return dueAtMs.size;
  },
});

/** The instants at which meters close within the flush span and the time until the next run, soonest first. */
async function closingsAfter(ctx: Reader, nowMs: number): Promise<number[]> {
  const closings: number[] = [];
  let afterMs = nowMs;
  // One read for each instant, however many meters close at it.
  while (closings.length < CLOSINGS_MAX) {
    const closesAtMs = await nextClosing(ctx, afterMs);
    if (closesAtMs === null || closesAtMs - FLUSH_SPAN_MS > nowMs + PLAN_AHEAD_MS) break;
    closings.push(closesAtMs);
    afterMs = closesAtMs;
  }
  return closings;
}

async function nextClosing(ctx: Reader, afterMs: number): Promise<number | null> {
  const meter = await ctx.db
    .query("meters")
    .withIndex("by_cycle_end", (q) => q.gt("cycleEndMs", afterMs))
    .first();
  const agreement = await ctx.db
    .query("agreements")
    .withIndex("by_until", (q) => q.gt("untilMs", afterMs))
    .first();
  const ends = [meter?.cycleEndMs, agreement?.untilMs].filter((endMs) => typeof endMs === "number");
  return ends.length === 0 ? null : Math.min(...ends);
}
