import type { CreditRow } from "../lib/inbox/allowance";
import {
  type CustomerAccount,
  type CustomerState,
  consequencesOf,
  type Effect,
  UNKNOWN_CUSTOMER,
} from "../lib/inbox/consequences";
import type { Subject } from "../lib/inbox/read-event";
import { must } from "../lib/shared/assert";
import { allowances } from "./allowances";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { writeEffects } from "./effects";
import { mergeAccounts } from "./mergeAccounts";
import { findAccountOfCustomer, findAccountOfUser } from "./rows";

/** What is known of a customer, as lib/inbox decides over it. */

/** Facts and grants of one account: a few a month, for decades. */
const FACTS_MAX = 4_000;

type Reader = Pick<QueryCtx, "db">;

/** The account of a customer as far as it is known now. Writes nothing. */
export async function knownAccount(
  ctx: Reader,
  { userId, customerId }: Subject,
): Promise<Doc<"accounts"> | null> {
  const byUser = userId === null ? null : await findAccountOfUser(ctx, userId);
  return byUser ?? (customerId === null ? null : await findAccountOfCustomer(ctx, customerId));
}

/** The account that an event is about. Two rows that turn out to be one customer are merged on the way. */
export async function findSubject(
  ctx: MutationCtx,
  { userId, customerId }: Subject,
  nowMs: number,
): Promise<Doc<"accounts"> | null> {
  const byUser = userId === null ? null : await findAccountOfUser(ctx, userId);
  const byCustomer = customerId === null ? null : await findAccountOfCustomer(ctx, customerId);
  if (byUser === null || byCustomer === null || byUser._id === byCustomer._id) return byUser ?? byCustomer;
  await mergeAccounts(ctx, { survivor: byUser, merged: byCustomer, actor: "inbox", nowMs });
  await settleFacts(ctx, must(await ctx.db.get(byUser._id), `account ${byUser._id} is gone`), [], nowMs);
  return must(await ctx.db.get(byUser._id), `account ${byUser._id} is gone`);
}

export async function customerState(ctx: Reader, account: Doc<"accounts"> | null): Promise<CustomerState> {
  if (account === null) return UNKNOWN_CUSTOMER;
  const accountId = account._id;
  const planRows = await ctx.db
    .query("planChanges")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .take(FACTS_MAX + 1);
  const paymentRows = await ctx.db
    .query("payments")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .take(FACTS_MAX + 1);
  const agreementRows = await ctx.db
    .query("agreements")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .take(FACTS_MAX + 1);
  const grants = await grantsOf(ctx, accountId);
  for (const rows of [planRows, paymentRows, agreementRows, grants]) {
    if (rows.length > FACTS_MAX) throw new Error(`account ${accountId} has more than ${FACTS_MAX} facts`);
  }
  return {
    account: viewAccount(account),
    planFacts: planRows.map(({ eventId, kind, atNs, planKey, agreementId }) => {
      return { eventId, kind, atNs, planKey, agreementId };
    }),
    paymentFacts: paymentRows.map(({ eventId, kind, atNs }) => ({ eventId, kind, atNs })),
    agreements: agreementRows.map(({ agreementId, planKey, fromMs, untilMs }) => {
      return { agreementId, planKey, fromMs, untilMs };
    }),
    grants,
  };
}

/**
 * Brings the rows of an account to what its facts come to: after a merge, a drift check, or before a balance is shown,
 * which names the month that it needs the credits of.
 */
export async function settleFacts(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  neededPeriods: readonly string[],
  nowMs: number,
): Promise<readonly Effect[]> {
  const { effects } = consequencesOf(await customerState(ctx, account), allowances(), neededPeriods);
  await writeEffects(ctx, account, effects, nowMs);
  return effects;
}

async function grantsOf(ctx: Reader, accountId: Id<"accounts">): Promise<CreditRow[]> {
  const rows = await ctx.db
    .query("credits")
    .withIndex("by_account_reason", (q) => q.eq("accountId", accountId).eq("reason", "grant"))
    .take(FACTS_MAX + 1);
  return rows.map(({ period, units, reason, entryKey, planKey }) => {
    return { period, units, reason, entryKey, planKey };
  });
}

function viewAccount(account: Doc<"accounts">): CustomerAccount {
  return {
    userId: account.kindeUserId,
    customerId: account.customerId,
    planKey: account.planKey,
    planSetBy: account.planSetBy,
    anchor: {
      atMs: account.cycleAnchorMs,
      source: account.cycleAnchorSource,
      isFrozen: account.cycleAnchorFrozenAtMs !== null,
    },
    overdueSinceMs: account.overdueSinceMs,
    profile: account.profile,
    deletedAtMs: account.deletedAtMs,
  };
}
