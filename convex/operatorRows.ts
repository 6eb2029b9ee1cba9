import { v } from "convex/values";

import type { Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";

/** What the operators' lists share: whose a row is, by name. */

export const ownerValidator = v.union(v.object({ id: v.string(), name: v.string() }), v.null());

export interface Owner {
  readonly id: string;
  readonly name: string;
}

/** Looks accounts up by id, each once. */
export function ownerReader(
  ctx: Pick<QueryCtx, "db">,
): (accountId: Id<"accounts"> | null) => Promise<Owner | null> {
  const known = new Map<Id<"accounts">, Owner | null>();
  return async (accountId) => {
    if (accountId === null) return null;
    const before = known.get(accountId);
    if (before !== undefined) return before;
    const account = await ctx.db.get(accountId);
    const owner = account === null ? null : { id: accountId, name: account.name };
    known.set(accountId, owner);
    return owner;
  };
}
