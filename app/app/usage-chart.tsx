"use client";

import { useQuery } from "convex/react";
import { useMemo } from "react";
import { api } from "../../convex/_generated/api";
import { DAY_MS } from "../../lib/shared/durations.ts";
import { Chart, type ChartData } from "../components/chart.tsx";
import { Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { useNow } from "../components/use-now.ts";

/** Usage over the cycle: what each day added, and the sum against the limit. */
export function UsageChart({ limitUnits }: { limitUnits: number | null }) {
  const read = useQuery(api.screensUsage.byDay, {});
  const nowMs = useNow();
  const today = read === undefined || nowMs === null ? 0 : Math.floor((nowMs - read.startMs) / DAY_MS);
  const data = useMemo(
    () => (read === undefined ? null : chartOf(read, today, limitUnits)),
    [read, today, limitUnits],
  );
  if (read !== undefined && read.days.length === 0) return null;
  return (
    <Panel id="over-the-cycle" title="Over the cycle" about="Settled tokens by day, and their sum.">
      {data === null ? (
        <Loading what="the chart" rows={6} />
      ) : (
        <Chart label="Usage over the cycle" data={data} />
      )}
      {read?.isCut === true && (
        <p className="text-xs text-muted">The first 5,000 jobs of the cycle; the rest is in the entries.</p>
      )}
    </Panel>
  );
}

interface ByDay {
  readonly startMs: number;
  readonly endMs: number;
  readonly days: readonly { readonly day: number; readonly units: number }[];
}

function chartOf({ startMs, endMs, days }: ByDay, today: number, limitUnits: number | null): ChartData {
  const unitsOf = new Map(days.map(({ day, units }) => [day, units]));
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
