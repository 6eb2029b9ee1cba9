import { requireRefresh } from "../lib/gate/limit-cache";
import { JOBS_PER_MINUTE_DEFAULT } from "../lib/gate/rate";
import type { KnownAgreement } from "../lib/inbox/agreements";
import type { Effect } from "../lib/inbox/consequences";
import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Doc } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { insertAccount } from "./accounts";
import { rebookFrom } from "./agreements";
import { insertCredit } from "./creditRows";
import { findAgreement } from "./meterState";
import { openReview } from "./reviews";
import { findLimit } from "./rows";
import { buryAccount } from "./tombstone";

/** Writes what lib/inbox decided. The only writer of plan facts, payments, plans and grants. */

/**
 * Writes effects in their order, in the transaction of the caller, and returns the account as it is then stored; null
 * when no effect made one. Effects of the same decision are written together or not at all.
 */
export async function writeEffects(
  ctx: MutationCtx,
  account: Doc<"accounts"> | null,
  effects: readonly Effect[],
  nowMs: number,
): Promise<Doc<"accounts"> | null> {
  let current = account;
  for (const effect of effects) {
    current =
      effect.kind === "account"
        ? await identify(ctx, current, effect, nowMs)
        : await writeEffect(ctx, must(current, `the effect ${effect.kind} has no account`), effect, nowMs);
  }
  return current;
}

async function identify(
  ctx: MutationCtx,
  account: Doc<"accounts"> | null,
  { userId, customerId }: Extract<Effect, { kind: "account" }>,
  nowMs: number,
): Promise<Doc<"accounts">> {
  if (account !== null) {
    return await change(ctx, account, {
      kindeUserId: account.kindeUserId ?? userId,
      customerId: account.customerId ?? customerId,
    });
  }
  const accountId = await insertAccount(ctx, {
    name: "Customer",
    email: null,
    source: "event",
    kindeUserId: userId,
    customerId,
    anchorMs: null,
    jobsPerMinute: JOBS_PER_MINUTE_DEFAULT,
    limitUnits: undefined,
    nowMs,
  });
  return must(await ctx.db.get(accountId), "an account that was just made");
}

async function writeEffect(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  effect: Exclude<Effect, { kind: "account" }>,
  nowMs: number,
): Promise<Doc<"accounts">> {
  const accountId = account._id;
  switch (effect.kind) {
    case "plan_fact":
      await ctx.db.insert("planChanges", { accountId, ...effect.fact, storedAtMs: nowMs });
      return account;
    case "payment_fact":
      await ctx.db.insert("payments", { accountId, ...effect.fact, storedAtMs: nowMs });
      return account;
    case "agreement":
      await writeAgreement(ctx, account, effect.agreement);
      return account;
    case "plan":
      return await change(ctx, account, { planKey: effect.planKey, planSetBy: effect.planSetBy });
    case "credit":
      await insertCredit(ctx, accountId, effect.row, nowMs);
      return account;
    case "limit_read":
      await requireLimitRead(ctx, account, nowMs);
      return account;
    case "anchor":
      await readSubscription(ctx, account);
      return await change(ctx, account, {
        cycleAnchorMs: effect.anchorMs,
        cycleAnchorSource: "agreement",
      });
    case "overdue":
      return await change(ctx, account, { overdueSinceMs: effect.sinceMs });
    case "profile": {
      const { email, atNs, eventId } = effect;
      const name = email ?? account.name;
      return await change(ctx, account, { profile: { email, atNs, eventId }, email, name });
    }
    case "tombstone":
      return await buryAccount(ctx, account, effect.deletedAtMs, nowMs);
    case "review": {
      const { review: kind, subject } = effect;
      const detail = `A billing event names the plan "${subject}", which HOLDFAST_ALLOWANCES does not list. It is set and worth no credits.`;
      await openReview(ctx, { kind, subject, accountId, detail, nowMs });
      return account;
    }
  }
}

async function change(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  fields: Partial<Doc<"accounts">>,
): Promise<Doc<"accounts">> {
  await ctx.db.patch(account._id, fields);
  return { ...account, ...fields };
}

/**
 * The provider's own start of the cycles outranks what an event tells of it, and has to be known before the first click
 * or job freezes where they start here. Nobody may ever sign in to this account, so it is read now.
 */
async function readSubscription(ctx: MutationCtx, account: Doc<"accounts">): Promise<void> {
  const { _id: accountId, provider, isThrowAway } = account;
  if (provider !== "kinde" || isThrowAway === true) return;
  await ctx.scheduler.runAfter(0, internal.limits.readInBackground, { accountId });
}

/** What was booked since the instant that changed may lie in another meter than the one it belongs to. */
async function writeAgreement(
  ctx: MutationCtx,
  account: Doc<"accounts">,
  { agreementId, planKey, fromMs, untilMs }: KnownAgreement,
): Promise<void> {
  const row = await findAgreement(ctx, agreementId);
  if (row === null) {
    await ctx.db.insert("agreements", { accountId: account._id, agreementId, planKey, fromMs, untilMs });
    await rebookFrom(ctx, account, fromMs);
    return;
  }
  if (row.accountId !== account._id) throw new Error(`agreement ${agreementId} belongs to another account`);
  await ctx.db.patch(row._id, { planKey, fromMs, untilMs });
  const moved = [
    ...(row.fromMs === fromMs ? [] : [row.fromMs, fromMs]),
    ...(row.untilMs === untilMs ? [] : [row.untilMs ?? Infinity, untilMs ?? Infinity]),
  ];
  if (moved.length > 0) await rebookFrom(ctx, account, Math.min(...moved));
}

/** A limit that was never read needs no mark: the first admission reads it anyway. */
async function requireLimitRead(ctx: MutationCtx, account: Doc<"accounts">, nowMs: number): Promise<void> {
  const limit = await findLimit(ctx, account._id);
  if (limit === null) return;
  const { refreshRequiredAtMs } = requireRefresh(limit, nowMs);
  await ctx.db.patch(limit._id, { refreshRequiredAtMs });
}
