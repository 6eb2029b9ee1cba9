import type { FunctionReturnType } from "convex/server";
import type { api } from "../../convex/_generated/api";
import { limitStateOf } from "../../lib/gate/limit-state.ts";
import { countRunning, RUNNING_LISTED_MAX } from "../../lib/gate/running.ts";
import { formatUnits } from "../components/format.ts";
import { limitFigure } from "../components/limit-text.ts";

export type Usage = FunctionReturnType<typeof api.gate.usage>;

type Facts = Pick<Usage, "limit" | "usedUnits" | "heldUnits" | "cycle" | "running">;

export interface LimitWords {
  readonly tone: "warn" | "bad";
  readonly title: string;
  /** The numbers. */
  readonly detail: string;
  readonly next: string;
  /** Whether a larger plan helps. It does not where holds come back by themselves. */
  readonly offersPlans: boolean;
}

const NEARLY = 0.8;

/** What is said at 80% and at 100% of the limit; null below that, and without a limit. */
export function limitWords(usage: Facts, formatTime: (instantMs: number) => string): LimitWords | null {
  const { limit, usedUnits, heldUnits, cycle } = usage;
  const limitUnits = limit?.limitUnits ?? null;
  if (limitUnits === null) return null;
  const detail = `${formatUnits(usedUnits)} used and ${formatUnits(heldUnits)} held of ${formatUnits(limitUnits)} tokens.`;
  const reset = formatTime(cycle.endMs);

  if (limitUnits === 0) {
    const title = "The plan has no tokens";
    return {
      tone: "bad",
      title,
      detail,
      next: "No job can start. A larger plan has some.",
      offersPlans: true,
    };
  }
  if (usedUnits >= limitUnits) {
    const title = `The limit is used up (${usedPercent(usedUnits, limitUnits)})`;
    const next = `New jobs start again on ${reset}, or now with a larger plan.`;
    return { tone: "bad", title, detail, next, offersPlans: true };
  }
  const isNearlyUsed = usedUnits >= limitUnits * NEARLY;
  if (usedUnits + heldUnits >= limitUnits) {
    // A hold that is larger than the rest, after a smaller plan, frees no more than the rest.
    const backUnits = formatUnits(limitUnits - usedUnits);
    const said = `${detail} ${holders(usage)} the rest.`;
    return isNearlyUsed
      ? {
          tone: "warn",
          title: `${usedPercent(usedUnits, limitUnits)} of the limit is used, and the rest is held (100%)`,
          detail: said,
          next: `At most ${backUnits} come back from what is held. For more, wait for the reset on ${reset} or choose a larger plan.`,
          offersPlans: true,
        }
      : {
          tone: "warn",
          title: "All of the limit is used or held (100%)",
          detail: said,
          next: `Wait for one to end: what it does not use comes back, at most ${backUnits} in all. A larger plan is not needed for that.`,
          offersPlans: false,
        };
  }
  if (!isNearlyUsed) return null;
  const title = `${usedPercent(usedUnits, limitUnits)} of the limit is used`;
  return { tone: "warn", title, detail, next: `It resets on ${reset}.`, offersPlans: true };
}

/** What a new plan makes of the limit. */
export function newLimitWords(limit: Usage["limit"]): string {
  if (limit?.provider === "fixed") return "An operator has set your limit, so it stays as it was.";
  switch (limitStateOf(limit)) {
    case "unknown":
      return "Its limit is not known yet: your next job reads it.";
    case "unlimited":
      return "It has no limit of tokens. Running jobs keep what they hold.";
    case "known":
      return `Your limit is ${limitFigure(limit)} tokens a cycle, at once. Running jobs keep what they hold.`;
  }
}

/**
 * "of which 300 spent so far", beside what is held in this cycle: what running jobs have charged is inside their holds
 * until they end. Where there are more of them than the usage names, it is at least so much.
 */
export function spentWords({ running, cycle }: Pick<Usage, "running" | "cycle">): string {
  const units = running
    .filter((job) => job.cycle === cycle.name)
    .reduce((sum, { usedUnits }) => sum + usedUnits, 0);
  const isCut = running.length >= RUNNING_LISTED_MAX;
  return `of which ${isCut && units > 0 ? "at least " : ""}${formatUnits(units)} spent so far`;
}

/** Rounded down: 100% is said when there is nothing left, and not before. */
function usedPercent(usedUnits: number, limitUnits: number): string {
  return `${Math.floor((usedUnits / limitUnits) * 100)}%`;
}

/** Jobs that another cycle admitted hold nothing of this one. */
function holders({ running, cycle }: Facts): string {
  const count = running.filter((job) => job.cycle === cycle.name).length;
  if (count === 0) return "Running jobs of yours hold";
  return count === 1 ? "1 running job of yours holds" : `${countRunning(count)} running jobs of yours hold`;
}
