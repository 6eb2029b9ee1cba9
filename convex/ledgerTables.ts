import { defineTable } from "convex/server";
import { v } from "convex/values";

import {
  clickClassValidator,
  entryOriginValidator,
  evidenceStatusValidator,
  reportStateValidator,
  verdictValidator,
} from "./validators";

/** Tables of the ledger: agreements, meters, entries, counters, what was reported and what was proven, and links. */
export const ledgerTables = {
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
    /** Of a match: when a newer result of its meter took its place. From then on it is kept for 90 days (lib/retention). */
    supersededAtMs: v.optional(v.number()),
  })
    .index("by_superseded", ["supersededAtMs"])
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
};
