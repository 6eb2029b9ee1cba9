import { v } from "convex/values";

import type { TotalWrite } from "../lib/gate/provider";
import { outcomeOf, type SendOutcome } from "../lib/ledger/report-outcome";
import { RUN_MS, SENDS_AT_ONCE } from "../lib/ledger/report-state";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import type { ActionCtx } from "./_generated/server";
import { type Learnt, learnAgreements } from "./agreements";
import { accountAction } from "./functions";
import { internalAction } from "./patience";
import { readTotal, writeTotal } from "./providers";
import type { Claimed } from "./reports";
import { noteProgress, withRun } from "./runs";

/**
 * Sends the totals of marked meters to the provider, oldest mark first. Each meter is claimed right before its write,
 * so that a lease never waits behind the writes of others; the claim, the write and what came of it are three steps,
 * and a run that dies between two of them leaves an ended lease, which the next run takes for a mark.
 */

const NAME = "reporter";

export interface ReportCounts extends Record<string, number> {
  /** Meters that were looked at. */
  readonly meters: number;
  readonly sent: number;
  readonly failed: number;
  /** Of those that failed, the ones that the provider answered and would not have. */
  readonly refused: number;
  /** Attempts without an answer. */
  readonly unknown: number;
  readonly readBack: number;
  readonly waiting: number;
  readonly unmetered: number;
  readonly reviews: number;
}

const NO_COUNTS: ReportCounts = {
  meters: 0,
  sent: 0,
  failed: 0,
  refused: 0,
  unknown: 0,
  readBack: 0,
  waiting: 0,
  unmetered: 0,
  reviews: 0,
};

export const run = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await ctx.runMutation(internal.reports.planFlushes, {});
    await report(ctx);
    return null;
  },
});

/** Between two runs, when meters are about to close. Not a run of its own: it leaves the run's row alone. */
export const flush = internalAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await sendDue(ctx, null, () => Promise.resolve());
    return null;
  },
});

/**
 * For a customer who is about to change the plan: what was used up to now is sent while the agreement still takes it.
 * A total that comes after its end would have to go before a person.
 */
export const sendOwn = accountAction({
  scope: null,
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await reportOne(ctx, ctx.accountId);
    return null;
  },
});

/** One run for all accounts. */
export async function report(ctx: ActionCtx): Promise<ReportCounts> {
  const before: { status: string } | null = await ctx.runQuery(internal.runs.get, { name: NAME });
  return await withRun(
    ctx,
    NAME,
    () => sendDue(ctx, null, (counts) => noteProgress(ctx, NAME, counts)),
    (counts) => judgeRun(ctx, counts, before?.status === "failed"),
  );
}

/**
 * A run that tried and got nothing through has failed: the provider does not take totals. Meters that it failed with wait
 * for their next try, so a run without one to try tells nothing new: it is what the run before it was.
 */
async function judgeRun(
  ctx: ActionCtx,
  { sent, failed, refused, unknown }: ReportCounts,
  hadFailed: boolean,
): Promise<"good" | "failed"> {
  if (sent + refused > 0) return "good";
  if (failed + unknown > 0) return "failed";
  const isWaiting = hadFailed && (await ctx.runQuery(internal.reports.hasMarks, {}));
  return isWaiting ? "failed" : "good";
}

/** The same for one account. Not a run of its own: that the others are behind must still be seen. */
export function reportOne(ctx: ActionCtx, accountId: Id<"accounts">): Promise<ReportCounts> {
  return sendDue(ctx, accountId, () => Promise.resolve());
}

type Count = Exclude<keyof ReportCounts, number>;

async function sendDue(
  ctx: ActionCtx,
  accountId: Id<"accounts"> | null,
  onRound: (counts: ReportCounts) => Promise<void>,
): Promise<ReportCounts> {
  const startMs = performance.now();
  const isTimeLeft = (): boolean => performance.now() - startMs < RUN_MS;
  const counts: Record<string, number> & ReportCounts = { ...NO_COUNTS };
  const sender = new Sender(ctx, (name) => {
    (counts as Record<string, number>)[name] = (counts[name] ?? 0) + 1;
  });
  // A meter that cannot be handled keeps its mark; it is left to the next run, and keeps no other from its turn.
  const broken = new Map<Id<"meters">, unknown>();
  while (isTimeLeft()) {
    const due: Id<"meters">[] = await ctx.runQuery(internal.reports.listDue, { accountId });
    const meterIds = due.filter((meterId) => !broken.has(meterId));
    if (meterIds.length === 0) break;
    const queue = meterIds.values();
    const work = async (): Promise<void> => {
      for (const meterId of queue) {
        if (!isTimeLeft()) return;
        await sender.handle(meterId).catch(async (error: unknown) => {
          broken.set(meterId, error);
          await ctx.runMutation(internal.reports.noteBelowZero, { meterId }).catch(() => undefined);
        });
      }
    };
    await Promise.all(Array.from({ length: SENDS_AT_ONCE }, work));
    await onRound(counts);
  }
  // The run has failed all the same, and its error is that of the first one.
  for (const error of broken.values()) throw error;
  return counts;
}

/** Takes meters one by one and remembers of whose agreements it has asked the provider in this run. */
class Sender {
  private readonly learnt = new Map<Id<"accounts">, Promise<Learnt>>();

  constructor(
    private readonly ctx: ActionCtx,
    private readonly count: (name: Count) => void,
  ) {}

  async handle(meterId: Id<"meters">): Promise<void> {
    this.count("meters");
    let claimed: Claimed = await this.ctx.runMutation(internal.reports.claim, { meterId, learnt: null });
    if (claimed.kind === "learn") {
      const learnt = await this.learnOnce(claimed.accountId);
      claimed = await this.ctx.runMutation(internal.reports.claim, { meterId, learnt });
    }
    switch (claimed.kind) {
      case "send":
        return await this.send(claimed);
      case "read_back":
        return await this.readBack(claimed);
      case "wait":
        return this.count("waiting");
      case "unmetered":
        return this.count("unmetered");
      case "review":
        return this.count("reviews");
      case "done":
      case "learn":
        return;
    }
  }

  private async send(claimed: Extract<Claimed, { kind: "send" }>): Promise<void> {
    const { target, totalUnits, version, startBeforeMs } = claimed;
    const { outcome, isRefused } = await attemptWrite(this.ctx, target, totalUnits, startBeforeMs);
    await this.ctx.runMutation(internal.reports.settleSend, { meterId: target.meterId, version, outcome });
    if (outcome.kind === "confirmed") this.count("sent");
    else this.count(outcome.kind === "unknown" ? "unknown" : "failed");
    if (isRefused) this.count("refused");
    // What the provider will not have may be under an agreement that has ended: learnt now, it is moved or put before
    // a person; not learnt, it would be refused for ever.
    if (isRefused) await this.learnOnce(target.accountId);
  }

  private async readBack({ target, version }: Extract<Claimed, { kind: "read_back" }>): Promise<void> {
    const sentAtMs = Date.now();
    const reading = await readTotal(this.ctx, target, false);
    const args = { meterId: target.meterId, version, sentAtMs, reading };
    await this.ctx.runMutation(internal.reports.settleReadBack, args);
    this.count("readBack");
  }

  private learnOnce(accountId: Id<"accounts">): Promise<Learnt> {
    const learning = this.learnt.get(accountId) ?? learnAgreements(this.ctx, accountId);
    this.learnt.set(accountId, learning);
    return learning;
  }
}

/** One write, and what is known of it afterwards. The reconciler repairs through it as well. */
export async function attemptWrite(
  ctx: ActionCtx,
  target: Extract<Claimed, { kind: "send" }>["target"],
  totalUnits: number,
  startBeforeMs: number,
): Promise<{ outcome: SendOutcome; isRefused: boolean }> {
  if (Date.now() >= startBeforeMs) return { outcome: { kind: "not_started" }, isRefused: false };
  const write = await writeTotal(ctx, target, totalUnits, startBeforeMs);
  return { outcome: outcomeOf(answerOf(write)), isRefused: write.kind === "failed" && write.isRefused };
}

function answerOf(write: TotalWrite): Parameters<typeof outcomeOf>[0] {
  if (write.kind === "set") return { kind: "written" };
  const { reason: message } = write;
  if (write.kind === "no_meter") return { kind: "failed", committed: "no", retryAfterMs: null, message };
  const { committed, retryAfterMs } = write;
  return { kind: "failed", committed, retryAfterMs, message };
}
