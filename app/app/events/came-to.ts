import type { FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import { planName } from "../plan/plans.ts";

/** What became of billing events, said to the customer they are about. */

export type EventView = FunctionReturnType<typeof api.screensEvents.recent>["events"][number];

/** What an applied event of each type did. */
const DID: Readonly<Record<string, string>> = {
  "customer.agreement_created": "The agreement is noted.",
  "customer.agreement_cancelled": "The agreement is ended.",
  "customer.plan_assigned": "The plan is set.",
  "customer.plan_changed": "The plan is set.",
  "customer.payment_succeeded": "The payment is noted.",
  "customer.payment_failed": "The failed payment is noted.",
  "customer.invoice_overdue": "The overdue invoice is noted.",
  "user.created": "Your email address is noted.",
  "user.updated": "Your email address is noted.",
  "user.deleted": "The account is deleted.",
};

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
  if (planKey === null) return DID[type ?? ""] ?? "Applied.";
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
