import { defineTable } from "convex/server";
import { v } from "convex/values";

import {
  creditReasonValidator,
  deliveryFlagValidator,
  engineRoomStepValidator,
  planAndBalanceValidator,
  planFactKindValidator,
  progressFields,
  scenarioStepFields,
} from "./inboxValidators";

/** Tables of the inbox: billing events and what they come to, reminders, and the drift check. */
export const inboxTables = {
  /**
   * A billing event as it was signed, and how far it is on its way (lib/inbox/worker.ts). Identity and body never
   * change. Written by inbox.ts and inboxWorker.ts; a done one is removed after 90 days (lib/retention).
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

  /**
   * One row for every delivery: the evidence of what arrived and when. Written by inbox.ts, removed after 90 days
   * (lib/retention).
   */
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
};
