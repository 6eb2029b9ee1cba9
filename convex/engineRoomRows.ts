import { type Infer, v } from "convex/values";

import { parseBody } from "../lib/inbox/event";
import { periodAt } from "../lib/inbox/allowance";
import { eventKeyOf } from "../lib/inbox/intake";
import { type ScenarioBody, scenarioBodies, type StepKind } from "../lib/inbox/scenario";
import { must } from "../lib/shared/assert";
import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { balanceIn } from "./creditRows";
import { findEventByKey } from "./inboxRows";
import { planAndBalanceValidator } from "./inboxValidators";

/** The rows of an Engine Room run: its customer and events, and what they come to. */

type Reader = Pick<QueryCtx, "db">;

/** Far above the deliveries of a run and the replays that somebody tries on it. */
const ROWS_MAX = 500;

/** The ids of the customer. No real customer has such ids, so no real event finds this account. */
export function customerIds(accountId: Id<"accounts">): { userId: string; customerId: string; run: string } {
  return {
    userId: `lab_user_${accountId}`,
    customerId: `lab_customer_${accountId}`,
    run: `lab_${accountId}`,
  };
}

export function bodiesOf({
  accountId,
  planKey,
  changedAtMs,
}: Doc<"engineRoomRuns">): Readonly<Record<StepKind, ScenarioBody>> {
  return scenarioBodies(customerIds(accountId), planKey, changedAtMs);
}

export async function planAndBalance(
  ctx: Reader,
  { accountId, changedAtMs }: Pick<Doc<"engineRoomRuns">, "accountId" | "changedAtMs">,
): Promise<Infer<typeof planAndBalanceValidator>> {
  const { planKey } = must(await ctx.db.get(accountId), `account ${accountId} is gone`);
  return { planKey, balanceUnits: await balanceIn(ctx, accountId, periodAt(changedAtMs)) };
}

export const pipelineValidator = v.object({
  ...planAndBalanceValidator.fields,
  /** Deliveries, events stored, and deliveries that were copies of one. */
  receipts: v.number(),
  stored: v.number(),
  copies: v.number(),
  /** Grants of the plan that the account changes to. */
  grants: v.number(),
  /** Events that were ignored. */
  ignored: v.number(),
});

/** What the pipeline made of the run so far. */
export async function viewPipeline(
  ctx: Reader,
  run: Doc<"engineRoomRuns">,
): Promise<Infer<typeof pipelineValidator>> {
  const events = await eventsOf(ctx, run);
  const credits = await ctx.db
    .query("credits")
    .withIndex("by_account_reason", (q) => q.eq("accountId", run.accountId).eq("reason", "grant"))
    .take(ROWS_MAX);
  let receipts = 0;
  for (const { _id: id } of events) receipts += (await receiptsOf(ctx, id)).length;
  return {
    ...(await planAndBalance(ctx, run)),
    receipts,
    stored: events.length,
    copies: events.reduce((sum, { seenCount }) => sum + seenCount - 1, 0),
    grants: credits.filter(({ planKey }) => planKey === run.planKey).length,
    ignored: events.filter(({ status }) => status === "ignored").length,
  };
}

/** Also those that no account was found for. */
export async function eventsOf(ctx: Reader, run: Doc<"engineRoomRuns">): Promise<Doc<"inboxEvents">[]> {
  const events = [];
  for (const body of Object.values(bodiesOf(run))) {
    const event = await findEventByKey(ctx, eventKeyOf({ body: parseBody(body), payloadHash: "" }));
    if (event !== null) events.push(event);
  }
  return events;
}

function receiptsOf(ctx: Reader, inboxEventId: Id<"inboxEvents">): Promise<Doc<"receipts">[]> {
  return ctx.db
    .query("receipts")
    .withIndex("by_event", (q) => q.eq("inboxEventId", inboxEventId))
    .take(ROWS_MAX);
}
