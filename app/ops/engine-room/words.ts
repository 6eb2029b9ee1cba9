import type { FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import { formatUnits } from "../../components/format.ts";

/** What happens in the Engine Room, in words. */

export type Run = NonNullable<FunctionReturnType<typeof api.engineRoom.get>>;
export type Step = Run["steps"][number];
export type Side = Run["start"];

export const EVENT_NAMES: Readonly<Record<Step["event"], string>> = {
  payment: "Payment",
  plan_changed: "Plan change to Pro",
  cancellation: "Old cancellation",
};

/** The name in the key of a plan: customer_pro_plan is Pro. */
export function planName({ planKey }: Side): string {
  const name = /^customer_(\w+)_plan$/.exec(planKey)?.[1] ?? planKey;
  return name.charAt(0).toUpperCase() + name.slice(1);
}

export const sideWords = (side: Side): string => `${planName(side)} with ${formatUnits(side.balanceUnits)}`;

/** What the naive handler did with the delivery `index`, and what is wrong with it. */
export function naiveWords(run: Run, index: number): { readonly deed: string; readonly verdict: Verdict } {
  const step = run.steps[index]!;
  const before = run.steps[index - 1]?.naive ?? run.start;
  const seen = run.steps.slice(0, index).filter(({ event }) => event === step.event).length;
  const more = `+${formatUnits(run.upgradeUnits)}`;
  const again = seen > 0;
  return { deed: deedWords(), verdict: verdictWords(run, step.naive) };

  function deedWords(): string {
    switch (step.event) {
      case "plan_changed":
        if (step.stops)
          return "It writes the new plan and stops before it adds the credits. Half of the change is done, and nobody is going to finish it.";
        return again
          ? `The same plan change again. The handler does not remember it, so it adds the credits: ${more}.`
          : `It writes the new plan and adds the credits: ${more}.`;
      case "payment":
        if (before.planKey !== run.planKey)
          return again
            ? "The same payment again. The account is not on Pro, so nothing is added."
            : "The plan change has not come yet, so the payment adds nothing. That it came is forgotten.";
        return again
          ? `The same payment again. The handler does not remember it, so it adds the credits once more: ${more}.`
          : `It adds credits for the payment: ${more}. The plan change of the same purchase adds them too.`;
      case "cancellation":
        return before.planKey === run.planKey
          ? "It happened three minutes before the plan change and arrives after it. The handler does not look at the time: a customer who pays for Pro is set to Free."
          : "It sets Free, which the account is already.";
    }
  }
}

interface Verdict {
  readonly isWrong: boolean;
  readonly text: string;
}

function verdictWords(run: Run, after: Side): Verdict {
  const isPro = after.planKey === run.planKey;
  const off = after.balanceUnits - (run.start.balanceUnits + run.upgradeUnits);
  const more = formatUnits(Math.abs(off));
  if (!isPro && after.balanceUnits === run.start.balanceUnits)
    return { isWrong: false, text: "Nothing has gone wrong yet." };
  if (isPro && off === 0) return { isWrong: false, text: "The right numbers, by luck." };
  if (!isPro && off > 0)
    return { isWrong: true, text: `The wrong plan, with ${more} credits more than even Pro has.` };
  if (!isPro) return { isWrong: true, text: "The wrong plan for a customer who pays for Pro." };
  return {
    isWrong: true,
    text: off > 0 ? `${more} credits more than Pro has.` : `Pro, and ${more} credits short of it.`,
  };
}

export interface Deed {
  readonly kind: "stored" | "copy" | "claimed" | "crashed" | "applied" | "ignored" | "waiting" | "nothing";
  readonly text: string;
}

/** What the pipeline did with the delivery `index`, one act after another, as its rows tell. */
export function pipelineDeeds(run: Run, index: number): readonly Deed[] {
  const step = run.steps[index]!;
  const earlier = run.steps.slice(0, index).filter(({ event }) => event === step.event);
  const goesOn = step.isCopy && earlier.at(-1)?.status === "failed";
  const deeds: Deed[] = [
    step.isCopy
      ? { kind: "copy", text: "A copy: it gets a receipt and is counted; the event is stored once only." }
      : { kind: "stored", text: "A new event: stored with its receipt before anything is done with it." },
  ];
  if (step.hasClaimed === true) {
    deeds.push({
      kind: "claimed",
      text: goesOn
        ? "A worker claims the event that was left over."
        : "A worker claims the event, with a lease.",
    });
  }
  deeds.push(...outcomeOf(step, goesOn));
  return deeds;
}

function outcomeOf(step: Step, goesOn: boolean): readonly Deed[] {
  const because = step.result === null ? "" : `: ${step.result}`;
  if (step.isCopy && !goesOn) {
    const text =
      step.status === "failed"
        ? "Nothing more now: the event is due again in a moment."
        : `Nothing to do: the event is ${step.status} already${because}.`;
    return [{ kind: "nothing", text }];
  }
  switch (step.status) {
    case "failed":
      return [
        {
          kind: "crashed",
          text: "The worker stops between its two writes. One transaction: both are undone.",
        },
        { kind: "waiting", text: "The event stays stored and is due again." },
      ];
    case "applied":
      return [{ kind: "applied", text: APPLIED[step.event] }];
    case "ignored":
      return [{ kind: "ignored", text: `Ignored${because}.` }];
    default:
      return [{ kind: "waiting", text: `The event is ${step.status}.` }];
  }
}

const APPLIED: Readonly<Record<Step["event"], string>> = {
  payment: "Applied: the payment is noted. Credits come from the plan, so it adds none.",
  plan_changed: "Applied: the plan and its one grant, together.",
  cancellation: "Applied: the agreement has ended.",
};
