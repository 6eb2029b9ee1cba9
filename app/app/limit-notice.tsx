"use client";

import type { FunctionReturnType } from "convex/server";
import type { api } from "../../convex/_generated/api";
import { ButtonLink } from "../components/button.tsx";
import { formatUnits } from "../components/format.ts";
import { Notice } from "../components/notice.tsx";
import { Instant } from "../components/time.tsx";

const NEARLY = 0.8;

export type Usage = FunctionReturnType<typeof api.gate.usage>;

/** At 80% and 100% of the limit. What is held comes back, so a limit full of holds is no reason to buy more. */
export function LimitNotice({ usage }: { usage: Usage }) {
  const limitUnits = usage.limit?.limitUnits ?? null;
  if (limitUnits === null) return null;
  const { usedUnits, heldUnits, cycle, running } = usage;
  const numbers = `${formatUnits(usedUnits)} used and ${formatUnits(heldUnits)} held of ${formatUnits(limitUnits)} tokens.`;
  const morePlan = (
    <ButtonLink href="/app/plan" size="sm">
      See the plans
    </ButtonLink>
  );

  if (usedUnits >= limitUnits) {
    return (
      <Notice
        isNews
        tone="bad"
        title="The limit is used up (100%)"
        next={
          <div className="flex flex-wrap items-center gap-3">
            <span>
              New jobs start again on <Instant ms={cycle.endMs} />, or now with a larger plan.
            </span>
            {morePlan}
          </div>
        }
      >
        {numbers}
      </Notice>
    );
  }
  if (usedUnits + heldUnits >= limitUnits) {
    return (
      <Notice
        isNews
        tone="warn"
        title="All of the limit is used or held (100%)"
        next="Wait for one to end: what it does not use comes back. A larger plan is not needed for that."
      >
        {numbers}{" "}
        {running.length === 1
          ? "1 running job of yours holds"
          : `${running.length} running jobs of yours hold`}{" "}
        the rest.
      </Notice>
    );
  }
  if (usedUnits >= limitUnits * NEARLY) {
    return (
      <Notice
        isNews
        tone="warn"
        title={`${Math.floor((usedUnits / limitUnits) * 100)}% of the limit is used`}
        next={
          <div className="flex flex-wrap items-center gap-3">
            <span>
              It resets on <Instant ms={cycle.endMs} />.
            </span>
            {morePlan}
          </div>
        }
      >
        {numbers}
      </Notice>
    );
  }
  return null;
}
