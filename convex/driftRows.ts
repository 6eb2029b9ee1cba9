import { type Infer, v } from "convex/values";

import {
  decideDrift,
  type DriftDecision,
  isGoneForGood,
  isSilent,
  parseSilenceHours,
  READS_APART_MS,
  repairEffects,
  type Sighting,
  SILENCE_HOURS_DEFAULT,
} from "../lib/inbox/drift";
import { RETENTION } from "../lib/retention/rules";
import { checkUnits } from "../lib/shared/units";
import { allowances } from "./allowances";
import { internal } from "./_generated/api";
import type { Doc, Id } from "./_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import { customerState } from "./customers";
import { writeEffects } from "./effects";
import { operatorQuery, refuse } from "./functions";
import { isToldGone, openReview } from "./reviews";
import { nextCursor } from "./rows";

/** The transactions of the drift check: what a reading means for an account, and what the readings say of webhooks. */

type Reader = Pick<QueryCtx, "db">;

const ACCOUNTS_PAGE = 50;
const LIST_LIMIT_MAX = 100;
/** Deliveries of the labs may be among the newest; past so many of them in a row they are taken for real ones. */
const ARRIVALS_LOOKED_AT = 50;

const checkedAccountValidator = v.object({ accountId: v.id("accounts"), customerId: v.string() });
export type CheckedAccount = Infer<typeof checkedAccountValidator>;

const accountsPageValidator = v.object({
  accounts: v.array(checkedAccountValidator),
  cursor: v.union(v.string(), v.null()),
});
export type AccountsPage = Infer<typeof accountsPageValidator>;

export const listAccounts = internalQuery({
  args: { cursor: v.union(v.string(), v.null()) },
  returns: accountsPageValidator,
  handler: async (ctx, { cursor }) => {
    const page = await ctx.db
      .query("accounts")
      .withIndex("by_throw_away_customer", (q) => q.eq("isThrowAway", undefined).gt("customerId", null))
      .paginate({ numItems: ACCOUNTS_PAGE, cursor });
    const accounts = page.page.flatMap((account) => checked(account) ?? []);
    return { accounts, cursor: nextCursor(page) };
  },
});

/** Null for an account that is not at the provider, or not any more. */
export const accountOf = internalQuery({
  args: { accountId: v.id("accounts") },
  returns: v.union(checkedAccountValidator, v.null()),
  handler: async (ctx, { accountId }) => checked(await ctx.db.get(accountId)),
});

/** A merged account has no customer id any more. */
function checked(account: Doc<"accounts"> | null): CheckedAccount | null {
  if (account === null || account.provider !== "kinde" || account.deletedAtMs !== null) return null;
  const { _id: accountId, customerId } = account;
  return customerId === null ? null : { accountId, customerId };
}

export const judgedValidator = v.object({
  kind: v.union(
    v.literal("same"),
    v.literal("sighted"),
    v.literal("waiting"),
    v.literal("repaired"),
    v.literal("skipped"),
  ),
  /** The plan before this check, and the one that the provider named. */
  beforePlanKey: v.string(),
  providerPlanKey: v.union(v.string(), v.null()),
});
export type Judged = Infer<typeof judgedValidator>;

/**
 * Decides over a reading and writes what it comes to, all on what is stored in this transaction: another check or an
 * event may have come between the question and its answer.
 */
export const judge = internalMutation({
  args: {
    accountId: v.id("accounts"),
    reading: v.object({
      sentAtMs: v.number(),
      planKey: v.union(v.string(), v.null()),
      subscribedAtMs: v.union(v.number(), v.null()),
      inForceIds: v.array(v.string()),
    }),
  },
  returns: judgedValidator,
  handler: async (ctx, { accountId, reading }) => {
    const nowMs = Date.now();
    const account = await ctx.db.get(accountId);
    const before = { beforePlanKey: account?.planKey ?? "", providerPlanKey: reading.planKey };
    if (account === null || checked(account) === null) return { kind: "skipped" as const, ...before };
    const state = await customerState(ctx, account);
    const row = await findSighting(ctx, accountId);
    const decision = decideDrift({
      accountId,
      state,
      factStoredAtMs: await newestFactStoredAtMs(ctx, accountId),
      freePlanKey: allowances().freePlanKey,
      reading,
      sighting: row,
      knownSinceMs: account.createdAtMs,
    });
    switch (decision.kind) {
      case "same":
        if (row !== null && row.firstSentAtMs <= reading.sentAtMs) {
          await ctx.db.delete(row._id);
          await keepEvidence(ctx, account, row, reading.sentAtMs, "gone", nowMs);
        }
        return { kind: "same" as const, ...before };
      case "wait":
        if (row !== null && decision.dropsSighting) await ctx.db.delete(row._id);
        return { kind: "waiting" as const, ...before };
      case "sighted":
        await saveSighting(ctx, accountId, row, decision.sighting);
        await ctx.scheduler.runAfter(READS_APART_MS, internal.drift.checkOne, { accountId });
        return { kind: "sighted" as const, ...before };
      case "repair": {
        const effects = repairEffects(state, decision.facts, allowances());
        const after = (await writeEffects(ctx, account, effects, nowMs)) ?? account;
        if (row !== null) await ctx.db.delete(row._id);
        const { planKey } = reading;
        const firstSentAtMs = row?.firstSentAtMs ?? reading.sentAtMs;
        const found = { firstSentAtMs, planKey, endedAgreementIds: decision.endedAgreementIds };
        await keepEvidence(ctx, account, found, reading.sentAtMs, "repaired", nowMs);
        await tellOfRepair(ctx, account, after.planKey, decision, nowMs);
        return { kind: "repaired" as const, ...before };
      }
    }
  },
});

/** Puts a customer whom the provider does not have any more before a person, once for good. */
export const noteGone = internalMutation({
  args: { accountId: v.id("accounts") },
  returns: v.null(),
  handler: async (ctx, { accountId }) => {
    const nowMs = Date.now();
    const account = await ctx.db.get(accountId);
    if (account === null || checked(account) === null) return null;
    if (!isGoneForGood(account.createdAtMs, nowMs) || (await isToldGone(ctx, accountId))) return null;
    const detail = `The provider does not know customer ${account.customerId} any more, and no event told of a deletion.`;
    await openReview(ctx, { kind: "customer_gone", subject: accountId, accountId, detail, nowMs });
    return null;
  },
});

async function tellOfRepair(
  ctx: MutationCtx,
  { _id: accountId, planKey: before }: Doc<"accounts">,
  after: string,
  { missedEvent, endedAgreementIds }: Extract<DriftDecision, { kind: "repair" }>,
  nowMs: number,
): Promise<void> {
  const details = { before, after, endedAgreements: endedAgreementIds.length, missedEvent };
  await recordAct(ctx, { actor: "drift", action: "plan_repaired", accountId, details, nowMs });
  if (!missedEvent) return;
  const what =
    before === after
      ? `ended ${endedAgreementIds.length} agreements of account ${accountId}`
      : `set the plan of account ${accountId} from ${before} to ${after}`;
  await alarm(ctx, `A drift check ${what}, as the provider had it. No webhook told of that.`, nowMs);
}

/** One is open at a time, about the tenant as a whole. */
async function alarm(ctx: MutationCtx, detail: string, nowMs: number): Promise<void> {
  const subject = process.env.KINDE_ISSUER_URL ?? "";
  await openReview(ctx, { kind: "missed_webhooks", subject, accountId: null, detail, nowMs });
}

async function keepEvidence(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { firstSentAtMs, planKey, endedAgreementIds }: Sighting,
  secondSentAtMs: number,
  outcome: Doc<"driftEvidence">["outcome"],
  nowMs: number,
): Promise<void> {
  await ctx.db.insert("driftEvidence", {
    accountId: account._id,
    beforePlanKey: account.planKey,
    providerPlanKey: planKey,
    endedAgreementIds: [...endedAgreementIds],
    firstSentAtMs,
    secondSentAtMs,
    outcome,
    atMs: nowMs,
  });
}

function findSighting(ctx: Reader, accountId: Id<"accounts">): Promise<Doc<"driftSightings"> | null> {
  return ctx.db
    .query("driftSightings")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .unique();
}

async function saveSighting(
  ctx: MutationCtx,
  accountId: Id<"accounts">,
  row: Doc<"driftSightings"> | null,
  { firstSentAtMs, planKey, endedAgreementIds }: Sighting,
): Promise<void> {
  const fields = { firstSentAtMs, planKey, endedAgreementIds: [...endedAgreementIds] };
  if (row === null) await ctx.db.insert("driftSightings", { accountId, ...fields });
  else await ctx.db.patch(row._id, fields);
}

async function newestFactStoredAtMs(ctx: Reader, accountId: Id<"accounts">): Promise<number | null> {
  const newest = await ctx.db
    .query("planChanges")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .order("desc")
    .first();
  return newest?.storedAtMs ?? null;
}

/** What a whole run saw of the webhooks. Nothing that could not be read is held against them. */
export const judgeWebhooks = internalMutation({
  args: {
    /** The newest subscription that the reading of any customer told. */
    newestSubscribedAtMs: v.union(v.number(), v.null()),
    /** Every endpoint of ours at the provider is switched off. */
    isDisabled: v.boolean(),
  },
  returns: v.null(),
  handler: async (ctx, { newestSubscribedAtMs, isDisabled }) => {
    const nowMs = Date.now();
    if (isDisabled) {
      const detail =
        "The provider has switched our webhook endpoint off, as it does after 72 hours of failures. " +
        "Find out why deliveries fail and switch it on again; drift checks go on meanwhile.";
      await alarm(ctx, detail, nowMs);
      return null;
    }
    const hours = parseSilenceHours(process.env.HOLDFAST_WEBHOOK_SILENCE_HOURS) ?? SILENCE_HOURS_DEFAULT;
    const lastMs = await lastArrivalMs(ctx, nowMs);
    if (lastMs === null || !isSilent(lastMs, newestSubscribedAtMs, hours, nowMs)) return null;
    const since = new Date(lastMs).toISOString();
    await alarm(
      ctx,
      `No webhook has arrived since ${since}, but customers have subscribed at the provider.`,
      nowMs,
    );
    return null;
  },
});

/**
 * Where no arrival is known, the first customer counts as the beginning, but no time of which the receipts are gone: what
 * was told then may have arrived. Null while there is no customer.
 */
async function lastArrivalMs(ctx: Reader, nowMs: number): Promise<number | null> {
  const newest = await ctx.db.query("receipts").withIndex("by_at").order("desc").take(ARRIVALS_LOOKED_AT);
  for (const { inboxEventId, atMs } of newest) {
    const event = await ctx.db.get(inboxEventId);
    const account = event === null || event.accountId === null ? null : await ctx.db.get(event.accountId);
    if (account?.source !== "lab") return atMs;
  }
  const [last] = newest.slice(-1);
  if (last !== undefined) return last.atMs;
  const first = await ctx.db
    .query("accounts")
    .withIndex("by_throw_away_customer", (q) => q.eq("isThrowAway", undefined).gt("customerId", null))
    .first();
  return first === null ? null : Math.max(first.createdAtMs, nowMs - RETENTION.receipts.keptMs);
}

const evidenceValidator = v.object({
  id: v.string(),
  accountId: v.string(),
  beforePlanKey: v.string(),
  providerPlanKey: v.union(v.string(), v.null()),
  endedAgreementIds: v.array(v.string()),
  firstSentAtMs: v.number(),
  secondSentAtMs: v.number(),
  /** "gone": what was seen once was not there any more, or had been told by then. */
  outcome: v.union(v.literal("repaired"), v.literal("gone")),
  atMs: v.number(),
});

/** Newest first; of one account or of all. */
export const list = operatorQuery({
  args: { accountId: v.optional(v.string()), cursor: v.union(v.string(), v.null()), limit: v.number() },
  returns: v.object({ evidence: v.array(evidenceValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { accountId, cursor, limit }) => {
    if (checkUnits("limit", limit, { minimum: 1, maximum: LIST_LIMIT_MAX }) !== null) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const id = accountId === undefined ? undefined : ctx.db.normalizeId("accounts", accountId);
    if (id === null) return { evidence: [], cursor: null };
    const rows = ctx.db.query("driftEvidence");
    const wanted = id === undefined ? rows : rows.withIndex("by_account", (q) => q.eq("accountId", id));
    const page = await wanted.order("desc").paginate({ numItems: limit, cursor });
    const evidence = page.page.map(({ _id, _creationTime, ...fields }) => ({ id: _id, ...fields }));
    return { evidence, cursor: nextCursor(page) };
  },
});
