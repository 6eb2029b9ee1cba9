"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useMemo, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Chart, type ChartData } from "../../components/chart.tsx";
import { formatUnits } from "../../components/format.ts";
import { FilterField } from "../../components/list-controls.tsx";
import type { KindEstimate } from "./estimates.tsx";

type EndedJob = FunctionReturnType<typeof api.screensEstimates.ended>["jobs"][number];

/** One bar for each of the newest ended jobs of a kind: how much of its hold it used, against the suggested hold. */
export function EstimateChart({ kinds }: { kinds: readonly KindEstimate[] }) {
  const read = useQuery(api.screensEstimates.ended, {});
  const [chosen, setChosen] = useState<string | null>(null);
  // Where most was held for nothing there is most to see.
  const shown =
    kinds.find(({ kind }) => kind === chosen) ??
    kinds.reduce((worst, one) => (one.lockedUnits > worst.lockedUnits ? one : worst));
  const jobs = useMemo(() => read?.jobs.filter(({ kind }) => kind === shown.kind), [read, shown.kind]);
  const data = useMemo(
    () => (jobs === undefined ? null : chartOf(jobs, shown.suggestedUnits)),
    [jobs, shown.suggestedUnits],
  );
  if (jobs === undefined || data === null) return null;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <p className="min-w-0 flex-1 basis-72 text-sm break-words text-pretty">{inWords(jobs, shown)}</p>
        {kinds.length > 1 && (
          <FilterField
            label="Kind of the chart"
            className="w-44"
            options={kinds.map(({ kind }) => [kind, kind] as const)}
            value={shown.kind}
            onChange={setChosen}
          />
        )}
      </div>
      {jobs.length > 0 && (
        <Chart label={`Held and used by the newest jobs of the kind ${shown.kind}`} data={data} />
      )}
    </div>
  );
}

/** What the bars show, for whoever cannot see them. */
function inWords(jobs: readonly EndedJob[], { kind, suggestedUnits }: KindEstimate): string {
  if (jobs.length === 0) return `None of the newest jobs is of the kind ${kind}.`;
  const sum = (of: (job: EndedJob) => number): number => jobs.reduce((units, job) => units + of(job), 0);
  const [held, used] = [sum((job) => job.heldUnits), sum((job) => job.usedUnits)];
  const who =
    jobs.length === 1
      ? `The newest job of the kind ${kind}`
      : `The newest ${jobs.length} jobs of the kind ${kind}`;
  const share = Math.round((used / held) * 100);
  return `${who} held ${formatUnits(held)} tokens and used ${formatUnits(used)} of them (${share}%). The suggested hold is ${formatUnits(suggestedUnits)} for each.`;
}

function chartOf(jobs: readonly EndedJob[], suggestedUnits: number): ChartData {
  const time = new Intl.DateTimeFormat(undefined, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
  const cut = jobs.map(({ overCapUnits }) => overCapUnits);
  return {
    axis: "Ended",
    labels: jobs.map(({ endedAtMs }) => time.format(endedAtMs)),
    isStacked: true,
    series: [
      { name: "Used", values: jobs.map(({ usedUnits }) => usedUnits), color: 1 },
      {
        name: "Held for nothing",
        values: jobs.map(({ heldUnits, usedUnits }) => heldUnits - usedUnits),
        color: 4,
      },
      ...(cut.some((units) => units > 0)
        ? [{ name: "Wanted beyond the hold", values: cut, color: 2 as const }]
        : []),
    ],
    mark: { name: "Suggested hold", value: suggestedUnits },
  };
}
