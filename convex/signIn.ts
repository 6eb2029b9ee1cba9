import { v } from "convex/values";

import { JOBS_PER_MINUTE_DEFAULT } from "../lib/gate/rate";
import { must } from "../lib/shared/assert";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import { internalMutation } from "./_generated/server";
import { insertAccount } from "./accounts";
import { settleFacts } from "./customers";
import { signedInAction, signedInQuery } from "./functions";
import { kindeClient } from "./kinde";
import { refreshLimit } from "./limits";
import { mergeAccounts } from "./mergeAccounts";
import { findAccountOfCustomer, findAccountOfUser } from "./rows";
import { providerValidator } from "./validators";

/** Sign-in: whoever holds a valid token gets exactly one account, however many tabs ask at once. */

const accountViewValidator = v.object({
  id: v.string(),
  name: v.string(),
  email: v.union(v.string(), v.null()),
  provider: providerValidator,
  /** What the billing events come to. */
  planKey: v.string(),
  overdueSinceMs: v.union(v.number(), v.null()),
  isOperator: v.boolean(),
  /** Nothing else of a deleted account can be read. */
  deletedAtMs: v.union(v.number(), v.null()),
});

/** The account of the caller; null until `enter` has made it. */
export const me = signedInQuery({
  args: {},
  returns: v.union(accountViewValidator, v.null()),
  handler: async (ctx) => {
    const { kindeUserId, isOperator } = ctx.signedIn;
    const account = await findAccountOfUser(ctx, kindeUserId);
    // A billing event may have made it before the first sign-in, which still has to enter it.
    if (account === null || (account.source === "event" && account.deletedAtMs === null)) return null;
    const { _id: id, name, email, provider } = account;
    const { planKey, overdueSinceMs, deletedAtMs } = account;
    return { id, name, email, provider, planKey, overdueSinceMs, isOperator, deletedAtMs };
  },
});

/**
 * Makes the account of the caller, or finds it. The customer id is read first, so that an account which a billing
 * event made before the first sign-in is found by it. A provider that does not answer does not keep anybody out: the
 * account is then made without a customer id, which the next limit read looks up.
 */
export const enter = signedInAction({
  args: {},
  returns: v.object({ accountId: v.string() }),
  handler: async (ctx): Promise<{ accountId: string }> => {
    const { kindeUserId } = ctx.signedIn;
    const known: { accountId: Id<"accounts">; isComplete: boolean; isDeleted: boolean } | null =
      await ctx.runQuery(internal.accounts.ofUser, { kindeUserId });
    // A deletion stands: the same sign-in neither brings the account back nor opens another one.
    if (known !== null && (known.isComplete || known.isDeleted)) return { accountId: known.accountId };
    const found = await kindeClient(ctx).findCustomer({ userId: kindeUserId });
    const customer = found.kind === "found" ? found : { customerId: null, email: null };
    const accountId: Id<"accounts"> = await ctx.runMutation(internal.signIn.link, {
      kindeUserId,
      customerId: customer.customerId,
      email: customer.email,
    });
    await refreshLimit(ctx, accountId);
    // Events of the time before the customer was known here may have gone nowhere.
    if (customer.customerId !== null) await ctx.scheduler.runAfter(0, internal.drift.checkOne, { accountId });
    return { accountId };
  },
});

/**
 * The one place that ties a user and a customer to an account. Looks both ids up: none found makes a row, one found is
 * completed, two found are merged, all in this transaction.
 */
export const link = internalMutation({
  args: {
    kindeUserId: v.string(),
    customerId: v.union(v.string(), v.null()),
    email: v.union(v.string(), v.null()),
  },
  returns: v.id("accounts"),
  handler: async (ctx, { kindeUserId, customerId, email }) => {
    const nowMs = Date.now();
    const byUser = await findAccountOfUser(ctx, kindeUserId);
    const byCustomer = customerId === null ? null : await findAccountOfCustomer(ctx, customerId);
    if (byUser !== null && byCustomer !== null && byUser._id !== byCustomer._id) {
      await mergeAccounts(ctx, { survivor: byUser, merged: byCustomer, actor: "sign-in", nowMs });
      const survivor = must(await ctx.db.get(byUser._id), `account ${byUser._id} is gone`);
      await settleFacts(ctx, survivor, [], nowMs);
    }
    const known = byUser ?? byCustomer;
    if (known === null) {
      return await insertAccount(ctx, {
        name: email ?? "Customer",
        email,
        source: "sign_in",
        kindeUserId,
        customerId,
        anchorMs: null,
        jobsPerMinute: JOBS_PER_MINUTE_DEFAULT,
        limitUnits: undefined,
        nowMs,
      });
    }
    // Of a deleted customer nothing is learnt any more; an event that told the email is newer than a sign-in.
    const current = must(await ctx.db.get(known._id), `account ${known._id} is gone`);
    const shown = current.deletedAtMs !== null || current.profile !== null ? null : email;
    await ctx.db.patch(known._id, {
      source: current.source === "event" ? "sign_in" : current.source,
      kindeUserId,
      customerId: customerId ?? current.customerId,
      email: shown ?? current.email,
      name: shown ?? current.name,
    });
    return known._id;
  },
});
