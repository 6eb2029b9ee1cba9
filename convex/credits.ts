import { v } from "convex/values";

import { periodAt } from "../lib/inbox/allowance";
import { consequencesOf } from "../lib/inbox/consequences";
import { type CreditBalance, creditBalance } from "../lib/inbox/reminders";
import { allowances } from "./allowances";
import { creditsOfPeriod } from "./creditRows";
import { customerState, settleFacts } from "./customers";
import { accountMutation, accountQuery } from "./functions";
import { afterArgs } from "./validators";

/** The credits of the current month, UTC. They come with the first look at them, when no event brought them before. */

const balanceValidator = v.object({
  period: v.string(),
  grantedUnits: v.number(),
  takenUnits: v.number(),
  returnedUnits: v.number(),
  leftUnits: v.number(),
  nextPeriodStartMs: v.number(),
});

/** What is left, also before the grant of the month is written. */
export const balance = accountQuery({
  scope: "usage:read",
  args: afterArgs,
  returns: balanceValidator,
  handler: async (ctx): Promise<CreditBalance> => {
    const { account } = ctx.principal;
    const period = periodAt(Date.now());
    const { effects } = consequencesOf(await customerState(ctx, account), allowances(), [period]);
    const missing = effects.flatMap((effect) => (effect.kind === "credit" ? effect.row : []));
    return creditBalance(period, [...(await creditsOfPeriod(ctx, account._id, period)), ...missing]);
  },
});

/** Writes the grant of the month when it is missing. A page calls it once, and again when the next month begins. */
export const ensure = accountMutation({
  scope: "usage:read",
  args: {},
  returns: balanceValidator,
  handler: async (ctx): Promise<CreditBalance> => {
    const { account } = ctx.principal;
    const nowMs = Date.now();
    const period = periodAt(nowMs);
    await settleFacts(ctx, account, [period], nowMs);
    return creditBalance(period, await creditsOfPeriod(ctx, account._id, period));
  },
});
