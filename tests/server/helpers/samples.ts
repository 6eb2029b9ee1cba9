/** Values as the Convex functions answer them; the tests change single fields. */

export const JOB_ID = "j57000820c20a1g7104gm2rc1m70ynr8";
export const ACCOUNT_ID = "k57000820c20a1g7104gm2rc1m70ynr8";
export const LINK_ID = "n57000820c20a1g7104gm2rc1m70ynr8";
export const KEY_ID = "m57000820c20a1g7104gm2rc1m70ynr8";

export const job = {
  id: JOB_ID,
  key: "job-1",
  kind: "default",
  feature: "tokens",
  status: "running",
  requestedUnits: 1000,
  heldUnits: 1000,
  usedUnits: 0,
  returnedUnits: 0,
  overCapUnits: 0,
  step: 0,
  fence: 1,
  leaseMs: 120_000,
  leaseExpiresAtMs: 1_790_000_120_000,
  cycle: "2026-10",
  startedAtMs: 1_790_000_000_000,
  endedAtMs: null,
  runner: null,
};

export const limit = { limitUnits: 100_000, readAtMs: 1_790_000_000_000, stale: false, provider: "fixed" };

export const room = {
  requestedUnits: 50,
  usedUnits: 20,
  heldUnits: 80,
  limitUnits: 100,
  freeUnits: 0,
  nextCycleStartMs: 1_793_000_000_000,
};

export const account = {
  id: ACCOUNT_ID,
  name: "First account",
  email: null,
  createdAtMs: 1_790_000_000_000,
  cycleAnchorMs: 1_790_000_000_000,
  cycleAnchorSource: "created",
  jobsPerMinute: 120,
  provider: "fixed",
};

export const apiKey = {
  id: KEY_ID,
  prefix: "hf_live_abcd",
  name: "First key",
  scopes: [
    "jobs:read",
    "jobs:write",
    "usage:read",
    "links:read",
    "links:write",
    "events:replay",
    "reminders:write",
  ],
  createdAtMs: 1_790_000_000_000,
  revokedAtMs: null,
  lastUsedAtMs: null,
};

export const usage = {
  accountId: ACCOUNT_ID,
  feature: "tokens",
  cycle: { name: "2026-10", startMs: 1_790_000_000_000, endMs: 1_793_000_000_000 },
  usedUnits: 20,
  heldUnits: 80,
  limitState: "known",
  limit,
  limitAgeMs: 1_000,
  freeUnits: 99_900,
  running: [job],
};

export const ENTRY_ID = "n57000820c20a1g7104gm2rc1m70ynr8";

export const entry = {
  id: ENTRY_ID,
  agreementId: "agreement_1",
  feature: "clicks",
  cycle: "2026-10",
  key: "0123456789abcdef0123456789abcdef",
  units: 1,
  atMs: 1_790_000_000_000,
  bookedAtMs: 1_790_000_000_100,
  origin: {
    kind: "click",
    linkId: "p57000820c20a1g7104gm2rc1m70ynr8",
    code: "sale",
    class: "billable",
    rule: "no rule against it",
    referrer: "https://news.example/item/1",
    agent: "Mozilla/5.0",
  },
};

export const entryPage = {
  cycle: { name: "2026-10", startMs: 1_790_000_000_000, endMs: 1_793_000_000_000 },
  entries: [entry],
  cursor: null,
};

export const entryFacts = {
  cycle: entryPage.cycle,
  agreement: { planKey: "pro", fromMs: 0 },
  cap: null,
  job: null,
  moved: null,
  ledgerUnits: 1,
  confirmed: null,
  proof: { isAtProvider: true, standing: "confirmed", reading: null },
};

export const estimate = {
  kind: "default",
  jobs: 12,
  p50UsedUnits: 400,
  p90UsedUnits: 900,
  p99UsedUnits: 1000,
  p50UsedShare: 0.4,
  p90UsedShare: 0.9,
  cappedShare: 0.1,
  lockedUnits: 6000,
  suggestedUnits: 1000,
};

export const link = {
  id: LINK_ID,
  code: "LoKE2",
  url: "http://localhost:3000/LoKE2",
  target: "https://example.com/a",
  displayHost: "example.com",
  title: "",
  capUnits: null,
  overCapTarget: null,
  isActive: true,
  billedUnits: 0,
  createdAtMs: 1_790_000_000_000,
};

export const linkStats = {
  hours: [{ hourMs: 1_789_999_200_000, clicks: { billable: 3, bot: 1 } }],
  nextFromMs: null,
};

export const REVIEW_ID = "k2700000000000000000000000000002";

export const meterResult = {
  meterId: KEY_ID,
  feature: "clicks",
  cycle: "2026-10",
  agreementId: "agreement_1",
  isAtProvider: true,
  ledgerUnits: 10,
  sentUnits: 8,
  meterUnits: 8,
  readBackUnits: 10,
  verdict: "under_billed",
  status: "repaired_and_confirmed",
  cause: "The ledger changed after the last report. A late click or a correction arrived.",
  error: null,
};

export const driftChecked = {
  status: "good",
  counts: { accounts: 1, repaired: 1 },
  accounts: [
    {
      accountId: "a1",
      outcome: "repaired",
      beforePlanKey: "customer_free_plan",
      providerPlanKey: "customer_pro_plan",
      error: null,
    },
  ],
};

export const driftPage = {
  evidence: [
    {
      id: "d1",
      accountId: "a1",
      beforePlanKey: "customer_free_plan",
      providerPlanKey: null,
      endedAgreementIds: ["agreement_1"],
      firstSentAtMs: 1_790_000_000_000,
      secondSentAtMs: 1_790_000_300_000,
      outcome: "repaired",
      atMs: 1_790_000_300_001,
    },
  ],
  cursor: null,
};

export const alertPage = {
  isConfigured: true,
  alerts: [
    {
      id: "m1",
      kind: "dead_event",
      subject: "event_1",
      detail: "customer.created: no path",
      status: "given_up",
      attempts: 6,
      nextAttemptAtMs: null,
      error: "it answered 500",
      createdAtMs: 1_790_000_000_000,
      sentAtMs: null,
    },
  ],
  cursor: "next",
};

export const review = {
  id: REVIEW_ID,
  kind: "late_usage",
  subject: KEY_ID,
  accountId: ACCOUNT_ID,
  detail: "clicks 2026-10 closed with 8 sent; the ledger has 10",
  late: { ledgerUnits: 10, sentUnits: 8, lateUnits: 2, maybeSentUnits: null },
  status: "open",
  openedAtMs: 1_790_000_000_000,
  decision: null,
  decidedBy: null,
  decidedAtMs: null,
  note: null,
};

export const REMINDER_ID = "q57000820c20a1g7104gm2rc1m70ynr8";

export const reminder = {
  id: REMINDER_ID,
  key: "ferns",
  text: "Water the ferns\nand the moss",
  dueAtMs: 1_790_000_600_000,
  status: "waiting",
  period: "2026-10",
  createdAtMs: 1_790_000_000_000,
  deliveredAtMs: null,
  cancelledAtMs: null,
  readAtMs: null,
};

export const EVENT_ID = "r57000820c20a1g7104gm2rc1m70ynr8";

export const billingEvent = {
  id: EVENT_ID,
  eventId: "event_1",
  type: "customer.plan_changed",
  accountId: ACCOUNT_ID,
  occurredAtMs: 1_790_000_000_000,
  receivedAtMs: 1_790_000_001_000,
  lastSeenAtMs: 1_790_000_002_000,
  status: "applied",
  result: "the plan is customer_pro_plan",
  error: null,
  attempts: 1,
  nextAttemptAtMs: null,
  seenCount: 2,
};

export const eventDetail = {
  event: billingEvent,
  payload: "{}",
  isPayloadCut: false,
  receipts: [{ atMs: 1_790_000_001_000, webhookId: "wh_1", kid: "key-1", isCopy: false, flags: [] }],
};
