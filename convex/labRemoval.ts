import type { Doc, Id, TableNames } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import { eventsOf } from "./engineRoomRows";

/**
 * Takes throw-away accounts of the labs away with every row that belongs to them, in batches that one transaction can
 * bear. Nothing of a customer is removed by it, and it is the only place that deletes entries of the ledger.
 */

/** Each removed row is read by its delete once more: together below the 4,096 reads of a function. */
const ROWS_AT_ONCE = 1_500;
/** A lab account has one meter a cycle, and no links. */
const PARENTS_MAX = 100;

const BY_ACCOUNT = [
  "jobs",
  "refusals",
  "billing",
  "agreements",
  "planChanges",
  "payments",
  "reminders",
  "evidence",
  "driftSightings",
  "driftEvidence",
  "reviews",
  "apiKeys",
  "audit",
] as const;
const BY_ACCOUNT_FEATURE = ["limits", "fixedLimits"] as const;
const BY_METER = ["marks", "reports", "fixedTotals"] as const;

interface Row {
  readonly _id: Id<TableNames>;
}

/** One transaction's part of a removal. When its room is used up the next one goes on. */
export class Removal {
  private room = ROWS_AT_ONCE;

  constructor(readonly ctx: MutationCtx) {}

  /** Whether everything so far is gone. */
  get isDone(): boolean {
    return this.room > 0;
  }

  async rows(take: (count: number) => Promise<readonly Row[]>): Promise<void> {
    if (this.room === 0) return;
    const rows = await take(this.room);
    for (const { _id: id } of rows) await this.ctx.db.delete(id);
    this.room -= rows.length;
  }

  /** A row after those that point at it, so that none is left behind without it. */
  async row(id: Id<TableNames>): Promise<void> {
    if (this.room === 0) return;
    await this.ctx.db.delete(id);
    this.room -= 1;
  }
}

/** Removes as much of a Concurrency Lab run as there is room for; the run itself last. */
export async function removeLabRun(removal: Removal, run: Doc<"labRuns">): Promise<void> {
  const { db } = removal.ctx;
  await removeRowsOf(removal, run.accountId);
  for (const table of ["labSteps", "labLanes"] as const) {
    await removal.rows((count) =>
      db
        .query(table)
        .withIndex("by_run", (q) => q.eq("labRunId", run._id))
        .take(count),
    );
  }
  await removeEnds(removal, run);
}

/** The same for a run of the Engine Room, whose account has billing events. */
export async function removeEngineRoomRun(removal: Removal, run: Doc<"engineRoomRuns">): Promise<void> {
  for (const event of await eventsOf(removal.ctx, run)) await removeEvent(removal, event);
  await removeRowsOf(removal, run.accountId);
  await removeEnds(removal, run);
}

/** Both in one transaction: a run that is listed has an account. */
async function removeEnds(removal: Removal, run: Doc<"labRuns"> | Doc<"engineRoomRuns">): Promise<void> {
  if (!removal.isDone) return;
  const { db } = removal.ctx;
  if ((await db.get(run.accountId)) !== null) await db.delete(run.accountId);
  await db.delete(run._id);
}

async function removeRowsOf(removal: Removal, accountId: Id<"accounts">): Promise<void> {
  const { db } = removal.ctx;
  // Budget, jobs and entries first and together: the audit compares them, and must not see the one without the others.
  for (const table of ["budgets", "entries"] as const) {
    await removal.rows((count) =>
      db
        .query(table)
        .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId))
        .take(count),
    );
  }
  for (const table of BY_ACCOUNT) {
    await removal.rows((count) =>
      db
        .query(table)
        .withIndex("by_account", (q) => q.eq("accountId", accountId))
        .take(count),
    );
  }
  for (const table of BY_ACCOUNT_FEATURE) {
    await removal.rows((count) =>
      db
        .query(table)
        .withIndex("by_account_feature", (q) => q.eq("accountId", accountId))
        .take(count),
    );
  }
  await removal.rows((count) =>
    db
      .query("credits")
      .withIndex("by_account_period", (q) => q.eq("accountId", accountId))
      .take(count),
  );
  await removeParents(removal, accountId);
}

async function removeParents(removal: Removal, accountId: Id<"accounts">): Promise<void> {
  const { db } = removal.ctx;
  const meters = await db
    .query("meters")
    .withIndex("by_account_feature_cycle", (q) => q.eq("accountId", accountId))
    .take(PARENTS_MAX);
  for (const { _id: meterId } of meters) await removeMeter(removal, meterId);
  const events = await db
    .query("inboxEvents")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .take(PARENTS_MAX);
  for (const event of events) await removeEvent(removal, event);
}

async function removeMeter(removal: Removal, meterId: Id<"meters">): Promise<void> {
  const { db } = removal.ctx;
  await removal.rows((count) =>
    db
      .query("shards")
      .withIndex("by_meter_shard", (q) => q.eq("meterId", meterId))
      .take(count),
  );
  for (const table of BY_METER) {
    await removal.rows((count) =>
      db
        .query(table)
        .withIndex("by_meter", (q) => q.eq("meterId", meterId))
        .take(count),
    );
  }
  await removal.row(meterId);
}

async function removeEvent(
  removal: Removal,
  { _id: inboxEventId }: Pick<Doc<"inboxEvents">, "_id">,
): Promise<void> {
  const { db } = removal.ctx;
  for (const table of ["inboxPayloads", "receipts"] as const) {
    await removal.rows((count) =>
      db
        .query(table)
        .withIndex("by_event", (q) => q.eq("inboxEventId", inboxEventId))
        .take(count),
    );
  }
  await removal.row(inboxEventId);
}
