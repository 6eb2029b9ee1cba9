import { stream } from "convex-helpers/server/stream";
import { v } from "convex/values";

import type { Doc } from "./_generated/dataModel";
import { accountQuery } from "./functions";
import { reminderValidator, statusValidator, viewReminder } from "./reminders";
import { hasPart, nextCursor } from "./rows";
import schema from "./schema";

/** Reminders as their screen shows them. */

const PAGE = 20;
/** A page looks through this many rows at most; one with a filter may be short and still have a next one. */
const ROWS_READ_MAX = 1_000;
/** Delivered ones that are looked through for what is unread. */
const DELIVERED_READ_MAX = 100;
/** Newest arrivals that are told apart from those a screen has told of. */
const ARRIVALS_MAX = 5;

/** With the status `waiting` what is due next comes first, otherwise the latest due. */
export const recent = accountQuery({
  scope: "usage:read",
  args: {
    status: v.optional(statusValidator),
    /** Only delivered ones that nobody has marked as read. */
    isUnread: v.boolean(),
    /** Part of the message, whatever its case. */
    text: v.optional(v.string()),
    cursor: v.union(v.string(), v.null()),
  },
  returns: v.object({ reminders: v.array(reminderValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { status: asked, isUnread, text, cursor }) => {
    const { accountId } = ctx.principal;
    const status = isUnread ? "delivered" : asked;
    const table = stream(ctx.db, schema).query("reminders");
    const ordered =
      status === undefined
        ? table.withIndex("by_account", (q) => q.eq("accountId", accountId)).order("desc")
        : table
            .withIndex("by_account_status", (q) => q.eq("accountId", accountId).eq("status", status))
            .order(status === "waiting" ? "asc" : "desc");
    const page = await ordered
      .filterWith(async (row) => (!isUnread || isNew(row)) && hasPart([row.text], text))
      .paginate({ cursor, numItems: PAGE, maximumRowsRead: ROWS_READ_MAX });
    return { reminders: page.page.map(viewReminder), cursor: nextCursor(page) };
  },
});

/** What has arrived: the newest, and how many of the last hundred are unread. */
export const arrivals = accountQuery({
  scope: "usage:read",
  args: {},
  returns: v.object({ newest: v.array(reminderValidator), unread: v.number() }),
  handler: async (ctx) => {
    const delivered = await ctx.db
      .query("reminders")
      .withIndex("by_account_status", (q) =>
        q.eq("accountId", ctx.principal.accountId).eq("status", "delivered"),
      )
      .order("desc")
      .take(DELIVERED_READ_MAX);
    // One whose delivery was late is newer than its place by due time says.
    const byArrival = delivered.toSorted((one, other) => arrivedAtMs(other) - arrivedAtMs(one));
    return {
      newest: byArrival.slice(0, ARRIVALS_MAX).map(viewReminder),
      unread: delivered.filter(isNew).length,
    };
  },
});

function isNew({ status, readAtMs }: Doc<"reminders">): boolean {
  return status === "delivered" && readAtMs === null;
}

function arrivedAtMs({ deliveredAtMs, dueAtMs }: Doc<"reminders">): number {
  return deliveredAtMs ?? dueAtMs;
}
