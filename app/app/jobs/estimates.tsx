"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useMemo } from "react";
import { api } from "../../../convex/_generated/api";
import type { JobView } from "../../../lib/gate/job-view.ts";
import { Chart, type ChartData } from "../../components/chart.tsx";
import { formatUnits } from "../../components/format.ts";
import { Panel } from "../../components/panel.tsx";
import { type Column, Table } from "../../components/table.tsx";

const JOBS_DRAWN = 40;

type KindEstimate = FunctionReturnType<typeof api.gate.estimates>["kinds"][number];

const percent = (share: number): string => `${Math.round(share * 100)}%`;

const COLUMNS: readonly Column<KindEstimate>[] = [
  { name: "Kind", cell: ({ kind }) => <span className="font-medium">{kind}</span> },
  { name: "Jobs", isNumber: true, cell: ({ jobs }) => formatUnits(jobs) },
  { name: "Half used up to", isNumber: true, cell: ({ p50UsedUnits }) => formatUnits(p50UsedUnits) },
  { name: "Nine in ten", isNumber: true, cell: ({ p90UsedUnits }) => formatUnits(p90UsedUnits) },
  { name: "Share of the hold", isNumber: true, cell: ({ p50UsedShare }) => percent(p50UsedShare) },
  { name: "Capped", isNumber: true, cell: ({ cappedShare }) => percent(cappedShare) },
  { name: "Held for nothing", isNumber: true, cell: ({ lockedUnits }) => formatUnits(lockedUnits) },
  {
    name: "Suggested hold",
    isNumber: true,
    cell: ({ suggestedUnits }) => <span className="font-semibold">{formatUnits(suggestedUnits)}</span>,
  },
];

/** What jobs were given and what they took, of the last 30 days. */
export function Estimates() {
  const estimates = useQuery(api.gate.estimates, {});
  const newest = useQuery(api.gate.listJobs, { cursor: null, limit: JOBS_DRAWN });
  const data = useMemo(() => (newest === undefined ? null : chartOf(newest.jobs)), [newest]);
  if (estimates === undefined || estimates.kinds.length === 0) return null;
  return (
    <Panel
      id="estimates"
      title="Estimates against real cost"
      about="A hold that is too large keeps room from others; one too small ends the job early. Nine in ten jobs would have fitted into the suggested hold."
    >
      {data !== null && data.labels.length > 1 && (
        <Chart label="Held and used by the newest ended jobs" data={data} />
      )}
      <Table label="Estimates by kind" columns={COLUMNS} rows={estimates.kinds} keyOf={({ kind }) => kind} />
    </Panel>
  );
}

function chartOf(jobs: readonly JobView[]): ChartData {
  const ended = jobs.filter(({ status }) => status === "completed" || status === "capped").toReversed();
  return {
    axis: "Job",
    labels: ended.map(({ kind, key }) => `${kind} ${key.slice(-4)}`),
    isStacked: true,
    series: [
      { name: "Used", values: ended.map((job) => job.usedUnits), color: 1 },
      { name: "Held and returned", values: ended.map((job) => job.returnedUnits), color: 4 },
      { name: "Cut at the hold", values: ended.map((job) => job.overCapUnits), color: 5 },
    ],
  };
}
