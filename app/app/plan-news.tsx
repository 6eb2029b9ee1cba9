"use client";

import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { Notice } from "../components/notice.tsx";
import { newLimitWords, type Usage } from "./limit-words.ts";
import { PLAN_BEFORE_PARAM } from "./plan/plan-before.ts";
import { planName } from "./plan/plans.ts";

/** For whoever comes back from the plan page: which plan it is now, live, and the limit that comes with it. */
export function PlanNews({ planKey, usage }: { planKey: string | null; usage: Usage }) {
  const [before] = useState(useSearchParams().get(PLAN_BEFORE_PARAM));
  // Told once: who opens the page again, or keeps its address, has not just come back.
  useEffect(() => {
    if (before !== null) window.history.replaceState(null, "", window.location.pathname);
  }, [before]);
  if (before === null || planKey === null) return null;
  if (planKey === before) {
    return (
      <Notice isNews tone="info" title={`Your plan is ${planName(planKey)}, as before`}>
        If you have chosen another one, its news is still on the way from the billing provider, and shows here
        by itself.
      </Notice>
    );
  }
  return (
    <Notice isNews tone="good" title={`You are on ${planName(planKey)} now`}>
      {newLimitWords(usage.limit)}
    </Notice>
  );
}
