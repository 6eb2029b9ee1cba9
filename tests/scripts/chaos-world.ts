import { emptyJournal, type Journal, type JobNote } from "../../scripts/chaos/journal.ts";
import type { ProviderRows, Remains, Row } from "../../scripts/chaos/rows.ts";
import type { LastWords } from "../../scripts/chaos/settle.ts";

type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
    : T;

/** A run that ended well, small enough to see: a job, two clicks and four events of one customer. */
export interface SmallWorld {
  readonly journal: Journal;
  readonly tables: Record<string, Record<string, unknown>[]>;
  readonly provider: Mutable<ProviderRows>;
  readonly spoolFiles: string[];
  readonly lastWords: Mutable<LastWords>;
}

export function remainsOf({ tables, provider, spoolFiles }: SmallWorld): Remains {
  return { rows: (table) => (tables[table] ?? []) as unknown as readonly Row[], provider, spoolFiles };
}

const ACCOUNT = "account1";
const USER = "kp_1";
const REFERRER = "https://chaos.example/run/0/";

/** Admitted with 50 units, extended by 10, two steps of 12 and 8, settled with 30 stated. */
function jobNote(): JobNote {
  const view = { id: "job1", key: "job-0-1", step: 2, fence: 1 };
  return {
    accountId: ACCOUNT,
    key: "job-0-1",
    units: 50,
    admitted: { ...view, status: "running", heldUnits: 50, usedUnits: 0, step: 0 },
    refused: false,
    steps: [
      { step: 1, units: 12, chargedUnits: 12 },
      { step: 2, units: 8, chargedUnits: 8 },
    ],
    extensions: [{ units: 10, answered: true }],
    settle: { outcome: "completed", usedUnits: 30 },
    ended: { ...view, status: "completed", heldUnits: 60, usedUnits: 30 },
  };
}

const EVENTS = [
  { id: "event_created", type: "customer.agreement_created", userId: USER },
  { id: "event_paid", type: "customer.payment_succeeded", userId: USER },
];

export function smallWorld(): SmallWorld {
  const journal = emptyJournal();
  journal.jobs.push(jobNote());
  journal.clicks.push(
    { accountId: ACCOUNT, referrer: `${REFERRER}1`, answered: true },
    { accountId: ACCOUNT, referrer: `${REFERRER}2`, answered: true },
  );
  journal.events.push({ userId: USER, type: "payment_succeeded", eventId: "event_paid" });
  const click = (number: number) => ({
    _id: `click${number}`,
    accountId: ACCOUNT,
    meterId: "clicks",
    feature: "clicks",
    key: `${number}`.repeat(32),
    units: 1,
    budgetCycle: null,
    origin: { kind: "click", linkId: "link1", referrer: `${REFERRER}${number}` },
  });
  return {
    journal,
    lastWords: { waiting: null, unproven: [], budgetsRepaired: 0 },
    spoolFiles: [],
    tables: {
      accounts: [{ _id: ACCOUNT, kindeUserId: USER, planKey: "customer_pro_plan" }],
      agreements: [{ _id: "agreement1", accountId: ACCOUNT, agreementId: "ag_1", untilMs: null }],
      jobs: [
        {
          _id: "job1",
          accountId: ACCOUNT,
          key: "job-0-1",
          status: "completed",
          heldUnits: 60,
          usedUnits: 30,
          step: 2,
          cycle: "2026-12",
        },
      ],
      budgets: [{ _id: "budget1", accountId: ACCOUNT, cycle: "2026-12", usedUnits: 30, heldUnits: 0 }],
      limits: [{ _id: "limit1", accountId: ACCOUNT, limitUnits: 30 }],
      entries: [
        {
          _id: "entry1",
          accountId: ACCOUNT,
          meterId: "tokens",
          feature: "tokens",
          key: "job1",
          units: 30,
          budgetCycle: "2026-12",
          origin: { kind: "job", jobId: "job1" },
        },
        click(1),
        click(2),
      ],
      meters: [
        { _id: "tokens", agreementId: "ag_1", feature: "tokens" },
        { _id: "clicks", agreementId: "ag_1", feature: "clicks" },
      ],
      shards: [
        { _id: "shard1", meterId: "tokens", units: 30 },
        { _id: "shard2", meterId: "clicks", units: 1 },
        { _id: "shard3", meterId: "clicks", units: 1 },
      ],
      reports: [
        {
          _id: "report1",
          meterId: "tokens",
          leaseExpiresAtMs: null,
          state: { confirmed: { totalUnits: 30 } },
        },
        {
          _id: "report2",
          meterId: "clicks",
          leaseExpiresAtMs: null,
          state: { confirmed: { totalUnits: 2 } },
        },
      ],
      links: [{ _id: "link1" }],
      linkTotals: [{ _id: "total1", linkId: "link1", billedUnits: 2 }],
      linkStats: [{ _id: "stats1", linkId: "link1", count: 2 }],
      inboxEvents: EVENTS.map(({ id }) => ({
        _id: `stored_${id}`,
        eventId: id,
        seenCount: 1,
        status: "applied",
      })),
      receipts: EVENTS.map(({ id }) => ({ _id: `receipt_${id}`, inboxEventId: `stored_${id}` })),
      payments: [{ _id: "payment1", eventId: "event_paid" }],
      planChanges: [{ _id: "fact1", eventId: "event_created" }],
      credits: [
        { _id: "credit1", accountId: ACCOUNT, entryKey: "grant 2026-12 500", reason: "grant", units: 500 },
      ],
    },
    provider: {
      users: [{ id: USER, customerId: "customer_1" }],
      agreements: [{ id: "ag_1", customerId: "customer_1", planKey: "customer_pro_plan", endedAtMs: null }],
      events: structuredClone(EVENTS),
      told: [{ customerId: "customer_1", type: "customer.payment_succeeded" }],
      deliveries: EVENTS.map(({ id }) => ({ eventId: id, status: "delivered" })),
      accepted: EVENTS.map(({ id }) => ({ eventId: id, count: 1 })),
      meters: [
        { agreementId: "ag_1", feature: "tokens", cycleStartMs: 0, totalUnits: 30 },
        { agreementId: "ag_1", feature: "clicks", cycleStartMs: 0, totalUnits: 2 },
      ],
    },
  };
}
