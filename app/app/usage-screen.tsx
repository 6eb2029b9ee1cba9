"use client";

import { useAction, useQuery } from "convex/react";
import { RefreshCw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "../../convex/_generated/api";
import { ButtonLink, Button } from "../components/button.tsx";
import { formatUnits } from "../components/format.ts";
import { freeFigure, limitFigure } from "../components/limit-text.ts";
import { MeterMark } from "../components/meter-bar.tsx";
import { Figure, Figures, Panel, ScreenHead } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { Ago, Countdown, Instant, ZoneName } from "../components/time.tsx";
import { toast } from "../components/toast.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { HoldList } from "./hold-list.tsx";
import { LimitNotice } from "./limit-notice.tsx";
import { spentWords } from "./limit-words.ts";
import { MetersPanel } from "./meters-panel.tsx";
import { PlanNews } from "./plan-news.tsx";
import { planName } from "./plan/plans.ts";
import { UsageBar } from "./usage-bar.tsx";
import { UsageChart, useUsageByDay } from "./usage-chart.tsx";
import { useUsage } from "./use-usage.ts";

/** What is used, held and free of the token limit in this cycle, live. */
export function UsageScreen() {
  const usage = useUsage();
  const byDay = useUsageByDay(usage?.cycle ?? null);
  const me = useQuery(api.signIn.me, {});
  const limitUnits = usage?.limit?.limitUnits ?? null;
  return (
    <>
      <ScreenHead
        title="Usage"
        action={
          <ButtonLink href="/app/jobs" look="primary">
            Start a job
          </ButtonLink>
        }
      >
        Tokens of this billing cycle. A job holds its part of the limit before it starts, and gives back what
        it did not use.
      </ScreenHead>
      {usage === undefined || byDay === undefined ? (
        <Loading what="your usage" rows={8} />
      ) : (
        <>
          <PlanNews planKey={me?.planKey ?? null} usage={usage} />
          <LimitNotice usage={usage} />
          <Panel
            id="usage"
            title="This cycle"
            aside={
              me?.planKey == null ? undefined : (
                <p className="text-sm text-muted">
                  Plan <span className="font-medium text-ink">{planName(me.planKey)}</span>
                </p>
              )
            }
          >
            <UsageBar usage={usage} />
            <Figures>
              <Figure name="Used" mark={<MeterMark look="used" />}>
                {formatUnits(usage.usedUnits)}
              </Figure>
              <Figure
                name="Held"
                mark={<MeterMark look="held" />}
                {...(usage.heldUnits > 0 ? { note: spentWords(usage) } : {})}
              >
                {formatUnits(usage.heldUnits)}
              </Figure>
              <Figure name="Free" mark={<MeterMark look="free" />}>
                {freeFigure(usage.limit, usage.freeUnits)}
              </Figure>
              <Figure name="Limit">{limitFigure(usage.limit)}</Figure>
            </Figures>
            {usage.heldUnits > 0 && (
              <p className="text-sm text-pretty text-muted">
                What a running job spends stays in its hold until the job ends. Then it counts as used, and
                the rest of the hold is free again.
              </p>
            )}
            <dl className="grid gap-x-8 gap-y-2 border-t border-line pt-4 text-sm sm:grid-cols-2">
              <Fact name="Next reset">
                <Instant ms={usage.cycle.endMs} /> (<ZoneName />
                ), in <Countdown untilMs={usage.cycle.endMs} over="a moment" />
              </Fact>
              <Fact name="Limit read">
                {usage.limit === null ? (
                  "not read yet, or over 10 minutes ago"
                ) : (
                  <>
                    <Ago ms={usage.limit.readAtMs} />
                    {usage.limit.provider === "kinde" ? " from Kinde" : ", set by an operator"}
                  </>
                )}{" "}
                <RefreshLimit />
              </Fact>
            </dl>
          </Panel>
          {usage.running.length > 0 && <HoldList running={usage.running} />}
          <MetersPanel />
          <UsageChart cycle={usage.cycle} byDay={byDay} limitUnits={limitUnits} />
          <FirstSteps />
        </>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-2">
      <dt className="text-muted">{name}</dt>
      <dd className="flex flex-wrap items-center gap-x-1">{children}</dd>
    </div>
  );
}

/** A limit is read when a job needs it; this reads it now, for somebody who has just changed the plan elsewhere. */
function RefreshLimit() {
  const refresh = useAction(api.limits.refreshNow);
  const [isBusy, setIsBusy] = useState(false);

  async function onRefresh() {
    setIsBusy(true);
    try {
      const { kind } = await refresh({});
      if (kind === "refreshed") toast.done("The limit was read again.");
      else
        toast.failed(
          "The limit could not be read",
          "The billing provider did not answer. The last one stays in use.",
        );
    } catch {
      toast.failed("The limit could not be read", "No answer came. Try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Button look="ghost" size="sm" isBusy={isBusy} onClick={() => void onRefresh()}>
      {!isBusy && <RefreshCw aria-hidden className="size-3.5" />}
      Read now
    </Button>
  );
}
