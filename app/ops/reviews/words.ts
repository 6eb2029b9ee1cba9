import type { FunctionArgs, FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import { formatUnits } from "../../components/format.ts";

export type ReviewView = FunctionReturnType<typeof api.screensOperators.reviews>["reviews"][number];
export type Decision = FunctionArgs<typeof api.reviews.decide>["decision"];

type Known = NonNullable<FunctionArgs<typeof api.screensOperators.reviews>["kind"]>;

/** What each kind of review is, and what a person can do about it. */
export const KINDS: Record<Known, { name: string; about: string }> = {
  late_usage: {
    name: "Usage after the end of a cycle",
    about:
      "Usage was booked in a cycle whose meter takes no more writes. Say what becomes of it: the decision books the rows.",
  },
  closed_cycle_drift: {
    name: "A closed meter differs",
    about:
      "The provider's meter of a closed cycle shows another total than the ledger. It is not written any more; correct the invoice at the provider if it is wrong, then sign.",
  },
  repeated_failure: {
    name: "Reports keep failing",
    about:
      "A total could not be sent many times in a row. It is tried on; find out why the provider refuses it.",
  },
  dead_event: {
    name: "A billing event is dead",
    about:
      "Its attempts are used up, or it can never be applied. Look at it in the inbox and replay it there.",
  },
  unknown_plan: {
    name: "A plan without an allowance",
    about:
      "A billing event names a plan that HOLDFAST_ALLOWANCES does not list. Add it there, or sign that it is worth none.",
  },
  missed_webhooks: {
    name: "Webhooks were missed",
    about:
      "A plan changed at the provider and no webhook told of it, or none arrive at all. Check the endpoint there.",
  },
  customer_gone: {
    name: "A customer is gone at the provider",
    about:
      "The provider does not know this customer any more, and no event told of a deletion. Nothing was closed here: new jobs are refused because their limit cannot be read, links and keys work. Restore the customer there, or revoke the keys and disable the links here; then sign. It is not told again.",
  },
  broken_job: {
    name: "A job cannot be ended",
    about:
      "Its row contradicts itself, so the sweeper leaves it alone. Look at it with whoever runs the database.",
  },
  audit_too_large: {
    name: "Too much to compare",
    about:
      "More rows than one transaction reads were new at once. The next run compares them; sign when it did.",
  },
};

export function kindOf(kind: string): { name: string; about: string } {
  return KINDS[kind as Known] ?? { name: kind, about: "" };
}

export const DECISIONS: Record<Decision, { name: string; done: string }> = {
  carry_over: { name: "Carry over", done: "Carried over" },
  write_off: { name: "Write off", done: "Written off" },
  accept: { name: "Accept as it is", done: "Accepted" },
};

const units = (count: number): string => `${formatUnits(count)} ${count === 1 ? "unit" : "units"}`;

/** What a decision on late usage will do, with its numbers. `billedUnits` is what the closed meter was billed as. */
export function consequenceOf(decision: Decision, ledgerUnits: number, billedUnits: number): string {
  const lateUnits = ledgerUnits - billedUnits;
  const moved = units(Math.abs(lateUnits));
  const back = lateUnits < 0;
  if (lateUnits === 0 && decision !== "accept")
    return "Cannot be chosen: the closed meter has what the ledger has. Accept it.";
  switch (decision) {
    case "carry_over":
      return back
        ? `${moved} too many were billed. They are booked back in the current cycle, so the next invoice is that much lower. Two ledger rows, linked to this review.`
        : `${moved} leave the closed cycle and are booked in the current one, so they come with the next invoice. Two ledger rows, linked to this review.`;
    case "write_off":
      return back
        ? `Cannot be chosen: ${moved} too many were billed, and that is not ours to forget. Carry them over or accept.`
        : `${moved} leave the closed cycle and are billed nowhere. One ledger row, linked to this review.`;
    case "accept":
      return `Nothing is booked. The ledger keeps ${units(ledgerUnits)} and the meter ${units(billedUnits)}; the difference stays, signed by you.`;
  }
}
