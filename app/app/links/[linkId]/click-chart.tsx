"use client";

import { useQuery } from "convex/react";
import { useMemo, useState } from "react";
import { api } from "../../../../convex/_generated/api";
import { DAY_MS, HOUR_MS } from "../../../../lib/shared/durations.ts";
import { Chart, type ChartData } from "../../../components/chart.tsx";
import { formatUnits } from "../../../components/format.ts";
import { FilterField } from "../../../components/list-controls.tsx";
import { Panel } from "../../../components/panel.tsx";
import { Loading } from "../../../components/states.tsx";
import { useKept } from "../../../components/use-kept.ts";
import { useNow } from "../../../components/use-now.ts";
import { CLICK_CLASSES } from "../click-classes.ts";

const SPANS = [
  { name: "24 hours", hours: 24, barMs: HOUR_MS },
  { name: "7 days", hours: 7 * 24, barMs: DAY_MS },
  { name: "30 days", hours: 30 * 24, barMs: DAY_MS },
] as const;
type Span = (typeof SPANS)[number];

interface Hour {
  readonly hourMs: number;
  readonly clicks: Readonly<Record<string, number>>;
}

/** Clicks of a link by class over time, in hours or days of the reader's zone. */
export function ClickChart({ linkId }: { linkId: string }) {
  const [span, setSpan] = useState<Span>(SPANS[0]);
  const nowMs = useNow();
  // The span moves on with the hour, not with every tick, or the question would be a new one each second.
  const untilMs = nowMs === null ? null : Math.floor(nowMs / HOUR_MS + 1) * HOUR_MS;
  const read = useQuery(
    api.links.stats,
    untilMs === null ? "skip" : { linkId, fromMs: untilMs - span.hours * HOUR_MS, untilMs },
  );
  // Kept together with the name of its span: hours of one are not shown as those of another.
  const shown = useKept(
    useMemo(() => {
      if (read?.kind !== "read" || untilMs === null) return undefined;
      const data = chartOf(read.hours, untilMs, span);
      const clicks = data.series.flatMap(({ values }) => values);
      const total = clicks.reduce<number>((sum, count) => sum + (count ?? 0), 0);
      return { data, about: `${formatUnits(total)} in the last ${span.name}, by class.` };
    }, [read, untilMs, span]),
  );
  return (
    <Panel
      id="over-time"
      title="Clicks over time"
      about={shown?.about}
      aside={
        <FilterField
          label="Time shown"
          className="w-32"
          options={SPANS.map(({ name }) => [name, name] as const)}
          value={span.name}
          onChange={(chosen) => setSpan(SPANS.find(({ name }) => name === chosen) ?? SPANS[0])}
        />
      }
    >
      {shown === undefined ? (
        <Loading what="the clicks" rows={6} />
      ) : (
        <Chart label="Clicks by class over time" data={shown.data} />
      )}
    </Panel>
  );
}

function chartOf(hours: readonly Hour[], untilMs: number, { hours: hourCount, barMs }: Span): ChartData {
  const isDaily = barMs === DAY_MS;
  const label = new Intl.DateTimeFormat(
    undefined,
    isDaily ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" },
  );
  // Bars are named by the reader's clock: a day is one of the reader's zone, also when it has 23 or 25 hours.
  const bars = new Map<string, Map<string, number>>();
  for (let hour = hourCount; hour >= 1; hour -= 1)
    bars.set(label.format(untilMs - hour * HOUR_MS), new Map());
  for (const { hourMs, clicks } of hours) {
    const bar = bars.get(label.format(hourMs));
    if (bar === undefined) continue;
    for (const [name, count] of Object.entries(clicks)) bar.set(name, (bar.get(name) ?? 0) + count);
  }
  const all = [...bars.values()];
  return {
    axis: "When",
    labels: [...bars.keys()],
    isStacked: true,
    series: Object.entries(CLICK_CLASSES)
      .map(([key, { name, color }]) => ({ name, color, values: all.map((bar) => bar.get(key) ?? 0) }))
      // A class that never came has no place in the legend, but that of the billed says what the chart is about.
      .filter(({ values }, index) => index === 0 || values.some((count) => count > 0)),
  };
}
