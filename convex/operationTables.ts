import { defineTable } from "convex/server";
import { v } from "convex/values";

import { accountSourceValidator, anchorSourceValidator } from "./inboxValidators";
import { lateUsageValidator, providerValidator, scopeValidator } from "./validators";

/** Small facts of an audit line or a run: numbers and words, never a secret. */
const details = v.record(v.string(), v.union(v.string(), v.number(), v.boolean(), v.null()));

/** Tables of customers, their keys, and what those who run this look at. */
export const operationTables = {
  /**
   * A customer. Written by sign-in (signIn.ts), operators (accounts.ts), billing events (customers.ts) and, for
   * throw-away ones, by the labs.
   */
  accounts: defineTable({
    name: v.string(),
    email: v.union(v.string(), v.null()),
    /** "lab" accounts belong to no customer and never reach a meter. */
    source: accountSourceValidator,
    /**
     * Set on "lab" ones, so that an index can leave them out: there are many of them, and lists, reconciler and drift
     * check are about customers. Lab rows of before have none until they are removed.
     */
    isThrowAway: v.optional(v.literal(true)),
    provider: providerValidator,
    /** Who signs in to it, by the provider's id. Unique among the accounts that have one. */
    kindeUserId: v.union(v.string(), v.null()),
    /** The billing customer of that user, once the provider told it. Unique among the accounts that have one. */
    customerId: v.union(v.string(), v.null()),
    /** Set on a row that was found to be the same customer as another one; its ids moved there. */
    mergedIntoAccountId: v.union(v.id("accounts"), v.null()),
    cycleAnchorMs: v.number(),
    cycleAnchorSource: anchorSourceValidator,
    /** Set by the first job. From then on the anchor never moves. */
    cycleAnchorFrozenAtMs: v.union(v.number(), v.null()),
    /** What the plan facts come to, and the event id of the fact that set it; null while none did. */
    planKey: v.string(),
    planSetBy: v.union(v.string(), v.null()),
    /** Since when an invoice is overdue; null when none is. */
    overdueSinceMs: v.union(v.number(), v.null()),
    /** The newest email that a billing event told. */
    profile: v.union(
      v.object({ email: v.union(v.string(), v.null()), atNs: v.int64(), eventId: v.string() }),
      v.null(),
    ),
    /** The customer was deleted at the provider. The ledger stays; nobody signs in to it any more. */
    deletedAtMs: v.union(v.number(), v.null()),
    createdAtMs: v.number(),
  })
    .index("by_kinde_user", ["kindeUserId"])
    .index("by_customer", ["customerId"])
    .index("by_email", ["email"])
    .index("by_throw_away", ["isThrowAway"])
    .index("by_throw_away_customer", ["isThrowAway", "customerId"]),

  /** Hashes of bearer keys. Written by operators; `lastUsedAtMs` by use, at most once a minute. */
  apiKeys: defineTable({
    accountId: v.id("accounts"),
    keyHash: v.string(),
    prefix: v.string(),
    name: v.string(),
    scopes: v.array(scopeValidator),
    createdAtMs: v.number(),
    revokedAtMs: v.union(v.number(), v.null()),
    lastUsedAtMs: v.union(v.number(), v.null()),
  })
    .index("by_key_hash", ["keyHash"])
    .index("by_account", ["accountId"]),

  /** The rate window of an account. Written by the gate; the limit in it by operators. */
  billing: defineTable({
    accountId: v.id("accounts"),
    limitPerMinute: v.number(),
    windowStartMs: v.number(),
    count: v.number(),
    /** Start of the last window in which a refusal was recorded: one row a window is enough. */
    refusedWindowStartMs: v.union(v.number(), v.null()),
  }).index("by_account", ["accountId"]),

  /** The provider's machine token, because functions keep no state of their own. Written by kinde.ts; never public. */
  providerTokens: defineTable({
    issuerUrl: v.string(),
    accessToken: v.string(),
    expiresAtMs: v.number(),
  }).index("by_issuer", ["issuerUrl"]),

  /** What a person must look at. Written by whoever finds it, once while it is open. */
  reviews: defineTable({
    kind: v.union(
      v.literal("broken_job"),
      v.literal("audit_too_large"),
      v.literal("late_usage"),
      v.literal("closed_cycle_drift"),
      v.literal("repeated_failure"),
      v.literal("dead_event"),
      v.literal("unknown_plan"),
      v.literal("missed_webhooks"),
      v.literal("customer_gone"),
    ),
    /** What it is about, by id or by name; with the kind it is unique among the open ones. */
    subject: v.string(),
    accountId: v.union(v.id("accounts"), v.null()),
    detail: v.string(),
    /** For late usage: the numbers that the person is shown. */
    late: v.union(lateUsageValidator, v.null()),
    status: v.union(v.literal("open"), v.literal("decided")),
    openedAtMs: v.number(),
    decision: v.union(v.string(), v.null()),
    decidedBy: v.union(v.string(), v.null()),
    decidedAtMs: v.union(v.number(), v.null()),
    note: v.union(v.string(), v.null()),
  })
    .index("by_kind_subject_status", ["kind", "subject", "status"])
    .index("by_account", ["accountId"])
    .index("by_subject", ["subject"])
    .index("by_status", ["status"]),

  /** A message for the people who run this: sent to the alert address, signed and tried again. Written by alerts.ts. */
  alerts: defineTable({
    kind: v.string(),
    subject: v.string(),
    detail: v.string(),
    status: v.union(v.literal("waiting"), v.literal("sent"), v.literal("given_up")),
    attempts: v.number(),
    nextAttemptAtMs: v.union(v.number(), v.null()),
    error: v.union(v.string(), v.null()),
    createdAtMs: v.number(),
    sentAtMs: v.union(v.number(), v.null()),
  })
    .index("by_due", ["nextAttemptAtMs"])
    .index("by_status", ["status"]),

  /** What operators set for everybody: one row. Written by settings.ts. */
  settings: defineTable({
    /** New jobs are refused once an invoice is overdue for this long; null: only a banner is shown. */
    overdueBlockDays: v.union(v.number(), v.null()),
  }),

  /** Operator acts and automatic repairs: append only. */
  audit: defineTable({
    actor: v.string(),
    action: v.string(),
    accountId: v.union(v.id("accounts"), v.null()),
    details,
    atMs: v.number(),
  })
    .index("by_account", ["accountId"])
    .index("by_actor", ["actor"]),

  /** The last run of each periodic worker. Written by runs.ts. */
  runs: defineTable({
    name: v.string(),
    status: v.union(v.literal("running"), v.literal("good"), v.literal("failed")),
    lastStartedAtMs: v.number(),
    /** When the run last said how far it had come, its start included. Rows of older versions lack it. */
    progressAtMs: v.optional(v.number()),
    lastFinishedAtMs: v.union(v.number(), v.null()),
    lastGoodAtMs: v.union(v.number(), v.null()),
    counts: v.record(v.string(), v.number()),
  }).index("by_name", ["name"]),

  /** How runs of the less frequent workers ended, the newest 50 of each. Written by runs.ts. */
  runHistory: defineTable({
    name: v.string(),
    status: v.union(v.literal("good"), v.literal("failed")),
    startedAtMs: v.number(),
    finishedAtMs: v.number(),
    counts: v.record(v.string(), v.number()),
  }).index("by_name", ["name"]),
};
