"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useMemo } from "react";
import { api } from "../../convex/_generated/api";
import { DAY_MS } from "../../lib/shared/durations.ts";
import { Chart, type ChartData } from "../components/chart.tsx";
import { Panel } from "../components/panel.tsx";
import { useKept } from "../components/use-kept.ts";
import { useNowAs } from "../components/use-now.ts";

interface Cycle {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

interface UsageByDay {
  /** Days are of 24 hours from the start of the cycle; those without any are left out. */
  readonly unitsOf: ReadonlyMap<number, number>;
  /** The day under way. */
  readonly today: number;
  readonly isCut: boolean;
}

/** Live, by two questions: the days that are over, which are read once, and the one under way. */
export function useUsageByDay(cycle: Cycle | null): UsageByDay | undefined {
  const today = useNowAs((nowMs) =>
    cycle === null ? null : Math.max(0, Math.floor((nowMs - cycle.startMs) / DAY_MS)),
  );
  const span = cycle === null ? null : { cycle: { name: cycle.name, startMs: cycle.startMs } };
  const over = useQuery(
    api.screensUsage.byDay,
    span === null || today === null || today === 0 ? "skip" : { ...span, fromDay: 0, untilDay: today },
  );
  const current = useQuery(
    api.screensUsage.byDay,
    span === null || today === null ? "skip" : { ...span, fromDay: today, untilDay: null },
  );
  const sums = useMemo(
    () =>
      today === null || current === undefined || (over === undefined && today !== 0)
        ? undefined
        : sumsOf(today, over, current),
    [today, over, current],
  );
  return useKept(sums);
}

type Span = FunctionReturnType<typeof api.screensUsage.byDay>;

function sumsOf(today: number, ...spans: readonly (Span | undefined)[]): UsageByDay {
  const unitsOf = new Map<number, number>();
  for (const { day, units } of spans.flatMap((span) => span?.days ?? [])) {
    unitsOf.set(day, (unitsOf.get(day) ?? 0) + units);
  }
  return { unitsOf, today, isCut: spans.some((span) => span?.isCut === true) };
}

/** Usage over the cycle: what each day added, and the sum against the limit. Nothing before the first day that did. */
export function UsageChart(props: { cycle: Cycle; byDay: UsageByDay; limitUnits: number | null }) {
  const { cycle, byDay, limitUnits } = props;
  const data = useMemo(() => chartOf(cycle, byDay, limitUnits), [cycle, byDay, limitUnits]);
  if (byDay.unitsOf.size === 0) return null;
  return (
    <Panel id="over-the-cycle" title="Over the cycle" about="Settled tokens by day, and their sum.">
      <Chart label="Usage over the cycle" data={data} />
      {byDay.isCut && (
        <p className="text-xs text-muted">
          There are more jobs than the chart adds up; all of them are in the entries.
        </p>
      )}
    </Panel>
  );
}

function chartOf(
  { startMs, endMs }: Cycle,
  { unitsOf, today }: UsageByDay,
  limitUnits: number | null,
): ChartData {
  const count = Math.ceil((endMs - startMs) / DAY_MS);
  const dayName = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  let sum = 0;
  const all = Array.from({ length: count }, (_, day) => {
    const units = unitsOf.get(day) ?? 0;
    sum += units;
    // Days to come have no bar and no sum yet.
    return {
      label: dayName.format(startMs + day * DAY_MS),
      units: day > today ? null : units,
      sum: day > today ? null : sum,
    };
  });
  return {
    axis: "Day",
    labels: all.map(({ label }) => label),
    series: [
      { name: "Sum of the cycle", values: all.map((day) => day.sum), color: 3, kind: "line" },
      { name: "By day", values: all.map(({ units }) => units), color: 1 },
    ],
    ...(limitUnits === null ? {} : { mark: { name: "Limit", value: limitUnits } }),
  };
}
