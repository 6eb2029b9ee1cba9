"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useMemo } from "react";
import { api } from "../../convex/_generated/api";
import { DAY_MS } from "../../lib/shared/durations.ts";
import { Chart, type ChartData } from "../components/chart.tsx";
import { Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { useNow } from "../components/use-now.ts";

interface Cycle {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Usage over the cycle: what each day added, and the sum against the limit. */
export function UsageChart({ cycle, limitUnits }: { cycle: Cycle | null; limitUnits: number | null }) {
  const nowMs = useNow();
  const today =
    nowMs === null || cycle === null ? null : Math.max(0, Math.floor((nowMs - cycle.startMs) / DAY_MS));
  const span = cycle === null ? null : { cycle: { name: cycle.name, startMs: cycle.startMs } };
  const over = useQuery(
    api.screensUsage.byDay,
    span === null || today === null || today === 0 ? "skip" : { ...span, fromDay: 0, untilDay: today },
  );
  const current = useQuery(
    api.screensUsage.byDay,
    span === null || today === null ? "skip" : { ...span, fromDay: today, untilDay: null },
  );
  const days = useMemo(
    () => (current === undefined || (over === undefined && today !== 0) ? null : sumsOf(over, current)),
    [over, current, today],
  );
  const data = useMemo(
    () =>
      days === null || today === null || cycle === null ? null : chartOf(cycle, days, today, limitUnits),
    [cycle, days, today, limitUnits],
  );
  if (days?.size === 0) return null;
  return (
    <Panel id="over-the-cycle" title="Over the cycle" about="Settled tokens by day, and their sum.">
      {data === null ? (
        <Loading what="the chart" rows={6} />
      ) : (
        <Chart label="Usage over the cycle" data={data} />
      )}
      {(over?.isCut === true || current?.isCut === true) && (
        <p className="text-xs text-muted">
          There are more jobs than the chart adds up; all of them are in the entries.
        </p>
      )}
    </Panel>
  );
}

type ByDay = FunctionReturnType<typeof api.screensUsage.byDay>;

function sumsOf(...spans: readonly (ByDay | undefined)[]): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const { day, units } of spans.flatMap((span) => span?.days ?? [])) {
    sums.set(day, (sums.get(day) ?? 0) + units);
  }
  return sums;
}

function chartOf(
  { startMs, endMs }: Cycle,
  unitsOf: ReadonlyMap<number, number>,
  today: number,
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
