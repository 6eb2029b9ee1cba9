// Billing events on their way: told at the provider, delivered, stored, applied. Each once, however often it was sent.
import { DEFAULT_ALLOWANCES } from "../../lib/inbox/allowance.ts";
import { type Findings, grouped, sumOf } from "./findings.ts";
import type { EventNote, PlanNote } from "./journal.ts";
import type { ProviderRows, Remains, Row } from "./rows.ts";

const PAYMENTS: ReadonlySet<string> = new Set([
  "customer.payment_succeeded",
  "customer.payment_failed",
  "customer.invoice_overdue",
]);
const PLAN_FACTS: ReadonlySet<string> = new Set([
  "customer.agreement_created",
  "customer.agreement_cancelled",
  "customer.plan_assigned",
  "customer.plan_changed",
]);

export function compareEvents(
  notes: readonly EventNote[],
  plans: readonly PlanNote[],
  remains: Remains,
  findings: Findings,
): void {
  compareTold(notes, remains.provider, findings);
  comparePlanChanges(plans, remains.provider, findings);
  compareInbox(remains, findings);
  compareEffects(remains, findings);
  compareCustomers(remains, findings);
}

/** What the provider said it had taken is there; without an answer it may be. */
function compareTold(notes: readonly EventNote[], provider: ProviderRows, findings: Findings): void {
  const ids = new Set(provider.events.map(({ id }) => id));
  for (const { eventId, type } of notes) {
    if (eventId !== null && !ids.has(eventId)) findings.lost("told event", eventId, `${type} is not there`);
  }
  const customers = new Map(provider.users.map(({ id, customerId }) => [id, customerId]));
  const asked = grouped(notes, ({ userId, type }) => `${customers.get(userId)} customer.${type}`);
  for (const [name, told] of grouped(provider.told, ({ customerId, type }) => `${customerId} ${type}`)) {
    const sent = asked.get(name)?.length ?? 0;
    if (told.length > sent) findings.doubled("told event", name, `${sent} sent, ${told.length} there`);
  }
}

/** A change of plan begins an agreement, also one to the plan of before. */
function comparePlanChanges(plans: readonly PlanNote[], provider: ProviderRows, findings: Findings): void {
  const customers = new Map(provider.users.map(({ id, customerId }) => [id, customerId]));
  for (const [userId, changes] of grouped(plans, (plan) => plan.userId)) {
    const customerId = customers.get(userId);
    // One is that of the sign-up.
    const begun = provider.agreements.filter((agreement) => agreement.customerId === customerId).length - 1;
    const answered = changes.filter((change) => change.answered).length;
    if (begun < answered) findings.lost("plan change", userId, `${answered} answered, ${begun} there`);
    if (begun > changes.length)
      findings.doubled("plan change", userId, `${changes.length} sent, ${begun} there`);
  }
}

interface EventRow extends Row {
  readonly eventId: string | null;
  readonly seenCount: number;
  readonly status: string;
}

/** A delivery that was answered 200 is stored, and every event once, with a receipt for each delivery. */
function compareInbox(remains: Remains, findings: Findings): void {
  const { provider } = remains;
  const events = remains.rows("inboxEvents") as EventRow[];
  const stored = grouped(events, ({ eventId }) => String(eventId));
  for (const { eventId } of provider.accepted) {
    if (!stored.has(eventId)) findings.lost("webhook", eventId, "answered 200 and not stored");
  }
  for (const { eventId, status } of provider.deliveries) {
    if (status !== "delivered") findings.wrong("webhook", eventId, `is ${status} in the end`);
  }
  const told = new Set(provider.events.map(({ id }) => id));
  for (const [eventId, rows] of stored) {
    if (rows.length > 1) findings.doubled("webhook", eventId, `stored ${rows.length} times`);
    if (!told.has(eventId)) findings.wrong("webhook", eventId, "stored, and nobody told it");
  }
  const receipts = grouped(remains.rows("receipts"), ({ inboxEventId }) => String(inboxEventId));
  for (const { _id: id, eventId, seenCount } of events) {
    findings.compare("receipt", String(eventId), seenCount, receipts.get(id)?.length ?? 0);
  }
}

/** Each event has left one fact, and each grant was given once. */
function compareEffects(remains: Remains, findings: Findings): void {
  const payments = grouped(remains.rows("payments"), ({ eventId }) => String(eventId));
  const planFacts = grouped(remains.rows("planChanges"), ({ eventId }) => String(eventId));
  for (const { id, type } of remains.provider.events) {
    if (PAYMENTS.has(type)) findings.compare("payment", id, 1, payments.get(id)?.length ?? 0);
    if (PLAN_FACTS.has(type)) findings.compare("plan fact", id, 1, planFacts.get(id)?.length ?? 0);
  }
  const credits = grouped(
    remains.rows("credits"),
    ({ accountId, entryKey }) => `${String(accountId)} ${String(entryKey)}`,
  );
  for (const [name, rows] of credits) {
    if (rows.length > 1) findings.doubled("credit", name, `${rows.length} rows have this key`);
  }
}

/** Plan, agreement and credits of a customer are what the provider's books come to. */
function compareCustomers(remains: Remains, findings: Findings): void {
  const { provider } = remains;
  const accounts = grouped(remains.rows("accounts"), ({ kindeUserId }) => String(kindeUserId));
  for (const { id: userId, customerId } of provider.users) {
    const [account, ...others] = accounts.get(userId) ?? [];
    if (others.length > 0) findings.doubled("customer", userId, `${others.length + 1} accounts`);
    if (account === undefined) {
      findings.lost("customer", userId, "there is no account");
      continue;
    }
    const agreements = provider.agreements.filter((agreement) => agreement.customerId === customerId);
    const current = agreements.findLast(({ endedAtMs }) => endedAtMs === null);
    if (account["planKey"] !== current?.planKey) {
      findings.wrong("plan", userId, `${String(account["planKey"])} here, ${current?.planKey} there`);
    }
    const inForce = remains
      .rows("agreements")
      .filter(({ accountId, untilMs }) => accountId === account._id && untilMs === null)
      .map(({ agreementId }) => String(agreementId));
    if (inForce.join() !== current?.id) {
      findings.wrong("agreement", userId, `${inForce.join(" and ")} here, ${current?.id} there`);
    }
    const granted = sumOf(
      remains
        .rows("credits")
        .filter(({ accountId, reason }) => accountId === account._id && reason === "grant"),
      ({ units }) => Number(units),
    );
    const best = Math.max(...agreements.map(({ planKey }) => DEFAULT_ALLOWANCES.unitsByPlan[planKey] ?? 0));
    findings.compare("credits", userId, best, granted);
  }
}
