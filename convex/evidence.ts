import { v } from "convex/values";

import { checkUnits } from "../lib/shared/units";
import { operatorQuery, refuse } from "./functions";
import { isAtProvider } from "./providers";
import { nextCursor } from "./rows";
import { evidenceStatusValidator, verdictValidator } from "./validators";

/** What the reconciler found, as it is kept: one row for each result that said something new about its meter. */

const LIST_LIMIT_MAX = 100;

const evidenceValidator = v.object({
  id: v.string(),
  meterId: v.string(),
  feature: v.string(),
  cycle: v.string(),
  agreementId: v.union(v.string(), v.null()),
  /** False: the account has no customer there, and what is called the meter is our own copy of the total. */
  isAtProvider: v.boolean(),
  ledgerUnits: v.number(),
  counterUnits: v.number(),
  sentUnits: v.union(v.number(), v.null()),
  meterUnits: v.union(v.number(), v.null()),
  readBackUnits: v.union(v.number(), v.null()),
  verdict: verdictValidator,
  status: evidenceStatusValidator,
  cause: v.union(v.string(), v.null()),
  error: v.union(v.string(), v.null()),
  atMs: v.number(),
  /** When it was found last: the same result of a later run adds no row. */
  seenAtMs: v.number(),
});

/** Of one account, newest first. An account that there is not has none. */
export const list = operatorQuery({
  args: { accountId: v.string(), cursor: v.union(v.string(), v.null()), limit: v.number() },
  returns: v.object({ evidence: v.array(evidenceValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { accountId, cursor, limit }) => {
    if (checkUnits("limit", limit, { minimum: 1, maximum: LIST_LIMIT_MAX }) !== null) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const id = ctx.db.normalizeId("accounts", accountId);
    if (id === null) return { evidence: [], cursor: null };
    const page = await ctx.db
      .query("evidence")
      .withIndex("by_account", (q) => q.eq("accountId", id))
      .order("desc")
      .paginate({ numItems: limit, cursor });
    const account = await ctx.db.get(id);
    const place = { isAtProvider: account !== null && isAtProvider(account) };
    const evidence = [];
    for (const row of page.page) {
      const {
        _id,
        _creationTime,
        accountId: _account,
        providerUnits: meterUnits,
        supersededAtMs: _,
        ...fields
      } = row;
      const seenAtMs = row.seenAtMs ?? row.atMs;
      const meter = (await ctx.db.get(row.meterId))!;
      const { feature, cycle, agreementId } = meter;
      evidence.push({ id: _id, feature, cycle, agreementId, ...place, meterUnits, ...fields, seenAtMs });
    }
    return { evidence, cursor: nextCursor(page) };
  },
});
