import type { FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import { Badge, type Tone } from "../../components/badge.tsx";
import { planName } from "../plan/plans.ts";

/** Billing events in words. */

export type EventView = FunctionReturnType<typeof api.screensEvents.recent>["events"][number];
type Status = EventView["status"];

/** What each type says, and what an applied one did. */
const TYPES: Readonly<Record<string, { readonly name: string; readonly did: string }>> = {
  "customer.agreement_created": { name: "Agreement made", did: "The agreement is noted." },
  "customer.agreement_cancelled": { name: "Agreement ended", did: "The agreement is ended." },
  "customer.plan_assigned": { name: "Plan assigned", did: "The plan is set." },
  "customer.plan_changed": { name: "Plan changed", did: "The plan is set." },
  "customer.payment_succeeded": { name: "Payment succeeded", did: "The payment is noted." },
  "customer.payment_failed": { name: "Payment failed", did: "The failed payment is noted." },
  "customer.invoice_overdue": { name: "Invoice overdue", did: "The overdue invoice is noted." },
  "customer.meter_usage_updated": { name: "Meter moved", did: "" },
  "user.created": { name: "Customer signed up", did: "Your email address is noted." },
  "user.updated": { name: "Customer changed", did: "Your email address is noted." },
  "user.deleted": { name: "Customer deleted", did: "The account is deleted." },
};

export const EVENT_TYPES: readonly (readonly [string, string])[] = Object.entries(TYPES).map(
  ([type, { name }]) => [type, name],
);

export const typeName = (type: string | null): string =>
  type === null ? "Not an event" : (TYPES[type]?.name ?? type);

const STATUSES: Readonly<Record<Status, { readonly name: string; readonly tone: Tone }>> = {
  received: { name: "waiting", tone: "accent" },
  processing: { name: "at work", tone: "accent" },
  applied: { name: "applied", tone: "good" },
  ignored: { name: "changed nothing", tone: "neutral" },
  failed: { name: "tried again soon", tone: "warn" },
  dead: { name: "stopped", tone: "bad" },
  quarantined: { name: "held back", tone: "warn" },
};

export const EVENT_STATUSES = Object.entries(STATUSES).map(
  ([status, { name }]) => [status as Status, name] as const,
);

export function EventStatus({ status }: { status: Status }) {
  const { name, tone } = STATUSES[status];
  return <Badge tone={tone}>{name}</Badge>;
}

/** What became of an event, as a sentence. */
export function cameTo({ status, type, result, error, planKey }: EventView): string {
  switch (status) {
    case "received":
      return "It waits for its turn.";
    case "processing":
      return "It is being applied.";
    case "applied": {
      const did = didOf(type, planKey);
      return result === null ? did : `${did} ${sentence(result)}`;
    }
    case "ignored":
      return result === null ? "Nothing to do." : sentence(result);
    case "failed":
      return `An attempt failed: ${error ?? "no reason was told"}.`;
    case "dead":
      return `It could not be applied: ${error ?? result ?? "no reason was told"}.`;
    case "quarantined":
      return result === null ? "Its time is far from when it came." : sentence(result);
  }
}

function didOf(type: string | null, planKey: string | null): string {
  if (planKey === null) return TYPES[type ?? ""]?.did ?? "Applied.";
  const plan = planName(planKey);
  if (type === "customer.agreement_created") return `An agreement for ${plan}.`;
  if (type === "customer.agreement_cancelled") return `The agreement for ${plan} is ended.`;
  return `It set the plan ${plan}.`;
}

export const isSettled = ({ status }: Pick<EventView, "status">): boolean =>
  status !== "received" && status !== "processing";

const sentence = (text: string): string => {
  const begun = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return begun.endsWith(".") ? begun : `${begun}.`;
};
