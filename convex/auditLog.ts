import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";

export interface Act {
  /** Who did it: a signed-in user's id, "operator key", or the name of the worker that repaired something. */
  readonly actor: string;
  readonly action: string;
  readonly accountId: Id<"accounts"> | null;
  readonly details: Doc<"audit">["details"];
  readonly nowMs: number;
}

/** Appends a line to the audit table, in the transaction of the act itself. */
export async function recordAct(ctx: MutationCtx, act: Act): Promise<void> {
  const { actor, action, accountId, details, nowMs } = act;
  await ctx.db.insert("audit", { actor, action, accountId, details, atMs: nowMs });
}
