import { DAY_MS } from "../shared/durations.ts";

/**
 * How long the rows of each table are kept. Nothing that counts is ever removed: entries, and all that says why one is
 * there, facts of events, credits, and the keys under which something was counted. What is removed was looked at or
 * not, and is no part of any sum.
 */
export type RetentionRule =
  /** Kept, and grows with what customers do. */
  | { readonly kind: "for_ever"; readonly why: string }
  /** At most so many rows, however long the installation runs. */
  | { readonly kind: "bounded"; readonly by: string }
  /** Removed once older than `keptMs`, a row of exactly that age not yet. */
  | { readonly kind: "removed"; readonly keptMs: number; readonly which: string; readonly why: string }
  /** Removed with the row that it belongs to. */
  | { readonly kind: "with"; readonly table: string };

const forEver = (why: string) => ({ kind: "for_ever", why }) as const;
const bounded = (by: string) => ({ kind: "bounded", by }) as const;
const withTable = (table: string) => ({ kind: "with", table }) as const;
const removed = (days: number, which: string, why: string) =>
  ({ kind: "removed", keptMs: days * DAY_MS, which, why }) as const;

const LOOKED_BACK = "for looking back at, not for the books";

export const RETENTION = {
  // The gate
  limits: bounded("one an account and feature"),
  fixedLimits: bounded("one an account and feature"),
  budgets: forEver("one an account, feature and cycle; the entries add up to it"),
  jobs: forEver("the key of a job is never admitted twice, and an entry names the job it is of"),
  refusals: removed(30, "all", LOOKED_BACK),
  labRuns: removed(30, "all but the newest 20", LOOKED_BACK),
  labLanes: withTable("labRuns"),
  labSteps: withTable("labRuns"),

  // The ledger
  agreements: forEver("they say which meter an entry belongs to"),
  meters: forEver("entries hang on them"),
  entries: forEver("the ledger"),
  shards: bounded("64 a meter"),
  marks: bounded("one a meter"),
  reports: bounded("one a meter"),
  fixedTotals: bounded("one a meter"),
  evidence: removed(
    90,
    "matches that a newer result of their meter has replaced, 90 days after it did",
    "the newest result of each meter, and whatever differed, was repaired or went to a person, stays for ever",
  ),
  links: forEver("the code of a deleted link is never given again"),
  linkTotals: bounded("64 a link"),
  linkStats: forEver("what the charts show; never more rows than clicks"),

  // The inbox
  inboxEvents: removed(
    90,
    "applied and ignored ones of customers, after they were last seen, with body and receipts",
    "a copy that comes later is quarantined for its age, and what an event told stays in planChanges and payments; " +
      "what is dead or quarantined waits for a person",
  ),
  inboxPayloads: withTable("inboxEvents"),
  receipts: removed(90, "all", "each delivery is counted on its event as well"),
  planChanges: forEver("the plan is what these facts come to, in every order"),
  payments: forEver("what is overdue is what these facts come to"),
  credits: forEver("the ledger of credits; the key of a grant is never booked twice"),
  reminders: forEver("what customers wrote, and keys that are never taken twice"),
  driftSightings: bounded("one an account"),
  driftEvidence: forEver("why a plan changed without an event"),
  engineRoomRuns: removed(30, "all but the newest 20, and all but the newest 50 at once", LOOKED_BACK),

  // Customers, keys, operators
  accounts: forEver("customers; those of the labs go with their runs"),
  apiKeys: forEver("the audit names them, and a revoked one stays revoked"),
  billing: bounded("one an account"),
  providerTokens: bounded("one a provider"),
  reviews: forEver("what a person decided, about money"),
  alerts: removed(90, "sent and given up ones", "the review that it told of stays"),
  settings: bounded("one"),
  audit: forEver("who changed what"),
  runs: bounded("one a worker"),
  runHistory: bounded("50 a worker"),
} as const satisfies Record<string, RetentionRule>;
