import { type Infer, v } from "convex/values";

import { type DriftReading, readingOf } from "../lib/inbox/drift";
import type { KindeClient } from "../lib/kinde/client";
import { isNotFound } from "../lib/kinde/customers";
import type { Failure } from "../lib/kinde/failure";
import { MINUTE_MS } from "../lib/shared/durations";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import type { ActionCtx } from "./_generated/server";
import { learnAgreements } from "./agreements";
import type { AccountsPage, CheckedAccount, Judged } from "./driftRows";
import { operatorAction } from "./functions";
import { kindeClient } from "./kinde";
import { internalAction } from "./patience";
import { beginRun, finishRun, noteProgress } from "./runs";
import { notFoundValidator } from "./validators";

/**
 * Compares what events have told of each customer with what the provider says, for events that never came. Nothing is
 * believed that was read once (lib/inbox/drift.ts); what is, goes through the facts and effects that events go through.
 */

const NAME = "drift";
const ACCOUNTS_AT_ONCE = 5;
/** Below the ten minutes of an action, with room for the page under way. */
const HAND_ON_AFTER_MS = 5 * MINUTE_MS;
/** After a failed run, from where it failed. Together less than the hour after which the cron runs anyway. */
const RETRY_WAITS_MS = [MINUTE_MS, 4 * MINUTE_MS, 16 * MINUTE_MS];
/** Accounts that one answer lists. */
const LISTED_MAX = 200;
const ERROR_LENGTH_MAX = 500;
/** Where the site takes webhooks, whatever its address. */
const WEBHOOK_PATH = "/api/webhooks/kinde";

const outcomeValidator = v.object({
  accountId: v.string(),
  outcome: v.union(
    v.literal("same"),
    v.literal("sighted"),
    v.literal("waiting"),
    v.literal("repaired"),
    v.literal("skipped"),
    /** The provider contradicts itself, as it may while a plan changes. */
    v.literal("unclear"),
    /** The provider does not have the customer any more. A state, with a review; no later run would find another. */
    v.literal("gone"),
    v.literal("failed"),
  ),
  beforePlanKey: v.union(v.string(), v.null()),
  providerPlanKey: v.union(v.string(), v.null()),
  /** Why the provider could not be read, or what is unclear. */
  error: v.union(v.string(), v.null()),
});
type Outcome = Infer<typeof outcomeValidator>;

const ranValidator = v.object({
  kind: v.literal("ran"),
  /** "running" when a continuation was scheduled. */
  status: v.union(v.literal("good"), v.literal("failed"), v.literal("running")),
  counts: v.record(v.string(), v.number()),
  /** Of one account what came of it; of all accounts those that are not the same. 200 at most. */
  accounts: v.array(outcomeValidator),
});
type Ran = Infer<typeof ranValidator>;

const startValidator = v.object({
  cursor: v.union(v.string(), v.null()),
  counts: v.record(v.string(), v.number()),
});
/** Where a run begins or goes on, and what it had counted by then. */
type Start = Infer<typeof startValidator>;

const placeValidator = v.object({
  ...startValidator.fields,
  newestSubscribedAtMs: v.union(v.number(), v.null()),
  /** The page of the first account that could not be read. */
  failedAt: v.union(startValidator, v.null()),
  /** How often the run was tried before. */
  retries: v.number(),
});
type Place = Infer<typeof placeValidator>;

const BEGINNING: Place = { cursor: null, counts: {}, newestSubscribedAtMs: null, failedAt: null, retries: 0 };

/** Every hour; with a place, what is left of a run that failed. */
export const run = internalAction({
  args: { place: v.optional(placeValidator) },
  returns: v.null(),
  handler: async (ctx, { place = BEGINNING }) => {
    await beginRun(ctx, NAME);
    await drive(ctx, place);
    return null;
  },
});

/** The same run, in another action. */
export const goOn = internalAction({
  args: { place: placeValidator },
  returns: v.null(),
  handler: async (ctx, { place }) => {
    await drive(ctx, place);
    return null;
  },
});

/** One account, when there is a reason to: a difference that was seen five minutes ago, or a first sign-in. */
export const checkOne = internalAction({
  args: { accountId: v.id("accounts") },
  returns: v.null(),
  handler: async (ctx, { accountId }) => {
    await checkAccount(ctx, accountId);
    return null;
  },
});

/** On demand: all accounts as the cron does, or one, which is no run of its own. */
export const check = operatorAction({
  args: { accountId: v.optional(v.string()) },
  returns: v.union(ranValidator, notFoundValidator),
  handler: async (ctx, args): Promise<Ran | { kind: "not_found" }> => {
    if (args.accountId === undefined) {
      await beginRun(ctx, NAME);
      return await drive(ctx, BEGINNING);
    }
    const accountId: Id<"accounts"> | null = await ctx.runQuery(internal.accounts.idOf, {
      accountId: args.accountId,
    });
    if (accountId === null) return { kind: "not_found" };
    const { actor } = ctx;
    await ctx.runMutation(internal.auditLog.recordRun, { actor, action: "drift_checked", accountId });
    return await checkAccount(ctx, accountId);
  },
});

async function checkAccount(ctx: ActionCtx, accountId: Id<"accounts">): Promise<Ran> {
  const work = new Run(ctx, BEGINNING);
  const account: CheckedAccount | null = await ctx.runQuery(internal.driftRows.accountOf, { accountId });
  const outcome =
    account === null ? outcomeOf(accountId, { outcome: "skipped" }) : await work.account(account);
  const status = outcome.outcome === "failed" ? "failed" : "good";
  return { kind: "ran", status, counts: work.place.counts, accounts: [outcome] };
}

async function drive(ctx: ActionCtx, place: Place): Promise<Ran> {
  const work = new Run(ctx, place);
  const startMs = performance.now();
  try {
    let isDone = false;
    while (!isDone) {
      if (performance.now() - startMs >= HAND_ON_AFTER_MS) {
        await ctx.scheduler.runAfter(0, internal.drift.goOn, { place: work.place });
        return work.ran("running");
      }
      isDone = await work.nextPage();
      await noteProgress(ctx, NAME, work.place.counts);
    }
    await work.judgeWebhooks();
  } catch (error) {
    await fail(ctx, work.place);
    throw error;
  }
  if (work.place.failedAt !== null) {
    await fail(ctx, work.place);
    return work.ran("failed");
  }
  await finishRun(ctx, NAME, "good", work.place.counts);
  return work.ran("good");
}

/** Marks the run, and has it tried again from where it failed: later each time, in the end by the cron. */
async function fail(ctx: ActionCtx, place: Place): Promise<void> {
  await finishRun(ctx, NAME, "failed", place.counts);
  const waitMs = RETRY_WAITS_MS[place.retries];
  if (waitMs === undefined) return;
  const from = place.failedAt ?? place;
  const again = { ...place, cursor: from.cursor, counts: from.counts, failedAt: null };
  await ctx.scheduler.runAfter(waitMs, internal.drift.run, {
    place: { ...again, retries: place.retries + 1 },
  });
}

/** What a customer may be of whom nothing was read. */
type Unread = "failed" | "unclear" | "gone";
type Found = Pick<Outcome, "outcome"> & Partial<Outcome>;

/** One run: how far it has come, and the accounts that its answer lists. */
class Run {
  private readonly listed: Outcome[] = [];
  private client: KindeClient | null = null;
  /** Whether the provider has told anything. */
  private hasRead = false;

  place: Place;

  constructor(
    private readonly ctx: ActionCtx,
    from: Place,
  ) {
    this.place = { ...from, counts: { ...from.counts } };
  }

  /** Whether it was the last one. */
  async nextPage(): Promise<boolean> {
    const { cursor, counts } = this.place;
    const start: Start = { cursor, counts: { ...counts } };
    const page: AccountsPage = await this.ctx.runQuery(internal.driftRows.listAccounts, { cursor });
    const queue = page.accounts.values();
    let failed = 0;
    const worker = async (): Promise<void> => {
      for (const account of queue) {
        const found = await this.account(account);
        if (found.outcome === "failed") failed += 1;
        if (found.outcome !== "same" && this.listed.length < LISTED_MAX) this.listed.push(found);
      }
    };
    await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, worker));
    if (failed > 0) this.place = { ...this.place, failedAt: this.place.failedAt ?? start };
    this.place = { ...this.place, cursor: page.cursor };
    // Where nobody of a page can be read the provider is down, and the rest would wait for it one by one.
    return page.cursor === null || (failed > 0 && failed === page.accounts.length);
  }

  async account({ accountId, customerId }: CheckedAccount): Promise<Outcome> {
    const found = await this.compare(accountId, customerId);
    const { counts } = this.place;
    for (const name of ["accounts", found.outcome]) counts[name] = (counts[name] ?? 0) + 1;
    return found;
  }

  private async compare(accountId: Id<"accounts">, customerId: string): Promise<Outcome> {
    try {
      const read = await this.read(accountId, customerId);
      if (read.kind === "gone") {
        await this.ctx.runMutation(internal.driftRows.noteGone, { accountId });
      }
      if (read.kind !== "read") return outcomeOf(accountId, { outcome: read.kind, error: read.reason });
      const args = { accountId, reading: { ...read.reading, inForceIds: [...read.reading.inForceIds] } };
      const judged: Judged = await this.ctx.runMutation(internal.driftRows.judge, args);
      const { kind: outcome, beforePlanKey, providerPlanKey } = judged;
      if (outcome === "repaired") await learnAgreements(this.ctx, accountId);
      return outcomeOf(accountId, { outcome, beforePlanKey, providerPlanKey });
    } catch (error) {
      // One account that cannot be checked does not keep the others from it.
      const reason = error instanceof Error ? error.message : String(error);
      return outcomeOf(accountId, { outcome: "failed", error: reason.slice(0, ERROR_LENGTH_MAX) });
    }
  }

  private async read(
    accountId: Id<"accounts">,
    customerId: string,
  ): Promise<{ kind: "read"; reading: DriftReading } | { kind: Unread; reason: string }> {
    this.client ??= kindeClient(this.ctx);
    const entitlements = await this.client.readEntitlements({ customerId });
    if (entitlements.kind === "failed") return await this.whyNot(this.client, accountId, entitlements);
    const agreements = await this.client.readAgreements({ customerId });
    if (agreements.kind === "failed") return { kind: "failed", reason: agreements.message };
    this.hasRead = true;
    const read = readingOf(entitlements, agreements);
    if (read.kind === "read") this.noteSubscription(read.reading.subscribedAtMs);
    return read;
  }

  /** A customer who is not found is gone if the user is not found either; one word of the provider is not enough. */
  private async whyNot(
    client: KindeClient,
    accountId: Id<"accounts">,
    failure: Failure,
  ): Promise<{ kind: Unread; reason: string }> {
    const reason = failure.message;
    if (!isNotFound(failure)) return { kind: "failed", reason };
    const { kindeUserId: userId } = await this.ctx.runQuery(internal.kinde.providerIds, { accountId });
    if (userId === null) return { kind: "gone", reason };
    const user = await client.findCustomer({ userId });
    if (user.kind === "failed") return { kind: "failed", reason: user.message };
    if (user.kind === "found") return { kind: "unclear", reason: `${reason}, but the user is there` };
    return { kind: "gone", reason };
  }

  private noteSubscription(atMs: number | null): void {
    const { newestSubscribedAtMs } = this.place;
    // What begins later has not been told of yet.
    if (atMs === null || atMs > Date.now() || atMs < (newestSubscribedAtMs ?? 0)) return;
    this.place = { ...this.place, newestSubscribedAtMs: atMs };
  }

  /** Whether our endpoint is still on, and whether it should have heard something. What cannot be read is not known. */
  async judgeWebhooks(): Promise<void> {
    if (!this.hasRead || this.client === null) return;
    const read = await this.client.readWebhooks();
    const webhooks = read.kind === "read" ? read.webhooks : [];
    const ours = webhooks.filter(({ url }) => URL.canParse(url) && new URL(url).pathname === WEBHOOK_PATH);
    const isDisabled = ours.length > 0 && ours.every((endpoint) => endpoint.isDisabled === true);
    const { newestSubscribedAtMs } = this.place;
    await this.ctx.runMutation(internal.driftRows.judgeWebhooks, { newestSubscribedAtMs, isDisabled });
  }

  ran(status: Ran["status"]): Ran {
    return { kind: "ran", status, counts: this.place.counts, accounts: this.listed };
  }
}

function outcomeOf(accountId: Id<"accounts">, found: Found): Outcome {
  return { beforePlanKey: null, providerPlanKey: null, error: null, ...found, accountId };
}
