import { v } from "convex/values";

import { OVERDUE_BLOCK_DAYS_MAX, overdueBlock } from "../lib/gate/overdue";
import type { PaymentOverdue } from "../lib/gate/types";
import { checkUnits } from "../lib/shared/units";
import type { Doc } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { recordAct } from "./auditLog";
import { operatorMutation, operatorQuery, refuse } from "./functions";

/** What operators set for everybody. Until somebody does, nothing is blocked. */

type Reader = Pick<QueryCtx, "db">;

const settingsValidator = v.object({
  /** New jobs are refused once an invoice is overdue for so many days; null: never. */
  overdueBlockDays: v.union(v.number(), v.null()),
});

export const get = operatorQuery({
  args: {},
  returns: settingsValidator,
  handler: async (ctx) => ({ overdueBlockDays: (await findSettings(ctx))?.overdueBlockDays ?? null }),
});

export const setOverdueBlockDays = operatorMutation({
  args: { days: v.union(v.number(), v.null()) },
  returns: settingsValidator,
  handler: async (ctx, { days }) => {
    const fault = days === null ? null : checkUnits("days", days, { maximum: OVERDUE_BLOCK_DAYS_MAX });
    if (fault !== null) refuse("invalid", fault.message);
    const row = await findSettings(ctx);
    if (row === null) await ctx.db.insert("settings", { overdueBlockDays: days });
    else await ctx.db.patch(row._id, { overdueBlockDays: days });
    await recordAct(ctx, {
      actor: ctx.actor,
      action: "overdue_block_set",
      accountId: null,
      details: { before: row?.overdueBlockDays ?? null, after: days },
      nowMs: Date.now(),
    });
    return { overdueBlockDays: days };
  },
});

/**
 * The refusal of new jobs of a customer who owes; null when there is none. Whoever owes nothing costs no read, and an
 * admission no conflict with a change of the settings.
 */
export async function findBlock(
  ctx: Reader,
  { overdueSinceMs }: Doc<"accounts">,
  nowMs: number,
): Promise<PaymentOverdue | null> {
  if (overdueSinceMs === null) return null;
  return overdueBlock(overdueSinceMs, (await findSettings(ctx))?.overdueBlockDays ?? null, nowMs);
}

function findSettings(ctx: Reader): Promise<Doc<"settings"> | null> {
  return ctx.db.query("settings").first();
}
