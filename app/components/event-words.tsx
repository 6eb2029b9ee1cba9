import type { FunctionReturnType } from "convex/server";
import type { api } from "../../convex/_generated/api";
import { Badge, type Tone } from "./badge.tsx";

/** The words for billing events, on the screens of customers and operators alike: those of /docs/concepts. */

type Listed = FunctionReturnType<typeof api.screensOperators.events>["events"][number];
export type EventStatus = Listed["status"];
type Receipt = NonNullable<FunctionReturnType<typeof api.inboxEvents.get>>["receipts"][number];

const TYPE_NAMES: Readonly<Record<string, string>> = {
  "customer.agreement_created": "Agreement made",
  "customer.agreement_cancelled": "Agreement ended",
  "customer.plan_assigned": "Plan assigned",
  "customer.plan_changed": "Plan changed",
  "customer.payment_succeeded": "Payment succeeded",
  "customer.payment_failed": "Payment failed",
  "customer.invoice_overdue": "Invoice overdue",
  "customer.meter_usage_updated": "Meter moved",
  "user.created": "Customer signed up",
  "user.updated": "Customer changed",
  "user.deleted": "Customer deleted",
};

export const EVENT_TYPES: readonly (readonly [string, string])[] = Object.entries(TYPE_NAMES);

/** A type that has no name of its own is read out: "customer.x_done" is "X done". */
export function typeName(type: string | null): string {
  if (type === null) return "Not an event";
  const words = type.replace(/^customer\./, "").replaceAll(/[._]/g, " ");
  return TYPE_NAMES[type] ?? `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export const EVENT_STATUSES: Readonly<
  Record<EventStatus, { readonly name: string; readonly tone: Tone; readonly about: string }>
> = {
  received: { name: "waiting", tone: "accent", about: "Stored, and due to be applied." },
  processing: { name: "at work", tone: "accent", about: "A worker is applying it." },
  applied: { name: "applied", tone: "good", about: "All of its effects are written." },
  ignored: { name: "ignored", tone: "neutral", about: "Read, and there was nothing to do." },
  failed: { name: "tried again", tone: "warn", about: "The last attempt failed; the next is due by itself." },
  dead: {
    name: "dead letter",
    tone: "bad",
    about: "Out of attempts, or no attempt can help. Only a replay makes it due again.",
  },
  quarantined: {
    name: "quarantined",
    tone: "warn",
    about: "It arrived too far from its own time. Only an operator's replay makes it due.",
  },
};

export const isEventStatus = (text: string | null): text is EventStatus =>
  text !== null && text in EVENT_STATUSES;

export function EventState({ status }: { status: EventStatus }) {
  const { name, tone } = EVENT_STATUSES[status];
  return <Badge tone={tone}>{name}</Badge>;
}

/** What is odd about a delivery. */
export const RECEIPT_FLAGS: Readonly<Record<Receipt["flags"][number], string>> = {
  webhook_id_reused: "delivery id used by another event",
  other_body: "another text than the stored one, which counts",
};

/** How often an event came: the first time, and copies, which change nothing. */
export const deliveriesTitle = (seenCount: number): string =>
  seenCount === 1 ? "1 delivery" : `${seenCount} deliveries`;
