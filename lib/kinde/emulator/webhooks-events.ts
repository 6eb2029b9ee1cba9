/**
 * What events say. Kinde documents the frame and the `data` of users; that of billing is composed from what published
 * handlers look for (facts §4.4, design §7). Pure.
 */
import { must } from "../../shared/assert.ts";
import { findPlan, type Catalogue } from "./catalogue.ts";
import type { Change } from "./changes.ts";
import { ORGANIZATION } from "./claims.ts";
import type { SentType } from "./webhooks-types.ts";

/** Whom a change is about. */
export interface Subject {
  readonly userId: string;
  readonly customerId: string;
  readonly email: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly permissions: readonly string[];
}

export interface EventDraft {
  readonly type: SentType;
  readonly data: Readonly<Record<string, unknown>>;
  /** How long after the change it is to have happened. */
  readonly afterMs: number;
}

/** Kinde ends the agreement that a plan change replaces a few milliseconds later (case C04b). */
const CANCELLED_AFTER_MS = 5;

const TYPES = {
  user_created: "user.created",
  user_updated: "user.updated",
  user_deleted: "user.deleted",
  user_signed_in: "user.authenticated",
  agreement_created: "customer.agreement_created",
  plan_assigned: "customer.plan_assigned",
  plan_changed: "customer.plan_changed",
  payment_succeeded: "customer.payment_succeeded",
  agreement_ended: "customer.agreement_cancelled",
  meter_written: "customer.meter_usage_updated",
} as const satisfies Record<Exclude<Change["kind"], "event_told">, SentType>;

export function draftOf(change: Change, subject: Subject, catalogue: Catalogue): EventDraft {
  if (change.kind === "event_told") return toldDraft(change, subject, catalogue);
  const type = TYPES[change.kind];
  const afterMs = change.kind === "agreement_ended" && change.replaced ? CANCELLED_AFTER_MS : 0;
  return { type, data: dataOf(type, change, subject, catalogue), afterMs };
}

function toldDraft(
  change: Extract<Change, { kind: "event_told" }>,
  subject: Subject,
  catalogue: Catalogue,
): EventDraft {
  const data = { ...dataOf(change.type, change, subject, catalogue), ...change.data };
  const kept = Object.entries(data).filter(([, value]) => value !== null);
  return { type: change.type, data: Object.fromEntries(kept), afterMs: 0 };
}

function dataOf(
  type: SentType,
  change: Change,
  subject: Subject,
  catalogue: Catalogue,
): Record<string, unknown> {
  if (type === "user.created" || type === "user.updated") return { user: profile(subject) };
  if (!type.startsWith("customer.") || !("customerId" in change)) return { user: { id: subject.userId } };
  const plan = change.planKey === null ? null : findPlan(catalogue, change.planKey);
  return {
    user_id: subject.userId,
    customer_id: subject.customerId,
    customer_type: "user",
    ...(change.agreementId === null ? {} : { agreement_id: change.agreementId }),
    ...(plan === null ? {} : { plan: { key: plan.key, name: plan.name } }),
    ...(isPayment(type) ? { amount: plan?.monthlyPriceCents ?? 0, currency: "USD" } : {}),
    ...(change.kind === "meter_written"
      ? {
          meter_id: change.recordId,
          billing_feature_code: change.featureKey,
          quantity: change.totalUnits,
        }
      : {}),
  };
}

function isPayment(type: SentType): boolean {
  return (
    type === "customer.payment_succeeded" ||
    type === "customer.payment_failed" ||
    type === "customer.invoice_overdue"
  );
}

function profile({ userId, email, givenName, familyName, permissions }: Subject): Record<string, unknown> {
  return {
    id: userId,
    email,
    first_name: givenName,
    last_name: familyName,
    is_password_reset_requested: false,
    is_suspended: false,
    phone: null,
    username: null,
    organizations: [{ code: ORGANIZATION.code, roles: null, permissions }],
  };
}

/** The claims of a signed body, in Kinde's order. */
export interface EventClaims {
  readonly type: string;
  readonly event_id: string;
  readonly timestamp: string;
  readonly event_timestamp: string;
  readonly source: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export function readClaims(text: string): EventClaims {
  const claims = JSON.parse(text) as EventClaims;
  must(claims.event_id, "a stored event has no id");
  return claims;
}
