import { type Infer, v } from "convex/values";

import { FEATURE_TOKENS } from "../lib/gate/types";
import { FEATURE_CLICKS } from "../lib/ledger/meter";
import { type LastReading, STANDINGS, standingOf } from "../lib/ledger/standing";
import { DAY_MS } from "../lib/shared/durations";
import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { ledgerUnitsOf, reportStateOf } from "./meterState";
import { isAtProvider } from "./providers";
import { evidenceStatusValidator, verdictValidator } from "./validators";

/** A meter with its three numbers and what can be said of it now (lib/ledger/standing.ts), for operators. */

type Reader = Pick<QueryCtx, "db">;

/** Newest first, of each feature: the cycle under way, those that may still be late, and plan changes between. */
const METERS_OF_FEATURE_MAX = 6;
/** As long as the reconciler looks at a meter that has closed. */
const CLOSED_SPAN_MS = 62 * DAY_MS;

export const standingValidator = v.union(...STANDINGS.map((standing) => v.literal(standing)));

export const meterStandingValidator = v.object({
  id: v.string(),
  feature: v.string(),
  cycle: v.string(),
  cycleEndMs: v.number(),
  agreementId: v.union(v.string(), v.null()),
  /** False: the account has no customer there, and what is called sent and read is our own copy of the total. */
  isAtProvider: v.boolean(),
  ledgerUnits: v.number(),
  /** The last total that the provider confirmed, and since when. */
  sent: v.union(v.object({ totalUnits: v.number(), atMs: v.number() }), v.null()),
  sendError: v.union(v.string(), v.null()),
  /** What the last run left the meter at; `atMs` is when that was found last. */
  reading: v.union(
    v.object({
      meterUnits: v.union(v.number(), v.null()),
      ledgerUnits: v.number(),
      status: evidenceStatusValidator,
      verdict: verdictValidator,
      error: v.union(v.string(), v.null()),
      atMs: v.number(),
    }),
    v.null(),
  ),
  standing: standingValidator,
});
export type MeterStanding = Infer<typeof meterStandingValidator>;

/** What the account itself is told of one of its meters, for lib/ledger/proof.ts. Errors of the provider are for operators. */
export const meterProofValidator = v.object({
  isAtProvider: v.boolean(),
  standing: standingValidator,
  reading: v.union(
    v.object({
      foundUnits: v.union(v.number(), v.null()),
      meterUnits: v.union(v.number(), v.null()),
      ledgerUnits: v.number(),
      status: evidenceStatusValidator,
      atMs: v.number(),
      isSeenAgain: v.boolean(),
    }),
    v.null(),
  ),
});

export async function proofOf(
  ctx: Reader,
  meter: Doc<"meters">,
  ledgerUnits: number,
): Promise<Infer<typeof meterProofValidator>> {
  const account = await ctx.db.get(meter.accountId);
  const isThere = account !== null && isAtProvider(account);
  const place = { isAtProvider: isThere };
  const { standing, found, reading } = await stand(ctx, meter, isThere, ledgerUnits);
  // A copy of ours is no reading of the provider.
  if (!isThere || found === null || reading === null) return { ...place, standing, reading: null };
  return { ...place, standing, reading: { ...reading, foundUnits: found.providerUnits } };
}

/** The meters of an account that a run looks at, the newest cycle first. */
export async function metersOf(
  ctx: Reader,
  accountId: Id<"accounts">,
  nowMs: number,
): Promise<MeterStanding[]> {
  const account = await ctx.db.get(accountId);
  const isThere = account !== null && isAtProvider(account);
  const meters: Doc<"meters">[] = [];
  for (const feature of [FEATURE_CLICKS, FEATURE_TOKENS]) {
    const rows = await ctx.db
      .query("meters")
      .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId).eq("feature", feature))
      .order("desc")
      .take(METERS_OF_FEATURE_MAX);
    meters.push(...rows.filter(({ cycleEndMs }) => cycleEndMs > nowMs - CLOSED_SPAN_MS));
  }
  const newestFirst = meters.toSorted((a, b) => b.cycleEndMs - a.cycleEndMs);
  return await Promise.all(newestFirst.map((meter) => view(ctx, meter, isThere)));
}

async function view(ctx: Reader, meter: Doc<"meters">, isThere: boolean): Promise<MeterStanding> {
  const { _id: id, feature, cycle, cycleEndMs, agreementId } = meter;
  const ledgerUnits = await ledgerUnitsOf(ctx, id);
  const { standing, found, reading, sent, sendError } = await stand(ctx, meter, isThere, ledgerUnits);
  const shown = found === null || reading === null ? null : shownReading(found, reading);
  const identity = { id, feature, cycle, cycleEndMs, agreementId, isAtProvider: isThere };
  return { ...identity, ledgerUnits, sent, sendError, reading: shown, standing };
}

/** What is known of a meter, and what follows from it. */
async function stand(
  ctx: Reader,
  { _id: meterId, agreementId }: Doc<"meters">,
  isThere: boolean,
  ledgerUnits: number,
) {
  const { confirmed: sent, error, lastOutcome } = await reportStateOf(ctx, meterId);
  const sendError =
    lastOutcome === "failed" || lastOutcome === "unknown" ? (error ?? "no answer came") : null;
  const found = await ctx.db
    .query("evidence")
    .withIndex("by_meter", (q) => q.eq("meterId", meterId))
    .order("desc")
    .first();
  const reading = found === null ? null : readingOf(found);
  const standing = standingOf({
    isMetered: agreementId !== null,
    isAtProvider: isThere,
    ledgerUnits,
    sent,
    sendError,
    reading,
    isAccepted: found?.status === "needs_review" && (await isDecided(ctx, meterId)),
  });
  return { standing, found, reading, sent, sendError };
}

/** A repair leaves the meter at what was read back, whether that was right or not. */
function readingOf({ readBackUnits, providerUnits, ledgerUnits, ...found }: Doc<"evidence">): LastReading {
  const { status, atMs, seenAtMs } = found;
  const meterUnits = readBackUnits ?? providerUnits;
  return { meterUnits, ledgerUnits, status, atMs: seenAtMs ?? atMs, isSeenAgain: seenAtMs !== undefined };
}

function shownReading({ verdict, error }: Doc<"evidence">, reading: LastReading) {
  const { meterUnits, ledgerUnits, status, atMs } = reading;
  return { meterUnits, ledgerUnits, status, atMs, verdict, error };
}

/** Whether a person has decided on what differs, and nothing new has been put before one. */
async function isDecided(ctx: Reader, subject: string): Promise<boolean> {
  let isSigned = false;
  for (const kind of ["late_usage", "closed_cycle_drift"] as const) {
    const open = await ctx.db
      .query("reviews")
      .withIndex("by_kind_subject_status", (q) =>
        q.eq("kind", kind).eq("subject", subject).eq("status", "open"),
      )
      .first();
    if (open !== null) return false;
    const decided = await ctx.db
      .query("reviews")
      .withIndex("by_kind_subject_status", (q) =>
        q.eq("kind", kind).eq("subject", subject).eq("status", "decided"),
      )
      .first();
    isSigned ||= decided !== null;
  }
  return isSigned;
}
