import { STATUSES_THAT_TELL_COST } from "../lib/gate/estimates";
import { type JobView, viewJob } from "../lib/gate/job-view";
import { RUNNING_LISTED_MAX } from "../lib/gate/running";
import { FEATURE_TOKENS } from "../lib/gate/types";
import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";

/** Look-ups that several features share, each one read of one index, and what their lists have in common. */

type Reader = Pick<QueryCtx, "db">;

/** Where the page after this one begins; null after the last. Convex gives a cursor behind the last page as well. */
export function nextCursor(page: {
  readonly isDone: boolean;
  readonly continueCursor: string;
}): string | null {
  return page.isDone ? null : page.continueCursor;
}

/** The account with an id that came from outside; null for a text that is none. */
export async function findAccount(ctx: Reader, accountId: string): Promise<Doc<"accounts"> | null> {
  const id = ctx.db.normalizeId("accounts", accountId);
  return id === null ? null : await ctx.db.get(id);
}

/** The jobs of an account that run, for its screens: those whose lease ends first. */
export async function runningJobs(ctx: Reader, accountId: Id<"accounts">): Promise<JobView[]> {
  const running = await ctx.db
    .query("jobs")
    .withIndex("by_account_status_lease", (q) => q.eq("accountId", accountId).eq("status", "running"))
    .take(RUNNING_LISTED_MAX);
  return running.map((job) => viewJob(job._id, job));
}

/** The account of a signed-in user. One that was merged into another is never found. */
export function findAccountOfUser(ctx: Reader, kindeUserId: string): Promise<Doc<"accounts"> | null> {
  return ctx.db
    .query("accounts")
    .withIndex("by_kinde_user", (q) => q.eq("kindeUserId", kindeUserId))
    .unique();
}

/** The account of a customer of the billing provider. */
export function findAccountOfCustomer(ctx: Reader, customerId: string): Promise<Doc<"accounts"> | null> {
  return ctx.db
    .query("accounts")
    .withIndex("by_customer", (q) => q.eq("customerId", customerId))
    .unique();
}

export function findJobByKey(
  ctx: Reader,
  accountId: Id<"accounts">,
  key: string,
): Promise<Doc<"jobs"> | null> {
  return ctx.db
    .query("jobs")
    .withIndex("by_account_key", (q) => q.eq("accountId", accountId).eq("key", key))
    .unique();
}

/** A job by the id a caller sent, only when it belongs to the account. Anything else is null, never an error. */
export async function findOwnJob(
  ctx: Reader,
  accountId: Id<"accounts">,
  jobId: string,
): Promise<Doc<"jobs"> | null> {
  const id = ctx.db.normalizeId("jobs", jobId);
  const job = id === null ? null : await ctx.db.get(id);
  return job?.accountId === accountId ? job : null;
}

export function findBilling(ctx: Reader, accountId: Id<"accounts">): Promise<Doc<"billing"> | null> {
  return ctx.db
    .query("billing")
    .withIndex("by_account", (q) => q.eq("accountId", accountId))
    .unique();
}

export function findLimit(
  ctx: Reader,
  accountId: Id<"accounts">,
  feature: string = FEATURE_TOKENS,
): Promise<Doc<"limits"> | null> {
  return ctx.db
    .query("limits")
    .withIndex("by_account_feature", (q) => q.eq("accountId", accountId).eq("feature", feature))
    .unique();
}

export function findFixedLimit(
  ctx: Reader,
  accountId: Id<"accounts">,
  feature: string,
): Promise<Doc<"fixedLimits"> | null> {
  return ctx.db
    .query("fixedLimits")
    .withIndex("by_account_feature", (q) => q.eq("accountId", accountId).eq("feature", feature))
    .unique();
}

export function findBudget(
  ctx: Reader,
  accountId: Id<"accounts">,
  feature: string,
  cycle: string,
): Promise<Doc<"budgets"> | null> {
  return ctx.db
    .query("budgets")
    .withIndex("by_account_feature_cycle", (q) =>
      q.eq("accountId", accountId).eq("feature", feature).eq("cycle", cycle),
    )
    .unique();
}

/** Running jobs of an account whose lease is over, the longest over first. */
export function findLapsedJobs(
  ctx: Reader,
  accountId: Id<"accounts">,
  nowMs: number,
  countMax: number,
): Promise<Doc<"jobs">[]> {
  return ctx.db
    .query("jobs")
    .withIndex("by_account_status_lease", (q) =>
      q.eq("accountId", accountId).eq("status", "running").lte("leaseExpiresAtMs", nowMs),
    )
    .take(countMax);
}

/**
 * The newest jobs, by their leases, that ran to an end of their own. Read by status, so that a job that is still
 * running, and changes at each step, is not among what was read.
 */
export async function findJobsThatTellCost(
  ctx: Reader,
  accountId: Id<"accounts">,
  sinceMs: number,
  countMax: number,
): Promise<Doc<"jobs">[]> {
  const jobs: Doc<"jobs">[] = [];
  for (const status of STATUSES_THAT_TELL_COST) {
    const ended = await ctx.db
      .query("jobs")
      .withIndex("by_account_status_lease", (q) =>
        q.eq("accountId", accountId).eq("status", status).gte("leaseExpiresAtMs", sinceMs),
      )
      .order("desc")
      .take(countMax);
    jobs.push(...ended);
  }
  return jobs.toSorted((a, b) => b.leaseExpiresAtMs - a.leaseExpiresAtMs).slice(0, countMax);
}

/** Whether one of some texts has a part, whatever its case. */
export function hasPart(texts: readonly (string | null | undefined)[], part: string | undefined): boolean {
  if (part === undefined || part === "") return true;
  const wanted = part.toLowerCase();
  return texts.some((text) => text?.toLowerCase().includes(wanted) === true);
}
