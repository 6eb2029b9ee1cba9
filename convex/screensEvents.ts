import { stream } from "convex-helpers/server/stream";
import { type Infer, v } from "convex/values";

import type { Doc } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { accountQuery } from "./functions";
import {
  CUSTOMER,
  detailValidator,
  EVENT_REPLAYED,
  eventViewValidator,
  findEvent,
  viewDetail,
  viewEvent,
} from "./inboxEvents";
import { eventStatusValidator } from "./inboxValidators";
import { hasPart, nextCursor } from "./rows";
import schema from "./schema";

/** The billing events of a customer as their screens show them. Replay is `inboxEvents.replay`. */

const PAGE = 20;
/** A page looks through this many rows at most; one with a filter may be short and still have a next one. */
const ROWS_READ_MAX = 1_000;

/** With the plan that the event is about, once its fact is stored. */
const ownEventValidator = v.object({
  ...eventViewValidator.fields,
  planKey: v.union(v.string(), v.null()),
});

/** Newest first. */
export const recent = accountQuery({
  scope: "usage:read",
  args: {
    status: v.optional(eventStatusValidator),
    type: v.optional(v.string()),
    /** Part of the id or the type, whatever its case. */
    text: v.optional(v.string()),
    cursor: v.union(v.string(), v.null()),
  },
  returns: v.object({ events: v.array(ownEventValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { status, type, text, cursor }) => {
    const page = await stream(ctx.db, schema)
      .query("inboxEvents")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId))
      .order("desc")
      .filterWith(async (row) => {
        if (status !== undefined && row.status !== status) return false;
        if (type !== undefined && row.type !== type) return false;
        return hasPart([`${row.eventId ?? ""} ${row.type ?? ""}`], text);
      })
      .paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    const events = [];
    for (const row of page.page) events.push(await viewOwn(ctx, row));
    return { events, cursor: nextCursor(page) };
  },
});

/** One own event with its body and its newest receipts. Somebody else's is not there at all. */
export const get = accountQuery({
  scope: "usage:read",
  args: { id: v.string() },
  returns: v.union(v.object({ ...detailValidator.fields, event: ownEventValidator }), v.null()),
  handler: async (ctx, { id }) => {
    const row = await findEvent(ctx, id);
    if (row === null || row.accountId !== ctx.principal.accountId) return null;
    return { ...(await viewDetail(ctx, row)), event: await viewOwn(ctx, row) };
  },
});

/** Replays are few; whoever replays more in a row reads the older ones in the audit. */
const ACTS_READ_MAX = 200;

const replayValidator = v.object({
  atMs: v.number(),
  by: v.union(v.literal("customer"), v.literal("operator")),
  before: v.string(),
  /** What it came to: the status that the next replay found, or the one it has now. */
  after: v.string(),
});
export type ReplayView = Infer<typeof replayValidator>;

/** Who had an own event applied again, and what came of it; the newest first. */
export const replays = accountQuery({
  scope: "usage:read",
  args: { id: v.string() },
  returns: v.array(replayValidator),
  handler: async (ctx, { id }) => {
    const { accountId } = ctx.principal;
    const row = await findEvent(ctx, id);
    if (row === null || row.accountId !== accountId) return [];
    const acts = await ctx.db
      .query("audit")
      .withIndex("by_account", (q) => q.eq("accountId", accountId))
      .order("desc")
      .take(ACTS_READ_MAX);
    const found: ReplayView[] = [];
    let after: string = row.status;
    for (const { action, actor, atMs, details } of acts) {
      if (action !== EVENT_REPLAYED || details["eventKey"] !== row.eventKey) continue;
      const before = String(details["before"]);
      found.push({ atMs, by: actor === CUSTOMER ? "customer" : "operator", before, after });
      after = before;
    }
    return found;
  },
});

async function viewOwn(
  ctx: Pick<QueryCtx, "db">,
  row: Doc<"inboxEvents">,
): Promise<Infer<typeof ownEventValidator>> {
  const { accountId, eventId } = row;
  const fact =
    accountId === null || eventId === null
      ? null
      : await ctx.db
          .query("planChanges")
          .withIndex("by_account_event", (q) => q.eq("accountId", accountId).eq("eventId", eventId))
          .first();
  return { ...viewEvent(row), planKey: fact === null ? null : await planOf(ctx, fact) };
}

/** The end of an agreement names only the agreement, so its plan is what the agreement was made for. */
async function planOf(
  ctx: Pick<QueryCtx, "db">,
  { accountId, kind, planKey, agreementId }: Doc<"planChanges">,
): Promise<string | null> {
  if (kind !== "agreement_cancelled" || agreementId === null) return planKey;
  const rows = ctx.db.query("agreements").withIndex("by_agreement", (q) => q.eq("agreementId", agreementId));
  for await (const row of rows) if (row.accountId === accountId) return row.planKey;
  return null;
}
