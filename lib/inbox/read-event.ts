import { isRecord } from "./event.ts";
import { parseEventNs } from "./event-time.ts";
import type { PaymentFact, PlanFact } from "./facts.ts";
import { EventFieldError, object, optionalObject, optionalText, text } from "./fields.ts";

/** Who an event is about. At least one of the ids is there. */
export interface Subject {
  readonly userId: string | null;
  readonly customerId: string | null;
}

/** What an event says, in our words. */
export type EventContent =
  | { readonly kind: "plan"; readonly fact: PlanFact }
  | { readonly kind: "payment"; readonly fact: PaymentFact }
  /** `email` undefined: the event does not tell it. */
  | { readonly kind: "profile"; readonly email: string | null | undefined }
  | { readonly kind: "deleted" };

export type ReadEvent =
  | {
      readonly kind: "read";
      readonly eventId: string;
      readonly atNs: bigint;
      readonly subject: Subject;
      readonly content: EventContent;
    }
  | { readonly kind: "ignored"; readonly reason: string }
  /** Trying again cannot help: the event is dead at once, with the path of the field. */
  | { readonly kind: "permanent"; readonly path: string; readonly message: string };

type Fields = Readonly<Record<string, unknown>>;
type Identity = { readonly eventId: string; readonly atNs: bigint };
type Reader = (data: Fields, identity: Identity) => EventContent;

/** The types with a handler. The subject is in `data` for customers, in `data.user` for users. */
const READERS: Readonly<Record<string, { readonly about: "customer" | "user"; readonly read: Reader }>> = {
  "customer.agreement_created": { about: "customer", read: readAgreementCreated },
  "customer.agreement_cancelled": { about: "customer", read: readAgreementCancelled },
  "customer.plan_assigned": { about: "customer", read: planReader("plan_assigned") },
  "customer.plan_changed": { about: "customer", read: planReader("plan_changed") },
  "customer.payment_succeeded": { about: "customer", read: paymentReader("succeeded") },
  "customer.payment_failed": { about: "customer", read: paymentReader("failed") },
  "customer.invoice_overdue": { about: "customer", read: paymentReader("overdue") },
  "user.created": { about: "user", read: readProfile },
  "user.updated": { about: "user", read: readProfile },
  "user.deleted": { about: "user", read: () => ({ kind: "deleted" }) },
};

/** What a webhook has to ask the provider for; every other type is stored and passed over. */
export const HANDLED_TYPES: readonly string[] = Object.keys(READERS);

const METER_REASON = "the meter is a copy of our ledger; the reconciler reads it";
const ORGANIZATION_REASON = "it is about an organization; customers here are users";

/** Reads a stored body. Never throws for whatever it holds; asks nothing that the handler of its type does not need. */
export function readEvent(body: unknown): ReadEvent {
  try {
    return readOrThrow(body);
  } catch (error) {
    if (!(error instanceof EventFieldError)) throw error;
    return { kind: "permanent", path: error.path, message: error.message };
  }
}

function readOrThrow(body: unknown): ReadEvent {
  if (!isRecord(body)) throw new EventFieldError("", "the body is not an object");
  const type = text(body, "type");
  const eventId = text(body, "event_id");
  if (type === "customer.meter_usage_updated") return { kind: "ignored", reason: METER_REASON };
  const reader = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (reader === undefined) return { kind: "ignored", reason: `no handler for the type ${type}` };
  const atNs = readTime(body);
  const data = object(body, "data");
  if (reader.about === "customer" && isAboutOrganization(data)) {
    return { kind: "ignored", reason: ORGANIZATION_REASON };
  }
  const subject = reader.about === "customer" ? customerOf(data) : userOf(data);
  return { kind: "read", eventId, atNs, subject, content: reader.read(data, { eventId, atNs }) };
}

/** `event_timestamp` is when it happened; `timestamp`, when it was sent, stands in for one that is missing. */
function readTime(body: Fields): bigint {
  const atNs = parseEventNs(body.event_timestamp) ?? parseEventNs(body.timestamp);
  if (atNs !== null) return atNs;
  const isTold = body.event_timestamp !== undefined && body.event_timestamp !== null;
  throw new EventFieldError("event_timestamp", isTold ? "is no instant" : "is missing, and so is timestamp");
}

/** A user's event may name the organization the user is in, so the code alone decides only where no user is named. */
function isAboutOrganization(data: Fields): boolean {
  const type = optionalText(data, "data.customer_type");
  if (type !== null) return type.startsWith("org");
  return optionalText(data, "data.org_code") !== null && optionalText(data, "data.user_id") === null;
}

function customerOf(data: Fields): Subject {
  const nested = optionalObject(data, "data.customer");
  const userId = optionalText(data, "data.user_id");
  const customerId =
    optionalText(data, "data.customer_id") ?? (nested && optionalText(nested, "data.customer.id"));
  if (userId === null && customerId === null) {
    throw new EventFieldError("data.customer_id", "is missing, and so is data.user_id");
  }
  return { userId, customerId };
}

function userOf(data: Fields): Subject {
  return { userId: text(object(data, "data.user"), "data.user.id"), customerId: null };
}

function agreementOf(data: Fields): string | null {
  const nested = optionalObject(data, "data.agreement");
  return optionalText(data, "data.agreement_id") ?? (nested && optionalText(nested, "data.agreement.id"));
}

/** `key` is the Key an admin chose; `code` is another page's word for the same; `plan_id` is what one app saw. */
function optionalPlanOf(data: Fields): string | null {
  const plan = optionalObject(data, "data.plan");
  if (plan === null) return optionalText(data, "data.plan_id");
  const planKey = optionalText(plan, "data.plan.key") ?? optionalText(plan, "data.plan.code");
  if (planKey === null) throw new EventFieldError("data.plan.key", "is missing, and so is data.plan.code");
  return planKey;
}

function planReader(kind: "plan_assigned" | "plan_changed"): Reader {
  return (data, identity) => {
    const planKey = optionalPlanOf(data);
    if (planKey === null) throw new EventFieldError("data.plan", "is missing");
    return { kind: "plan", fact: { ...identity, kind, planKey, agreementId: agreementOf(data) } };
  };
}

function readAgreementCreated(data: Fields, identity: Identity): EventContent {
  const agreementId = agreementOf(data);
  if (agreementId === null) throw new EventFieldError("data.agreement_id", "is missing");
  // Without a plan it still tells the agreement; the plan comes with an event of its own.
  const planKey = optionalPlanOf(data);
  return { kind: "plan", fact: { ...identity, kind: "agreement_created", planKey, agreementId } };
}

function readAgreementCancelled(data: Fields, identity: Identity): EventContent {
  const agreementId = agreementOf(data);
  return { kind: "plan", fact: { ...identity, kind: "agreement_cancelled", planKey: null, agreementId } };
}

function paymentReader(kind: PaymentFact["kind"]): Reader {
  return (_, identity) => ({ kind: "payment", fact: { ...identity, kind } });
}

function readProfile(data: Fields): EventContent {
  const user = object(data, "data.user");
  return {
    kind: "profile",
    email: user.email === null ? null : (optionalText(user, "data.user.email") ?? undefined),
  };
}
