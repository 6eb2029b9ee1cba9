"use client";

import { useQuery } from "convex/react";
import { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { buttonClass } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { ofLimit } from "../../components/limit-text.ts";
import { Notice } from "../../components/notice.tsx";
import { Figure, Figures, Panel, ScreenHead } from "../../components/panel.tsx";
import { Loading } from "../../components/states.tsx";
import { Instant } from "../../components/time.tsx";
import { UsageBar } from "../usage-bar.tsx";
import { type OfferedPlan, planName, PLANS } from "./plans.ts";
import { useUsage } from "../use-usage.ts";

/** The plan of the account, and the others. */
export function PlanScreen() {
  const me = useQuery(api.signIn.me, {});
  const usage = useUsage();
  const credits = useQuery(api.screensPlans.reminderCredits, {});
  if (me == null || usage === undefined) return <Loading what="your plan" rows={6} />;
  const { planKey, provider } = me;
  const isOffered = PLANS.some(({ key }) => key === planKey);
  return (
    <>
      <ScreenHead title="Plan">
        The plan sets how many tokens a cycle has. A larger one counts at once; running jobs keep what they
        hold.
      </ScreenHead>
      <Panel id="current" title="Your plan">
        <Figures>
          <Figure name="Plan">{planKey === null ? "not known yet" : planName(planKey)}</Figure>
          <Figure name="Used of this cycle">
            {formatUnits(usage.usedUnits)}
            <span className="text-base font-normal text-muted"> {ofLimit(usage.limit)}</span>
          </Figure>
          <Figure name="Next cycle">
            <span className="text-base">
              <Instant ms={usage.cycle.endMs} />
            </span>
          </Figure>
        </Figures>
        <UsageBar isSmall usage={usage} />
        {provider === "fixed" && (
          <Notice tone="info" title="An operator has set your limit">
            It does not come from a plan, so another plan does not change it.
          </Notice>
        )}
        {planKey !== null && !isOffered && (
          <Notice tone="info" title="Your plan is not one of those below">
            Its key is <code className="font-mono">{planKey}</code>; the plan page of the provider has its
            details.
          </Notice>
        )}
      </Panel>
      <section aria-labelledby="plans" className="flex flex-col gap-4">
        <h2 id="plans" className="text-base font-semibold">
          Plans
        </h2>
        <ul className="grid gap-4 md:grid-cols-3">
          {PLANS.map((plan) => (
            <PlanCard
              key={plan.key}
              plan={plan}
              isCurrent={plan.key === planKey}
              creditUnits={credits?.[plan.key]}
            />
          ))}
        </ul>
        <p className="text-sm text-muted">
          You choose and pay at the billing provider, which sends you back here. After a smaller plan the
          limit may be below what is used: nothing is taken back, and new jobs wait for the next cycle.
        </p>
      </section>
    </>
  );
}

function PlanCard(props: {
  plan: OfferedPlan;
  isCurrent: boolean;
  /** Undefined until it is known. */
  creditUnits: number | undefined;
}) {
  const { plan, isCurrent, creditUnits } = props;
  const { key, name, monthlyPriceCents, tokensUnits, clickPriceCents, about } = plan;
  return (
    <li
      aria-labelledby={`plan-${key}`}
      className={`flex flex-col gap-4 rounded-xl border bg-card p-5 ${isCurrent ? "border-accent ring-1 ring-accent" : "border-line"}`}
    >
      <div className="flex items-center justify-between gap-2">
        <h3 id={`plan-${key}`} className="font-semibold">
          {name}
        </h3>
        {isCurrent && <Badge tone="accent">your plan</Badge>}
      </div>
      <p>
        <span className="text-3xl font-semibold tracking-tight tabular-nums">${monthlyPriceCents / 100}</span>
        <span className="text-sm text-muted"> a month</span>
      </p>
      <ul className="flex flex-col gap-1.5 text-sm">
        <li>
          <span className="font-medium tabular-nums">{formatUnits(tokensUnits)}</span> tokens a cycle
        </li>
        <li>
          <span className="font-medium tabular-nums">
            {creditUnits === undefined ? "…" : formatUnits(creditUnits)}
          </span>{" "}
          reminders a month, one credit each
        </li>
        <li>
          Any number of clicks, each one metered,{" "}
          {clickPriceCents === 0 ? "at no extra price" : `$${clickPriceCents / 100} each`}
        </li>
        <li className="text-muted">{about}</li>
      </ul>
      {!isCurrent && (
        <a href="/app/plan/change" className={`${buttonClass("secondary")} mt-auto`}>
          Change plan<span className="sr-only"> to {name}</span>
        </a>
      )}
    </li>
  );
}
