import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

import {
  accountSourceValidator,
  anchorSourceValidator,
  creditReasonValidator,
  deliveryFlagValidator,
  engineRoomStepValidator,
  planAndBalanceValidator,
  planFactKindValidator,
  progressFields,
  scenarioStepFields,
} from "./inboxValidators";
import {
  clickClassValidator,
  entryOriginValidator,
  evidenceStatusValidator,
  jobFields,
  labStepFields,
  lateUsageValidator,
  reportStateValidator,
  verdictValidator,
  limitUnitsValidator,
  providerValidator,
  refusalValidator,
  scopeValidator,
} from "./validators";

/** Small facts of an audit line or a run: numbers and words, never a secret. */
const details = v.record(v.string(), v.union(v.string(), v.number(), v.boolean(), v.null()));

export default defineSchema({
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

  /**
   * A billing event as it was signed, and how far it is on its way (lib/inbox/worker.ts). Identity and body never
   * change. Written by inbox.ts and inboxWorker.ts.
   */
  inboxEvents: defineTable({
    /** The signed event id, or the hash of a body that has none. Unique. */
    eventKey: v.string(),
    eventId: v.union(v.string(), v.null()),
    type: v.union(v.string(), v.null()),
    /** Of the first delivery. */
    webhookId: v.union(v.string(), v.null()),
    payloadHash: v.string(),
    occurredAtNs: v.union(v.int64(), v.null()),
    /** Whose it is, once it was read. */
    accountId: v.union(v.id("accounts"), v.null()),
    receivedAtMs: v.number(),
    lastSeenAtMs: v.number(),
    ...progressFields,
  })
    .index("by_event_key", ["eventKey"])
    .index("by_webhook", ["webhookId"])
    .index("by_due", ["nextAttemptAtMs"])
    .index("by_account", ["accountId"])
    .index("by_status", ["status"]),

  /** The signed text of an event, in parts, because a row holds a megabyte at most. Written with the event. */
  inboxPayloads: defineTable({ inboxEventId: v.id("inboxEvents"), part: v.number(), text: v.string() }).index(
    "by_event",
    ["inboxEventId", "part"],
  ),

  /** One row for every delivery, kept for good: it is the evidence of what arrived and when. Written by inbox.ts. */
  receipts: defineTable({
    inboxEventId: v.id("inboxEvents"),
    webhookId: v.union(v.string(), v.null()),
    kid: v.string(),
    isCopy: v.boolean(),
    flags: v.array(deliveryFlagValidator),
    atMs: v.number(),
  })
    .index("by_event", ["inboxEventId", "atMs"])
    .index("by_at", ["atMs"]),

  /** What an event, or a drift check, said about a plan. Kept even when it changed nothing. Written by customers.ts. */
  planChanges: defineTable({
    accountId: v.id("accounts"),
    eventId: v.string(),
    kind: planFactKindValidator,
    atNs: v.int64(),
    planKey: v.union(v.string(), v.null()),
    agreementId: v.union(v.string(), v.null()),
    storedAtMs: v.number(),
  })
    .index("by_account", ["accountId", "storedAtMs"])
    .index("by_account_event", ["accountId", "eventId"]),

  /** What an event said about a payment. Written by customers.ts. */
  payments: defineTable({
    accountId: v.id("accounts"),
    eventId: v.string(),
    kind: v.union(v.literal("succeeded"), v.literal("failed"), v.literal("overdue")),
    atNs: v.int64(),
    storedAtMs: v.number(),
  }).index("by_account", ["accountId"]),

  /** The credit ledger of an account: append only, `entryKey` unique in it. Written by credits.ts. */
  credits: defineTable({
    accountId: v.id("accounts"),
    period: v.string(),
    units: v.number(),
    reason: creditReasonValidator,
    entryKey: v.string(),
    planKey: v.union(v.string(), v.null()),
    atMs: v.number(),
  })
    .index("by_account_period", ["accountId", "period"])
    .index("by_account_reason", ["accountId", "reason"])
    .index("by_account_key", ["accountId", "entryKey"]),

  /** A message to one's later self. Costs one credit of the month it was written in. Written by reminders.ts. */
  reminders: defineTable({
    accountId: v.id("accounts"),
    /** Chosen by the caller: the same key is the same reminder, also after it ended. */
    key: v.string(),
    text: v.string(),
    dueAtMs: v.number(),
    status: v.union(v.literal("waiting"), v.literal("delivered"), v.literal("cancelled")),
    /** The month whose credit it took, and gives back when it is cancelled. */
    period: v.string(),
    createdAtMs: v.number(),
    deliveredAtMs: v.union(v.number(), v.null()),
    cancelledAtMs: v.union(v.number(), v.null()),
    readAtMs: v.union(v.number(), v.null()),
    /** The function that delivers it. */
    deliveryId: v.union(v.id("_scheduled_functions"), v.null()),
  })
    .index("by_account", ["accountId", "dueAtMs"])
    .index("by_account_key", ["accountId", "key"])
    .index("by_account_status", ["accountId", "status", "dueAtMs"])
    .index("by_status_due", ["status", "dueAtMs"]),

  /**
   * A difference between an account and the provider that was seen once and not yet confirmed. At most one an account.
   * Written by drift.ts.
   */
  driftSightings: defineTable({
    accountId: v.id("accounts"),
    /** When the question of the first reading was sent. */
    firstSentAtMs: v.number(),
    planKey: v.union(v.string(), v.null()),
    /** Agreements that events told and the provider did not list as in force, sorted. */
    endedAgreementIds: v.array(v.string()),
  }).index("by_account", ["accountId"]),

  /** What a drift check found and did. Append only. Written by drift.ts. */
  driftEvidence: defineTable({
    accountId: v.id("accounts"),
    beforePlanKey: v.string(),
    providerPlanKey: v.union(v.string(), v.null()),
    endedAgreementIds: v.array(v.string()),
    firstSentAtMs: v.number(),
    secondSentAtMs: v.number(),
    outcome: v.union(v.literal("repaired"), v.literal("gone")),
    atMs: v.number(),
  }).index("by_account", ["accountId"]),

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

  /**
   * An Engine Room run on its own throw-away account. Written by engineRoom.ts only; the oldest are removed with all
   * that belongs to their accounts (labRemoval.ts).
   */
  engineRoomRuns: defineTable({
    accountId: v.id("accounts"),
    seed: v.union(v.number(), v.null()),
    /** The plan that the account changes to, and what it has more than the free one. */
    planKey: v.string(),
    upgradeUnits: v.number(),
    changedAtMs: v.number(),
    /** What both sides start with. */
    start: planAndBalanceValidator,
    /** The deliveries in their order. */
    script: v.array(v.object(scenarioStepFields)),
    /** The naive handler's own state. It lives nowhere else. */
    naive: planAndBalanceValidator,
    /** What became of the deliveries so far. */
    steps: v.array(engineRoomStepValidator),
    /** Why it ended before its last delivery; null when it did not. */
    failure: v.union(v.string(), v.null()),
    startedAtMs: v.number(),
    /** What takes the deliveries: a run whose driver has ended takes no more. Runs of before have none. */
    driverId: v.optional(v.id("_scheduled_functions")),
  }),

  /** The provider's machine token, because functions keep no state of their own. Written by kinde.ts; never public. */
  providerTokens: defineTable({
    issuerUrl: v.string(),
    accessToken: v.string(),
    expiresAtMs: v.number(),
  }).index("by_issuer", ["issuerUrl"]),

  /** The rate window of an account. Written by the gate; the limit in it by operators. */
  billing: defineTable({
    accountId: v.id("accounts"),
    limitPerMinute: v.number(),
    windowStartMs: v.number(),
    count: v.number(),
    /** Start of the last window in which a refusal was recorded: one row a window is enough. */
    refusedWindowStartMs: v.union(v.number(), v.null()),
  }).index("by_account", ["accountId"]),

  /**
   * The cached limit of an account and feature. Written by the refresh (limits.ts), by the gate when it grants the
   * refresh lease, and by operators who set a fixed limit.
   */
  limits: defineTable({
    accountId: v.id("accounts"),
    feature: v.string(),
    provider: providerValidator,
    limitUnits: limitUnitsValidator,
    /** The plan that the provider named together with the limit. */
    planKey: v.union(v.string(), v.null()),
    readAtMs: v.union(v.number(), v.null()),
    refreshFence: v.number(),
    refreshLeaseExpiresAtMs: v.union(v.number(), v.null()),
    refreshFailedAtMs: v.union(v.number(), v.null()),
    refreshFailure: v.union(v.string(), v.null()),
    refreshRequiredAtMs: v.union(v.number(), v.null()),
  }).index("by_account_feature", ["accountId", "feature"]),

  /** The fixed provider's own table: what an operator set. The gate never reads it, only the refresh does. */
  fixedLimits: defineTable({
    accountId: v.id("accounts"),
    feature: v.string(),
    limitUnits: limitUnitsValidator,
    setAtMs: v.number(),
  }).index("by_account_feature", ["accountId", "feature"]),

  /** Settled use and open holds of one cycle: the serial point. Written by the gate only; repaired by the audit. */
  budgets: defineTable({
    accountId: v.id("accounts"),
    feature: v.string(),
    cycle: v.string(),
    usedUnits: v.number(),
    heldUnits: v.number(),
  }).index("by_account_feature_cycle", ["accountId", "feature", "cycle"]),

  /** Admitted jobs, running and ended. Written by the gate only. Inserted in one place: admission.ts. */
  jobs: defineTable({
    accountId: v.id("accounts"),
    ...jobFields,
    /** The runner's next step, while one is scheduled. */
    runnerStepId: v.union(v.id("_scheduled_functions"), v.null()),
  })
    // Every start and end of a job writes each of these, so there is one for each question and none to spare.
    .index("by_account_key", ["accountId", "key"])
    .index("by_account", ["accountId"])
    .index("by_account_status_lease", ["accountId", "status", "leaseExpiresAtMs"])
    .index("by_status_lease", ["status", "leaseExpiresAtMs"]),

  /**
   * Refused admissions with the numbers at that moment. Written by the gate; removed by the purge after 30 days.
   * A key or a number that was never acceptable is not recorded, nor is more than one rate refusal a window.
   */
  refusals: defineTable({
    accountId: v.id("accounts"),
    key: v.string(),
    kind: v.string(),
    requestedUnits: v.number(),
    refusal: refusalValidator,
    atMs: v.number(),
  })
    .index("by_account", ["accountId"])
    .index("by_at", ["atMs"]),

  /** A billing agreement of an account, as the provider told it. Written by agreements.ts. */
  agreements: defineTable({
    accountId: v.id("accounts"),
    agreementId: v.string(),
    planKey: v.union(v.string(), v.null()),
    fromMs: v.number(),
    /** Null while it is in force. */
    untilMs: v.union(v.number(), v.null()),
  })
    .index("by_account", ["accountId", "fromMs"])
    .index("by_agreement", ["agreementId"])
    .index("by_until", ["untilMs"]),

  /** What the provider counts on its own: agreement, feature and cycle. Made with the first entry. Written by ledger.ts. */
  meters: defineTable({
    accountId: v.id("accounts"),
    /** Null while the account has no agreement: counted here, sent nowhere. */
    agreementId: v.union(v.string(), v.null()),
    feature: v.string(),
    cycle: v.string(),
    cycleStartMs: v.number(),
    cycleEndMs: v.number(),
  })
    .index("by_account_feature_cycle", ["accountId", "feature", "cycle", "agreementId"])
    .index("by_cycle_end", ["cycleEndMs"]),

  /**
   * The ledger: append only. Inserted in one place, ledger.ts; never changed, and deleted with a throw-away lab account
   * only (labRemoval.ts).
   */
  entries: defineTable({
    accountId: v.id("accounts"),
    meterId: v.id("meters"),
    /** The counter of the meter that took the units. */
    shard: v.number(),
    feature: v.string(),
    /** The cycle of the meter, in which the entry is booked. */
    cycle: v.string(),
    /** Counts once: the id of the job, the key of the click, or what a correction is made from. */
    key: v.string(),
    units: v.number(),
    atMs: v.number(),
    origin: entryOriginValidator,
    /** The cycle whose budget paid, which is the one that admitted the job. Null for what no budget paid. */
    budgetCycle: v.union(v.string(), v.null()),
    /** The entry that this one corrects; null for an entry of its own. */
    correctsEntryId: v.union(v.id("entries"), v.null()),
  })
    .index("by_key", ["key"])
    .index("by_meter_shard", ["meterId", "shard"])
    .index("by_account_feature_cycle", ["accountId", "feature", "cycle", "atMs"])
    .index("by_account_feature_budgetCycle", ["accountId", "feature", "budgetCycle"])
    .index("by_corrected", ["correctsEntryId"]),

  /** The counters of a meter, 64 at most. Written by ledger.ts, rebuilt by the reconciler. */
  shards: defineTable({ meterId: v.id("meters"), shard: v.number(), units: v.number() }).index(
    "by_meter_shard",
    ["meterId", "shard"],
  ),

  /** "This meter may be behind": at most one a meter. Written by ledger.ts, taken by the reporter when it is due. */
  marks: defineTable({ meterId: v.id("meters"), dueAtMs: v.number() })
    .index("by_meter", ["meterId"])
    .index("by_due", ["dueAtMs"]),

  /** How far a meter at the provider follows the ledger (lib/ledger/report-state.ts). Written by the reporter. */
  reports: defineTable({
    meterId: v.id("meters"),
    state: reportStateValidator,
    /** Copy of the lease in the state, for finding senders that died: an ended lease does what a mark does. */
    leaseExpiresAtMs: v.union(v.number(), v.null()),
  })
    .index("by_meter", ["meterId"])
    .index("by_lease", ["leaseExpiresAtMs"]),

  /** The meters of the fixed provider. Kept apart from the ledger, so that the two can be compared. */
  fixedTotals: defineTable({
    meterId: v.id("meters"),
    totalUnits: v.number(),
    writtenAtMs: v.number(),
  }).index("by_meter", ["meterId"]),

  /** One reconciliation result that said something new about its meter. Written by the reconciler. */
  evidence: defineTable({
    accountId: v.id("accounts"),
    meterId: v.id("meters"),
    ledgerUnits: v.number(),
    counterUnits: v.number(),
    sentUnits: v.union(v.number(), v.null()),
    providerUnits: v.union(v.number(), v.null()),
    verdict: verdictValidator,
    cause: v.union(v.string(), v.null()),
    status: evidenceStatusValidator,
    readBackUnits: v.union(v.number(), v.null()),
    error: v.union(v.string(), v.null()),
    atMs: v.number(),
    /** When a later run last found just this again; left out while none did. */
    seenAtMs: v.optional(v.number()),
  })
    .index("by_meter", ["meterId"])
    .index("by_account", ["accountId"]),

  /** A short link. A deleted one stays, so that its code is never given again. Written by links.ts. */
  links: defineTable({
    accountId: v.id("accounts"),
    code: v.string(),
    /** The exact `Location`, and the host as it is shown (lib/ledger/target.ts). */
    location: v.string(),
    displayHost: v.string(),
    title: v.string(),
    capUnits: v.union(v.number(), v.null()),
    overCapLocation: v.union(v.string(), v.null()),
    /** Since when it is disabled or deleted; null while it is active. */
    inactiveSinceMs: v.union(v.number(), v.null()),
    deletedAtMs: v.union(v.number(), v.null()),
    createdAtMs: v.number(),
  })
    .index("by_code", ["code"])
    .index("by_account", ["accountId", "deletedAtMs"])
    .index("by_owner", ["accountId"]),

  /** Billable clicks of a link, in LINK_SHARDS counters. Written with the click. */
  linkTotals: defineTable({ linkId: v.id("links"), shard: v.number(), billedUnits: v.number() }).index(
    "by_link_shard",
    ["linkId", "shard"],
  ),

  /** Clicks of a link by hour and class, for charts. Written with the click. */
  linkStats: defineTable({
    linkId: v.id("links"),
    hourMs: v.number(),
    class: clickClassValidator,
    shard: v.number(),
    count: v.number(),
  }).index("by_link_hour", ["linkId", "hourMs", "class", "shard"]),

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

  /** One Concurrency Lab run on its own throw-away account. Written by lab.ts and labSteps.ts, removed by labPurge.ts. */
  labRuns: defineTable({
    accountId: v.id("accounts"),
    jobs: v.number(),
    units: v.number(),
    limitUnits: v.number(),
    steps: v.number(),
    stepMs: v.number(),
    /** The plain check's own count: read before a lane starts, raised when it ends. That is its whole fault. */
    plainSpentUnits: v.number(),
    startedAtMs: v.number(),
  }),

  /** The lanes of a lab run. A held lane points at its job; a plain one is nowhere but here. Written by both too. */
  labLanes: defineTable({
    labRunId: v.id("labRuns"),
    side: v.union(v.literal("plain"), v.literal("held")),
    lane: v.number(),
    status: v.union(
      v.literal("waiting"),
      v.literal("running"),
      v.literal("finished"),
      v.literal("refused"),
      v.literal("gated"),
    ),
    step: v.number(),
    jobId: v.union(v.id("jobs"), v.null()),
    refusal: v.union(refusalValidator, v.null()),
  }).index("by_run", ["labRunId", "side", "lane"]),

  /** What happened in the lanes of a lab run, in the order of its commits. Written by labSteps.ts only. */
  labSteps: defineTable({ labRunId: v.id("labRuns"), ...labStepFields }).index("by_run", ["labRunId"]),

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
});
