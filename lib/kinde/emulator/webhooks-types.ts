/** The event types that an endpoint can ask for (facts §4.3). */

const BILLING = [
  "customer.agreement_created",
  "customer.agreement_cancelled",
  "customer.plan_assigned",
  "customer.plan_changed",
  "customer.payment_succeeded",
  "customer.payment_failed",
  "customer.invoice_overdue",
  "customer.meter_usage_updated",
] as const;

const USERS = ["user.created", "user.updated", "user.deleted", "user.authenticated"] as const;

/** Known, but nothing here makes them happen. */
const NEVER_SENT = [
  "user.authentication_failed",
  "organization.created",
  "organization.updated",
  "organization.deleted",
  "subscriber.created",
  "access_request.created",
  "role.created",
  "role.updated",
  "role.deleted",
  "permission.created",
  "permission.updated",
  "permission.deleted",
] as const;

/** In this order they are numbered, so new ones go to the end. */
export const EVENT_TYPES = [...BILLING, ...USERS, ...NEVER_SENT] as const;

/** Those that something here makes happen, and that can be told by hand. */
export const SENT_TYPES = [...BILLING, ...USERS] as const;

export type SentType = (typeof SENT_TYPES)[number];

export function originOf(code: string): "billing" | "auth" {
  return code.startsWith("customer.") ? "billing" : "auth";
}
