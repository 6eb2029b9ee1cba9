import { type Infer, v } from "convex/values";

import { isLostConflict } from "../lib/gate/conflict-retry";
import { SEND_LEASE_MS } from "../lib/ledger/report-state";
import { MINUTE_MS, SECOND_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import type { ActionCtx } from "./_generated/server";
import { internalAction } from "./patience";
import { isAtProvider as providerHas, lookAtTotal, type MeterTarget, readTotal } from "./providers";
import type { Judged, Result } from "./reconcile";
import { attemptWrite } from "./reporter";
import { beginRun, finishRun, lastStartedAtMs, noteProgress } from "./runs";
import { checkShards, type ShardsChecked } from "./shardCheck";
import { evidenceStatusValidator, verdictValidator } from "./validators";

/**
 * Proves that the provider's meters show what the ledger says: counters against rows, ledger against meter, and where
 * they differ a repair that is read back. The ledger is the fact; nothing a meter says changes it.
 *
 * Every account that is no throw-away one is gone through, in pages; a run that has taken long hands on to a scheduled
 * continuation, because an action may not run for more than ten minutes.
 */

const NAME = "reconciler";
const ACCOUNTS_AT_ONCE = 5;
/** Below the ten minutes of an action, with room for the page under way. */
const HAND_ON_AFTER_MS = 5 * MINUTE_MS;
const PROGRESS_EVERY_MS = SECOND_MS;
/** After a failed run, from the page where it failed. Together less than the day after which the cron runs anyway. */
const RETRY_WAITS_MS = [1, 5, 15, 30, 60, 120, 240, 480].map((minutes) => minutes * MINUTE_MS);
/** A meter that is being sent to is looked at again after this, as long as such a send may take. */
const LOOK_AGAIN_MS = 250;
const LOOKS_MAX = SEND_LEASE_MS / LOOK_AGAIN_MS;
/** Meters that one answer lists. */
const LISTED_MAX = 500;

const meterResultValidator = v.object({
  meterId: v.id("meters"),
  accountName: v.string(),
  feature: v.string(),
  cycle: v.string(),
  agreementId: v.union(v.string(), v.null()),
  /** False: the account has no customer there, and what is called the meter is our own copy of the total. */
  isAtProvider: v.boolean(),
  ledgerUnits: v.number(),
  /** The last confirmed total, what the meter showed before a repair, and what was read back after one. */
  sentUnits: v.union(v.number(), v.null()),
  meterUnits: v.union(v.number(), v.null()),
  readBackUnits: v.union(v.number(), v.null()),
  verdict: verdictValidator,
  status: evidenceStatusValidator,
  cause: v.union(v.string(), v.null()),
  error: v.union(v.string(), v.null()),
});
type MeterResult = Infer<typeof meterResultValidator>;

export const reconciledValidator = v.object({
  kind: v.literal("ran"),
  /** "running" when a continuation was scheduled. */
  status: v.union(v.literal("good"), v.literal("failed"), v.literal("running")),
  counts: v.record(v.string(), v.number()),
  /** Of one account all meters; of all accounts those that were not simply proven. 500 at most. */
  meters: v.array(meterResultValidator),
});
export type Reconciled = Infer<typeof reconciledValidator>;

const startValidator = v.object({
  cursor: v.union(v.string(), v.null()),
  counts: v.record(v.string(), v.number()),
});
/** Where a run begins or goes on, and what it had counted by then. */
type Start = Infer<typeof startValidator>;

const placeValidator = v.object({
  ...startValidator.fields,
  /** The first page with a meter that could not be read, or not be repaired and confirmed. */
  failedAt: v.union(startValidator, v.null()),
  /** How often the run was tried before. */
  retries: v.number(),
});
type Place = Infer<typeof placeValidator>;

const BEGINNING: Place = { cursor: null, counts: {}, failedAt: null, retries: 0 };

/** Every night. A run with errors, or with meters that could not be read, ends with an error. */
export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await beginRun(ctx, NAME);
    insist(await drive(ctx, BEGINNING));
    return null;
  },
});

/** What is left of a run that failed, unless another one has begun since: that one has its own. */
export const retry = internalAction({
  args: { place: placeValidator, failedRunStartedAtMs: v.number() },
  returns: v.null(),
  handler: async (ctx, { place, failedRunStartedAtMs }) => {
    if ((await lastStartedAtMs(ctx, NAME)) !== failedRunStartedAtMs) return null;
    await beginRun(ctx, NAME);
    insist(await drive(ctx, place));
    return null;
  },
});

/** The same run, in another action. */
export const goOn = internalAction({
  args: { place: placeValidator },
  returns: v.null(),
  handler: async (ctx, { place }) => {
    insist(await drive(ctx, place));
    return null;
  },
});

function insist({ status, counts: { errors, unread } }: Reconciled): void {
  if (status !== "failed") return;
  throw new Error(
    `meters that could not be repaired and confirmed: ${errors}; that could not be read: ${unread}`,
  );
}

/** One run on demand, for all accounts. */
export async function reconcile(ctx: ActionCtx): Promise<Reconciled> {
  await beginRun(ctx, NAME);
  return await drive(ctx, BEGINNING);
}

/** One account on demand. Not a run of its own: its marks would hide that the last whole run failed or never came. */
export async function reconcileOne(ctx: ActionCtx, accountId: Id<"accounts">): Promise<Reconciled> {
  const work = new Run(ctx, BEGINNING, null);
  await work.account(accountId);
  return work.ran(statusOf(work));
}

async function drive(ctx: ActionCtx, place: Place): Promise<Reconciled> {
  const work = new Run(ctx, place, (counts) => noteProgress(ctx, NAME, counts));
  try {
    // What the last run counted is not this one's progress.
    await noteProgress(ctx, NAME, work.counts);
    const startMs = performance.now();
    for (let isDone = false; !isDone;) {
      if (performance.now() - startMs >= HAND_ON_AFTER_MS) {
        await ctx.scheduler.runAfter(0, internal.reconciler.goOn, { place: work.place });
        return work.ran("running");
      }
      isDone = await work.nextPage();
      await noteProgress(ctx, NAME, work.counts);
    }
  } catch (error) {
    await fail(ctx, work.place);
    throw error;
  }
  const status = statusOf(work);
  if (status === "failed") await fail(ctx, work.place);
  else await finishRun(ctx, NAME, status, work.counts);
  return work.ran(status);
}

/** Marks the run, and has it tried again from where it failed: later each time, in the end by the cron. */
async function fail(ctx: ActionCtx, place: Place): Promise<void> {
  const failedRunStartedAtMs = await lastStartedAtMs(ctx, NAME);
  await finishRun(ctx, NAME, "failed", place.counts);
  const waitMs = RETRY_WAITS_MS[place.retries];
  if (waitMs === undefined || failedRunStartedAtMs === null) return;
  const again = { ...(place.failedAt ?? place), failedAt: null, retries: place.retries + 1 };
  const { cursor, counts, failedAt, retries } = again;
  await ctx.scheduler.runAfter(waitMs, internal.reconciler.retry, {
    place: { cursor, counts, failedAt, retries },
    failedRunStartedAtMs,
  });
}

interface AccountsPage {
  accountIds: Id<"accounts">[];
  cursor: string | null;
}

function statusOf({ counts }: Run): "good" | "failed" {
  return counts["errors"] === 0 && counts["unread"] === 0 ? "good" : "failed";
}

interface Look {
  target: MeterTarget;
  accountName: string;
  version: number;
  isBusy: boolean;
  isClosed: boolean;
  isGone: boolean;
}

/** One run: how far it has come, what it has counted, and the meters that its answer lists. */
class Run {
  readonly counts: Record<string, number>;
  private at: Omit<Place, "counts">;
  /** Meters that the provider gave no answer about. */
  private silent = 0;
  private readonly meters: MeterResult[] = [];
  private shownAtMs = performance.now();

  constructor(
    private readonly ctx: ActionCtx,
    { counts, ...at }: Place,
    /** Told of how far it has come. Null for one account, which has no progress to show and lists all its meters. */
    private readonly onProgress: ((counts: Record<string, number>) => Promise<void>) | null,
  ) {
    const found = { accounts: 0, meters: 0, rows: 0, rebuilt: 0, evidence: 0 };
    this.counts = { ...found, repaired: 0, errors: 0, unread: 0, ...counts };
    this.at = at;
  }

  get place(): Place {
    return { ...this.at, counts: { ...this.counts } };
  }

  /** Whether it was the last one. */
  async nextPage(): Promise<boolean> {
    const start: Start = { cursor: this.at.cursor, counts: { ...this.counts } };
    const silentBefore = this.silent;
    const since = (name: string): number => (this.counts[name] ?? 0) - (start.counts[name] ?? 0);
    const page: AccountsPage = await this.ctx.runQuery(internal.reconcile.listAccounts, {
      cursor: start.cursor,
    });
    await atOnce(page.accountIds, ACCOUNTS_AT_ONCE, (id) => this.account(id));
    const hasFailed = since("errors") > 0 || since("unread") > 0;
    this.at = {
      ...this.at,
      cursor: page.cursor,
      failedAt: this.at.failedAt ?? (hasFailed ? start : null),
    };
    // Where no meter of a page can be read the provider is down, and the rest would wait for it one by one.
    const isDown = this.silent > silentBefore && this.silent - silentBefore === since("meters");
    return page.cursor === null || isDown;
  }

  async account(accountId: Id<"accounts">): Promise<void> {
    const meterIds: Id<"meters">[] = await this.ctx.runQuery(internal.reconcile.listMeters, { accountId });
    for (const meterId of meterIds) {
      try {
        await this.meter(meterId);
      } catch (error) {
        // One broken meter does not keep the others from being proven. One that others kept changing is not broken: the
        // run has failed, and its next try takes the meter again.
        this.add("errors");
        if (isLostConflict(error)) continue;
        const detail = error instanceof Error ? error.message : String(error);
        await this.ctx.runMutation(internal.reconcile.noteBroken, { meterId, detail });
      }
    }
    this.add("accounts");
    await this.show();
  }

  private async meter(meterId: Id<"meters">): Promise<void> {
    const checked = await checkShards(this.ctx, meterId, (rows) => this.onRows(rows));
    this.add("rebuilt", checked.rebuilt);
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const look: Look = await this.ctx.runQuery(internal.reconcile.look, { meterId });
      if (look.target.agreementId === null) return this.add("unmetered");
      const result = look.isBusy ? null : await this.judge(look, checked);
      if (result !== null) return this.note(look, result);
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
    throw new Error("somebody else kept sending to it");
  }

  /** Null when somebody sent to the meter meanwhile. */
  private async judge(look: Look, { rebuiltUnits }: ShardsChecked): Promise<Result | null> {
    const { target, version, isClosed, isGone } = look;
    const { meterId } = target;
    const { reading, fault } = await lookAtTotal(this.ctx, target, isClosed);
    const judged: Judged = await this.ctx.runMutation(internal.reconcile.judge, {
      meterId,
      version,
      wasClosed: isClosed,
      rebuiltUnits,
      reading,
    });
    if (judged.kind === "moved") return null;
    // A provider that forgot a deleted customer, or tells no total of a closed meter, has answered: a run later the
    // answer would be the same. What is not known stays on the meter, as unreadable.
    const isAnswered = fault === null || fault === "untold" || (fault === "refused" && isGone);
    if (!isAnswered) this.add("unread");
    if (fault === "no_answer") this.silent += 1;
    return judged.kind === "judged" ? judged.result : await this.repair(target, judged);
  }

  /** Writes, reads back and settles under one claim, so that no report comes between. */
  private async repair(
    target: MeterTarget,
    { facts, totalUnits, version, startBeforeMs }: Extract<Judged, { kind: "repair" }>,
  ): Promise<Result> {
    const { outcome } = await attemptWrite(this.ctx, target, totalUnits, startBeforeMs);
    const mayBeThere = outcome.kind === "confirmed" || outcome.kind === "unknown";
    const readSentAtMs = Date.now();
    const reading = mayBeThere ? await readTotal(this.ctx, target, false) : null;
    const args = { meterId: target.meterId, version, totalUnits, facts, outcome, readSentAtMs, reading };
    return await this.ctx.runMutation(internal.reconcile.settleRepair, args);
  }

  private note({ target, accountName }: Look, result: Result): void {
    const { ledgerUnits, sentUnits, readBackUnits, verdict, status, cause, error } = result;
    this.add("meters");
    // A match with our own copy is no proof, and is counted by its own name.
    if (status !== "kept_here") this.add(verdict);
    if (status === "kept_here") this.add("kept_here");
    if (status === "repaired_and_confirmed") this.add("repaired");
    if (status === "error") this.add("errors");
    if (result.isNew) this.add("evidence");
    const isAsExpected = status === "proven" || status === "kept_here";
    if (this.meters.length >= LISTED_MAX || (this.onProgress !== null && isAsExpected)) return;
    const { meterId, feature, cycle, agreementId } = target;
    const numbers = { ledgerUnits, sentUnits, meterUnits: result.providerUnits, readBackUnits };
    const isAtProvider = providerHas(target);
    const identity = { meterId, accountName, feature, cycle, agreementId, isAtProvider };
    this.meters.push({ ...identity, ...numbers, verdict, status, cause, error });
  }

  private add(name: string, count = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + count;
  }

  private async onRows(rows: number): Promise<void> {
    this.add("rows", rows);
    await this.show();
  }

  /** How far it has come, not more often than somebody can follow. */
  private async show(): Promise<void> {
    if (this.onProgress === null || performance.now() - this.shownAtMs < PROGRESS_EVERY_MS) return;
    this.shownAtMs = performance.now();
    await this.onProgress(this.counts);
  }

  ran(status: Reconciled["status"]): Reconciled {
    return { kind: "ran", status, counts: this.counts, meters: this.meters };
  }
}

async function atOnce<T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
